//! Rows to Arrow columns, table by table.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryBuilder, Float64Builder, Int16Array, Int16Builder, Int32Array, Int32Builder,
    Int64Array, Int64Builder, ListBuilder, StringArray, StringBuilder, StringViewBuilder,
};

use arrow::buffer::Buffer;
use tsql_codecs::number::Decimal;
use tsql_codecs::{sketch, varint};
use tsql_formats::rows::{Details, Environment, Kernel, Row, Rows, Sketch};

use super::details::DetailRows;
use crate::error::{Error, Result};

/// Columns of a batch by name.
pub(super) type Columns = BTreeMap<&'static str, ArrayRef>;

/// A column of one text.
pub(super) fn repeated(text: &str, count: usize) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(std::iter::repeat_n(
        text, count,
    )))
}

/// A column of texts.
pub(super) fn texts<T: AsRef<str>>(texts: Vec<T>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(texts))
}

/// Rows of `environments`.
#[derive(Default)]
pub(super) struct EnvironmentRows {
    ids: Vec<i64>,
    datasets: StringBuilder,
    targets: StringBuilder,
    hardware: ListBuilder<Int64Builder>,
    hosts: StringBuilder,
    options: Int32Builder,
    inputs: ListBuilder<StringBuilder>,
    versions: StringBuilder,
    writers: StringBuilder,
    machines: StringBuilder,
    settings: StringBuilder,
    programs: StringBuilder,
}

impl EnvironmentRows {
    pub(super) fn push(&mut self, id: i64, dataset: &str, environment: &Environment) {
        self.ids.push(id);
        self.datasets.append_value(dataset);
        self.targets.append_value(&environment.target);
        let hardware = environment.hardware_params.as_ref();
        self.hardware
            .append_option(hardware.map(|list| list.iter().copied().map(Some)));
        self.hosts.append_option(environment.target_host.as_ref());
        self.options
            .append_option(environment.layout_rewrite_option);
        let inputs = environment.task_input_names.as_ref();
        self.inputs
            .append_option(inputs.map(|list| list.iter().map(Some)));
        self.versions.append_value(&environment.log_version);
        self.writers.append_value(environment.writer.name());
        self.machines.append_option(environment.machine.as_ref());
        self.settings.append_option(environment.settings.as_ref());
        self.programs.append_option(environment.program.as_ref());
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    pub(super) fn finish(mut self) -> Columns {
        BTreeMap::from([
            (
                "environment_id",
                Arc::new(Int64Array::from(self.ids)) as ArrayRef,
            ),
            ("dataset", Arc::new(self.datasets.finish())),
            ("target", Arc::new(self.targets.finish())),
            ("hardware_params", Arc::new(self.hardware.finish())),
            ("target_host", Arc::new(self.hosts.finish())),
            ("layout_rewrite_option", Arc::new(self.options.finish())),
            ("task_input_names", Arc::new(self.inputs.finish())),
            ("log_version", Arc::new(self.versions.finish())),
            ("writer", Arc::new(self.writers.finish())),
            ("machine", Arc::new(self.machines.finish())),
            ("settings", Arc::new(self.settings.finish())),
            ("program", Arc::new(self.programs.finish())),
        ])
    }
}

/// Rows of `configurations`: specialises the sketches when it has them all.
#[derive(Default)]
pub(crate) struct ConfigurationRows {
    graphs: Vec<i64>,
    numbers: Vec<i64>,
    /// Sketch and packed numbers of each row; `None` for a literal sketch.
    sketches: Vec<u32>,
    params: Vec<Option<Vec<u8>>>,
    /// What is known of the kernel of each row.
    programs: StringBuilder,
    builds: StringBuilder,
    /// Distinct sketches of each graph.
    places: HashMap<(i64, Sketch), u32>,
    texts: Vec<Vec<u8>>,
    /// Places of sketches that stay as they are.
    fixed: HashSet<u32>,
    /// Parameters of their configurations after each other, and where those of each row are.
    flat: Vec<u8>,
    flat_rows: Vec<(usize, usize)>,
}

impl ConfigurationRows {
    pub(super) fn push(&mut self, graph: i64, number: i64, rows: &Rows, record: usize) {
        let Some(row) = rows.records.get(record) else {
            return;
        };
        let Some(sketch) = rows.sketches.get(row.sketch as usize) else {
            return;
        };
        self.push_open(graph, number, sketch, rows.params(row), rows.kernel(row));
    }

    /// Adds a configuration whose sketch has all its holes open.
    pub(crate) fn push_open(
        &mut self,
        graph: i64,
        number: i64,
        sketch: &Sketch,
        params: Option<&[u8]>,
        kernel: Option<&Kernel>,
    ) {
        let key = (graph, sketch.clone());
        let place = self.places.get(&key).copied().unwrap_or_else(|| {
            let place = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
            self.texts.push(sketch.text.clone());
            self.places.insert(key, place);
            place
        });
        self.graphs.push(graph);
        self.numbers.push(number);
        self.sketches.push(place);
        self.params.push(params.map(<[u8]>::to_vec));
        self.programs
            .append_option(kernel.and_then(|kernel| kernel.program.as_ref()));
        self.builds
            .append_option(kernel.and_then(|kernel| kernel.build.as_ref()));
        self.flat_rows.push((0, 0));
    }

    /// Adds configurations whose sketch stays as it is: numbers and parameters.
    pub(crate) fn push_fixed<'a>(
        &mut self,
        graph: i64,
        sketch: &str,
        rows: impl Iterator<Item = (i64, &'a [u8])>,
    ) {
        let place = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        self.fixed.insert(place);
        self.texts.push(sketch.as_bytes().to_vec());
        for (number, params) in rows {
            self.graphs.push(graph);
            self.numbers.push(number);
            self.sketches.push(place);
            self.params.push(None);
            self.programs.append_null();
            self.builds.append_null();
            let start = self.flat.len();
            self.flat.extend_from_slice(params);
            self.flat_rows.push((start, self.flat.len()));
        }
    }

    pub(crate) fn finish(mut self) -> Result<Columns> {
        let (programs, builds) = (self.programs.finish(), self.builds.finish());
        let mut members: Vec<Vec<usize>> = vec![Vec::new(); self.texts.len()];
        for (row, &sketch) in self.sketches.iter().enumerate() {
            if let Some(members) = members.get_mut(sketch as usize) {
                members.push(row);
            }
        }
        let mut texts = StringViewBuilder::new();
        let mut blocks = Vec::with_capacity(self.texts.len());
        let mut params = self.params;
        for (place, (text, members)) in (0..).zip(self.texts.iter().zip(&members)) {
            let text = if self.fixed.contains(&place) {
                String::from_utf8_lossy(text).into_owned()
            } else {
                close(text, members, &mut params)?
            };
            let too_long = |_| Error::damaged("configurations", "a sketch of gigabytes");
            let length = u32::try_from(text.len()).map_err(too_long)?;
            blocks.push((texts.append_block(Buffer::from(text.into_bytes())), length));
        }
        for &sketch in &self.sketches {
            let (block, length) = blocks.get(sketch as usize).copied().unwrap_or_default();
            let viewed = texts.try_append_view(block, 0, length);
            viewed.map_err(|error| Error::damaged("configurations", error.to_string()))?;
        }
        let mut packed = BinaryBuilder::new();
        let rows = self.sketches.iter().zip(&self.flat_rows).zip(&params);
        for ((sketch, &(start, end)), params) in rows {
            if self.fixed.contains(sketch) {
                packed.append_value(self.flat.get(start..end).unwrap_or(&[]));
            } else {
                packed.append_option(params.as_ref());
            }
        }
        Ok(BTreeMap::from([
            (
                "graph_id",
                Arc::new(Int64Array::from(self.graphs)) as ArrayRef,
            ),
            ("config_id", Arc::new(Int64Array::from(self.numbers))),
            ("sketch", Arc::new(texts.finish())),
            ("params", Arc::new(packed.finish())),
            ("program", Arc::new(programs)),
            ("build", Arc::new(builds)),
        ]))
    }
}

/// Writes the numbers that all members of a sketch share into it, and takes them out of `params`.
fn close(text: &[u8], members: &[usize], params: &mut [Option<Vec<u8>>]) -> Result<String> {
    let broken = || Error::damaged("configurations", "a sketch that is no text");
    let numbers: Option<Vec<Vec<i64>>> = members
        .iter()
        .map(|&row| params.get(row)?.as_deref().and_then(unpack))
        .collect();
    let Some(numbers) = numbers else {
        return String::from_utf8(text.to_vec()).map_err(|_| broken());
    };
    let programs: Vec<&[i64]> = numbers.iter().map(Vec::as_slice).collect();
    let (closed, open) = sketch::specialise(text, &programs);
    for (&row, numbers) in members.iter().zip(&numbers) {
        let mut packed = Vec::with_capacity(open.len());
        for number in open.iter().filter_map(|&place| numbers.get(place)) {
            varint::write_unsigned(*number, &mut packed);
        }
        if let Some(slot) = params.get_mut(row) {
            *slot = Some(packed);
        }
    }
    String::from_utf8(closed).map_err(|_| broken())
}

fn unpack(mut params: &[u8]) -> Option<Vec<i64>> {
    let mut numbers = Vec::with_capacity(params.len());
    while !params.is_empty() {
        numbers.push(varint::read_unsigned(&mut params)?);
    }
    Some(numbers)
}

/// Rows of `records` from one source.
pub(super) struct RecordRows {
    source_id: i64,
    graphs: Vec<i64>,
    configs: Vec<i64>,
    environments: Vec<i64>,
    lines: Vec<i64>,
    runtimes: Float64Builder,
    counts: Vec<i32>,
    repeats: BinaryBuilder,
    errors: Int16Builder,
    all_costs: Vec<Option<Decimal>>,
    times: Vec<Option<i64>>,
    details: DetailRows,
    verbatim: BinaryBuilder,
}

impl RecordRows {
    pub(super) fn new(source_id: i64, count: usize) -> Self {
        Self {
            source_id,
            graphs: Vec::with_capacity(count),
            configs: Vec::with_capacity(count),
            environments: Vec::with_capacity(count),
            lines: Vec::with_capacity(count),
            runtimes: Float64Builder::with_capacity(count),
            counts: Vec::with_capacity(count),
            repeats: BinaryBuilder::new(),
            errors: Int16Builder::with_capacity(count),
            all_costs: Vec::with_capacity(count),
            times: Vec::with_capacity(count),
            details: DetailRows::default(),
            verbatim: BinaryBuilder::new(),
        }
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "one for each column that is not in the row"
    )]
    pub(super) fn push(
        &mut self,
        graph: i64,
        config: i64,
        environment: i64,
        line: u64,
        row: &Row,
        repeats: Option<&[u8]>,
        details: Option<&Details>,
        verbatim: Option<&[u8]>,
    ) {
        self.graphs.push(graph);
        self.configs.push(config);
        self.environments.push(environment);
        self.lines.push(line.cast_signed());
        self.runtimes.append_option(row.runtime_ns);
        self.counts.push(row.repeat_count);
        self.repeats.append_option(repeats);
        self.errors.append_value(row.error_no);
        self.all_costs.push(row.all_cost.map(Decimal::padded));
        self.times.push(row.measured_at_s);
        self.details.push(details);
        self.verbatim.append_option(verbatim);
    }

    pub(super) fn finish(mut self) -> Columns {
        let sources = vec![self.source_id; self.lines.len()];
        let digits = self
            .all_costs
            .iter()
            .map(|cost| Some(cost.as_ref()?.digits));
        let exponent = |cost: &Option<Decimal>| {
            let exponent = cost.as_ref()?.exponent;
            Some(i16::try_from(exponent).unwrap_or(i16::MAX))
        };
        let exponents = self.all_costs.iter().map(exponent);
        let mut columns = BTreeMap::from([
            (
                "graph_id",
                Arc::new(Int64Array::from(self.graphs)) as ArrayRef,
            ),
            ("config_id", Arc::new(Int64Array::from(self.configs))),
            (
                "environment_id",
                Arc::new(Int64Array::from(self.environments)),
            ),
            ("source_id", Arc::new(Int64Array::from(sources))),
            ("line", Arc::new(Int64Array::from(self.lines))),
            ("runtime_ns", Arc::new(self.runtimes.finish())),
            ("repeat_count", Arc::new(Int32Array::from(self.counts))),
            ("repeats", Arc::new(self.repeats.finish())),
            ("error_no", Arc::new(self.errors.finish())),
            ("all_cost_digits", Arc::new(Int64Array::from_iter(digits))),
            (
                "all_cost_exponent",
                Arc::new(Int16Array::from_iter(exponents)),
            ),
            ("measured_at_s", Arc::new(Int64Array::from(self.times))),
            ("verbatim", Arc::new(self.verbatim.finish())),
        ]);
        columns.extend(self.details.finish());
        columns
    }
}

/// A line that is no record, or a part of one.
pub(super) struct Other {
    pub(super) segment: i32,
    pub(super) line: u64,
    pub(super) part: i32,
    /// Why it was refused; `None` for comments.
    pub(super) reason: Option<String>,
    pub(super) text: Vec<u8>,
}

/// Rows of `lines`, each with its source.
pub(super) fn other_columns(others: &[(i64, Other)]) -> Columns {
    let kind = |other: &Other| {
        if other.reason.is_some() {
            "rejected"
        } else {
            "comment"
        }
    };
    let rows = || others.iter().map(|(_, other)| other);
    let mut bytes = BinaryBuilder::new();
    rows().for_each(|other| bytes.append_value(&other.text));
    let sources = others.iter().map(|(source_id, _)| *source_id);
    let lines = rows().map(|other| other.line.cast_signed());
    let segments = rows().map(|other| other.segment);
    let parts = rows().map(|other| other.part);
    let reasons: StringArray = rows().map(|other| other.reason.as_deref()).collect();
    BTreeMap::from([
        (
            "source_id",
            Arc::new(Int64Array::from_iter_values(sources)) as ArrayRef,
        ),
        ("segment", Arc::new(Int32Array::from_iter_values(segments))),
        ("line", Arc::new(Int64Array::from_iter_values(lines))),
        ("part", Arc::new(Int32Array::from_iter_values(parts))),
        ("kind", texts(rows().map(kind).collect())),
        ("reason", Arc::new(reasons)),
        ("text", Arc::new(bytes.finish())),
    ])
}

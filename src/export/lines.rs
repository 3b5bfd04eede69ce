//! Records back to log lines.

use std::collections::HashMap;
use std::rc::Rc;

use arrow::array::{
    Array, AsArray, BinaryViewArray, ListArray, PrimitiveArray, RecordBatch, StringViewArray,
};
use arrow::datatypes::{Float64Type, Int16Type, Int32Type, Int64Type};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::prelude::SessionContext;
use tsql_codecs::number::Decimal;
use tsql_codecs::repeats::Packed;
use tsql_codecs::sketch;
use tsql_formats::measured::disturbed::spell;
use tsql_formats::rows::{Details, Environment, Kernel, Measurement, Writer};
use tsql_formats::tenset::Frame;
use tsql_formats::{Dialect, measured};

use crate::column::{self, disturbed};
use crate::dedupe::Kernels;
use crate::error::{Error, Result};
use crate::query::{collect, frame};

const COLUMNS: &str = "r.source_id, r.line, r.graph_id, r.environment_id, r.runtime_ns, \
    r.repeat_count, r.repeats, r.error_no, r.all_cost_digits, r.all_cost_exponent, r.measured_at_s, r.verbatim, \
    r.error_message, r.baseline_ns, r.cpu_ns, r.cpu_repeats, r.disturbed_list, r.disturbed_repeats, \
    r.flag_list, r.flags, r.dataset, c.sketch, c.params, c.program, c.build";

const JOINED: &str = "stored.records AS r LEFT JOIN stored.configurations AS c \
    ON c.graph_id = r.graph_id AND c.config_id = r.config_id";

/// The records that a predicate over the stored columns (`r`) selects, by source and line; their graphs lie
/// between two, where that is known.
pub(super) async fn among(
    context: &SessionContext,
    predicate: &str,
    graphs: Option<(i64, i64)>,
) -> Result<SendableRecordBatchStream> {
    // Said of both tables: files and pages of others are not read.
    let between = |table: &str| {
        graphs.map_or_else(String::new, |(least, most)| {
            format!(" AND {table}.graph_id BETWEEN {least} AND {most}")
        })
    };
    let (of_configurations, of_records) = (between("c"), between("r"));
    let sql = format!(
        "SELECT {COLUMNS} FROM {JOINED}{of_configurations} WHERE {predicate}{of_records} \
         ORDER BY r.source_id, r.line"
    );
    stream(context, &sql).await
}

/// The records that a predicate over `records` selects.
pub(super) async fn selected(
    context: &SessionContext,
    predicate: &str,
) -> Result<SendableRecordBatchStream> {
    let sql = format!(
        "SELECT {COLUMNS} FROM {JOINED} \
         JOIN (SELECT source_id AS s, line AS l FROM records WHERE dataset IN ('tenset', 'measured') AND ({predicate})) AS k \
         ON k.s = r.source_id AND k.l = r.line ORDER BY r.source_id, r.line"
    );
    stream(context, &sql).await
}

async fn stream(context: &SessionContext, sql: &str) -> Result<SendableRecordBatchStream> {
    let frame = frame(context, sql).await?;
    frame.execute_stream().await.map_err(Error::Query)
}

/// A record with all that its line is made of.
pub(super) struct Row<'a> {
    pub(super) source_id: i64,
    pub(super) line: u64,
    graph_id: i64,
    environment_id: i64,
    result: Measurement<'a>,
    /// Of a line that is none of auto_scheduler's.
    details: Option<Details>,
    kernel: Option<Kernel>,
    verbatim: Option<&'a [u8]>,
    sketch: Option<&'a str>,
    params: Option<&'a [u8]>,
}

/// The rows of a batch of [`of_source`] or [`selected`].
pub(super) fn rows(batch: &RecordBatch) -> Result<Vec<Row<'_>>> {
    let integers = |name| column::numbers::<Int64Type>(batch, name);
    let bytes = |name| column::bytes(batch, name);
    let (sources, lines) = (integers("source_id")?, integers("line")?);
    let (graphs, environments) = (integers("graph_id")?, integers("environment_id")?);
    let runtimes = column::numbers::<Float64Type>(batch, "runtime_ns")?;
    let counts = column::numbers::<Int32Type>(batch, "repeat_count")?;
    let errors = column::numbers::<Int16Type>(batch, "error_no")?;
    let digits = integers("all_cost_digits")?;
    let exponents = column::numbers::<Int16Type>(batch, "all_cost_exponent")?;
    let all_cost = |row| {
        let (digits, exponent) = (column::value(digits, row)?, column::value(exponents, row)?);
        Some(
            Decimal {
                digits,
                exponent: i32::from(exponent),
            }
            .trimmed(),
        )
    };
    let times = integers("measured_at_s")?;
    let (repeats, verbatim, params) = (bytes("repeats")?, bytes("verbatim")?, bytes("params")?);
    let sketches = column::text(batch, "sketch")?;
    let details = DetailColumns::of(batch)?;
    let kernels = Kernels::of(batch)?;
    let row = |row| Row {
        source_id: sources.value(row),
        line: lines.value(row).unsigned_abs(),
        graph_id: graphs.value(row),
        environment_id: environments.value(row),
        result: Measurement {
            runtime_ns: column::value(runtimes, row),
            repeat_count: counts.value(row),
            repeats: column::bytes_at(repeats, row),
            error_no: errors.value(row),
            all_cost: all_cost(row),
            measured_at_s: column::value(times, row),
        },
        details: details.at(row),
        kernel: kernels.at(row),
        verbatim: column::bytes_at(verbatim, row),
        sketch: column::text_at(sketches, row),
        params: column::bytes_at(params, row),
    };
    Ok((0..batch.num_rows()).map(row).collect())
}

/// The columns that only lines of our own fill.
struct DetailColumns<'a> {
    datasets: &'a StringViewArray,
    messages: &'a StringViewArray,
    baselines: &'a PrimitiveArray<Float64Type>,
    cpu: &'a PrimitiveArray<Float64Type>,
    cpu_repeats: &'a BinaryViewArray,
    disturbed: &'a ListArray,
    /// Lists of something else, and those of older files; so of flags.
    disturbed_texts: &'a StringViewArray,
    flags: &'a ListArray,
    flag_texts: &'a StringViewArray,
}

impl<'a> DetailColumns<'a> {
    fn of(batch: &'a RecordBatch) -> Result<Self> {
        let text = |name| column::text(batch, name);
        let numbers = |name| column::numbers::<Float64Type>(batch, name);
        Ok(Self {
            datasets: text("dataset")?,
            messages: text("error_message")?,
            baselines: numbers("baseline_ns")?,
            cpu: numbers("cpu_ns")?,
            cpu_repeats: column::bytes(batch, "cpu_repeats")?,
            disturbed: column::lists(batch, "disturbed_list")?,
            disturbed_texts: text("disturbed_repeats")?,
            flags: column::lists(batch, "flag_list")?,
            flag_texts: text("flags")?,
        })
    }

    fn at(&self, row: usize) -> Option<Details> {
        let text = |column| column::text_at(column, row).map(str::to_owned);
        let cpu = column::value(self.cpu, row).map(|runtime_ns| Packed {
            runtime_ns,
            bytes: column::bytes_at(self.cpu_repeats, row).map(<[u8]>::to_vec),
        });
        (self.datasets.value(row) == measured::NAME).then(|| Details {
            error_message: text(self.messages),
            baseline_ns: column::value(self.baselines, row),
            cpu,
            disturbed_repeats: disturbed::at(self.disturbed, row)
                .and_then(|repeats| spell(&repeats))
                .or_else(|| text(self.disturbed_texts)),
            flags: column::texts_at(self.flags, row)
                .or_else(|| Some(measured::words(column::text_at(self.flag_texts, row)?))),
        })
    }
}

/// Writes lines; holds the graphs and environments that they name.
#[derive(Default)]
pub(super) struct Lines {
    graphs: HashMap<i64, String>,
    /// With what they say of the kernel.
    environments: HashMap<i64, (Environment, Kernel)>,
    frames: HashMap<(i64, i64), Rc<Frame>>,
    steps: Vec<u8>,
}

impl Lines {
    pub(super) async fn load(context: &SessionContext) -> Result<Self> {
        let mut graphs = HashMap::new();
        let sql = "SELECT graph_id, workload_key FROM stored.graphs";
        for batch in collect(context, sql).await? {
            let ids = column::numbers::<Int64Type>(&batch, "graph_id")?;
            let keys = column::text(&batch, "workload_key")?;
            graphs.extend(
                (0..batch.num_rows()).map(|row| (ids.value(row), keys.value(row).to_owned())),
            );
        }
        let mut environments = HashMap::new();
        for dialect in Dialect::ALL {
            let known = self::environments(context, dialect).await?.into_iter();
            environments.extend(known.map(|(id, environment)| {
                let said = measured::kernel(&environment);
                (id, (environment, said))
            }));
        }
        Ok(Self {
            graphs,
            environments,
            frames: HashMap::new(),
            steps: Vec::new(),
        })
    }

    /// Appends the line of a record, without its line ending but with the `\r` of a `crlf` file.
    pub(super) fn write(&mut self, row: &Row<'_>, crlf: bool, out: &mut Vec<u8>) -> Result<()> {
        if let Some(text) = row.verbatim {
            out.extend_from_slice(text);
            return Ok(());
        }
        let broken = |what: &str| {
            let reason = format!("line {} of source {}: {what}", row.line, row.source_id);
            Error::damaged("records", reason)
        };
        let homeless = || broken("its graph or environment is missing");
        let sketch = row
            .sketch
            .ok_or_else(|| broken("its configuration is missing"))?;
        self.steps.clear();
        if !sketch::fill(sketch.as_bytes(), row.params, &mut self.steps) {
            return Err(broken("its parameters do not fit their sketch"));
        }
        let spelled = if let Some(details) = &row.details {
            let graph = self.graphs.get(&row.graph_id).ok_or_else(homeless)?;
            let environment = self.environments.get(&row.environment_id);
            let (environment, said) = environment.ok_or_else(homeless)?;
            let kernel = row.kernel.clone().unwrap_or_default().beside(said);
            measured::write(
                graph,
                &self.steps,
                &kernel,
                row.result,
                details,
                environment,
                out,
            )
        } else {
            let frame = self.frame(row).ok_or_else(homeless)?;
            frame.write(&self.steps, row.result, out)
        };
        if !spelled {
            return Err(broken("its columns cannot be spelled"));
        }
        if crlf {
            out.push(b'\r');
        }
        Ok(())
    }

    fn frame(&mut self, row: &Row<'_>) -> Option<Rc<Frame>> {
        let ids = (row.graph_id, row.environment_id);
        if let Some(frame) = self.frames.get(&ids) {
            return Some(Rc::clone(frame));
        }
        let frame = Frame::new(self.graphs.get(&ids.0)?, &self.environments.get(&ids.1)?.0);
        let frame = Rc::new(frame);
        self.frames.insert(ids, Rc::clone(&frame));
        Some(frame)
    }
}

/// All environments of logs of this dialect by their identifiers.
pub(crate) async fn environments(
    context: &SessionContext,
    dialect: Dialect,
) -> Result<HashMap<i64, Environment>> {
    let mut environments = HashMap::new();
    let dataset = dialect.dataset();
    let sql = format!("SELECT * FROM stored.environments WHERE dataset = '{dataset}'");
    for batch in collect(context, &sql).await? {
        let ids = column::numbers::<Int64Type>(&batch, "environment_id")?;
        let text = |name| column::text(&batch, name);
        let (targets, hosts) = (text("target")?, text("target_host")?);
        let (versions, writers) = (text("log_version")?, text("writer")?);
        let options = column::numbers::<Int32Type>(&batch, "layout_rewrite_option")?;
        let hardware = column::lists(&batch, "hardware_params")?;
        let inputs = column::lists(&batch, "task_input_names")?;
        let (machines, settings) = (text("machine")?, text("settings")?);
        let programs = text("program")?;
        for row in 0..batch.num_rows() {
            let integers = hardware.is_valid(row).then(|| hardware.value(row));
            let integers = integers.map(|list| list.as_primitive::<Int64Type>().values().to_vec());
            let writer = Writer::named(writers.value(row)).ok_or_else(|| {
                Error::damaged(
                    "environments",
                    format!("no writer `{}`", writers.value(row)),
                )
            })?;
            let environment = Environment {
                target: targets.value(row).to_owned(),
                hardware_params: integers,
                target_host: column::text_at(hosts, row).map(str::to_owned),
                layout_rewrite_option: column::value(options, row),
                task_input_names: column::texts_at(inputs, row),
                log_version: versions.value(row).to_owned(),
                writer,
                machine: column::text_at(machines, row).map(str::to_owned),
                settings: column::text_at(settings, row).map(str::to_owned),
                program: column::text_at(programs, row).map(str::to_owned),
            };
            environments.insert(ids.value(row), environment);
        }
    }
    Ok(environments)
}

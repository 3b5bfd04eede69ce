//! Rows of `configurations`: sketches, and the numbers that fill them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryBuilder, Int64Array, StringBuilder, StringViewBuilder};
use arrow::buffer::Buffer;
use tsql_codecs::{sketch, varint};
use tsql_formats::rows::{Kernel, Rows, Sketch};

use crate::column::made::Columns;
use crate::error::{Error, Result};

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
    pub(crate) fn push(&mut self, graph: i64, number: i64, rows: &Rows, record: usize) {
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

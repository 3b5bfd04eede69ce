//! Rows of `configurations`: sketches and their parameters.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use ahash::RandomState;
use arrow::array::{ArrayRef, BinaryBuilder, Int64Array, StringBuilder, StringViewBuilder};
use arrow::buffer::Buffer;
use tsql_codecs::sketch::CommonNumbers;
use tsql_error::{Error, Result};
use tsql_formats::rows::{Kernel, LogRows, Sketch};
use tsql_schema::column::arrays::Columns;

/// Builder for rows of `configurations`. Sketches are specialised when all rows are known.
#[derive(Default)]
pub struct ConfigurationRows<'a> {
    graphs: Vec<i64>,
    numbers: Vec<i64>,
    /// Index of each row's sketch. `params` holds its packed numbers, `None` for a literal sketch.
    sketches: Vec<u32>,
    params: Vec<Option<Cow<'a, [u8]>>>,
    /// Program and build of each row's kernel, if known.
    programs: StringBuilder,
    builds: StringBuilder,
    /// Distinct sketches of each graph.
    places: HashMap<i64, HashMap<Sketch, u32, RandomState>>,
    texts: Vec<Vec<u8>>,
    /// Indexes of sketches that are not specialised.
    fixed: HashSet<u32>,
}

impl<'a> ConfigurationRows<'a> {
    /// Adds the configuration of a record under its number.
    pub fn push(&mut self, graph: i64, number: i64, rows: &'a LogRows, record: usize) {
        let Some(row) = rows.records.get(record) else {
            return;
        };
        let Some(sketch) = rows.sketches.get(row.sketch as usize) else {
            return;
        };
        let params = rows.params(row).map(Cow::Borrowed);
        self.push_open(graph, number, sketch, params, rows.kernel(row));
    }

    /// Adds a configuration whose sketch has all its holes open.
    pub fn push_open(
        &mut self,
        graph: i64,
        number: i64,
        sketch: &Sketch,
        params: Option<Cow<'a, [u8]>>,
        kernel: Option<&Kernel>,
    ) {
        let places = self.places.entry(graph).or_default();
        let place = places.get(sketch).copied().unwrap_or_else(|| {
            let place = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
            self.texts.push(sketch.text.clone());
            places.insert(sketch.clone(), place);
            place
        });
        self.programs
            .append_option(kernel.and_then(|kernel| kernel.program.as_ref()));
        self.builds
            .append_option(kernel.and_then(|kernel| kernel.build.as_ref()));
        self.push_row(graph, number, place, params);
    }

    /// Adds configurations (number and parameters) of a sketch that is not specialised.
    pub fn push_fixed(
        &mut self,
        graph: i64,
        sketch: &str,
        rows: impl Iterator<Item = (i64, &'a [u8])>,
    ) {
        let place = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        self.fixed.insert(place);
        self.texts.push(sketch.as_bytes().to_vec());
        for (number, params) in rows {
            self.programs.append_null();
            self.builds.append_null();
            self.push_row(graph, number, place, Some(Cow::Borrowed(params)));
        }
    }

    fn push_row(&mut self, graph: i64, number: i64, sketch: u32, params: Option<Cow<'a, [u8]>>) {
        self.graphs.push(graph);
        self.numbers.push(number);
        self.sketches.push(sketch);
        self.params.push(params);
    }

    /// Returns the columns of `configurations`.
    ///
    /// # Errors
    /// Configurations that cannot be encoded.
    pub fn finish(mut self) -> Result<Columns> {
        let (programs, builds) = (self.programs.finish(), self.builds.finish());
        let common = self.common_numbers();
        let mut texts = StringViewBuilder::new();
        let mut blocks = Vec::with_capacity(self.texts.len());
        for (text, common) in self.texts.into_iter().zip(&common) {
            let text = match common {
                Some(common) => common.specialise(&text),
                None => text,
            };
            let wrong = |reason| Error::damaged("configurations", reason);
            let text = String::from_utf8(text).map_err(|_| wrong("a sketch that is not text"))?;
            let length =
                u32::try_from(text.len()).map_err(|_| wrong("a sketch that is too large"))?;
            blocks.push((texts.append_block(Buffer::from(text.into_bytes())), length));
        }
        let mut packed = BinaryBuilder::with_capacity(self.sketches.len(), 0);
        let mut open = Vec::new();
        for (&sketch, params) in self.sketches.iter().zip(&self.params) {
            let (block, length) = blocks.get(sketch as usize).copied().unwrap_or_default();
            let viewed = texts.try_append_view(block, 0, length);
            viewed.map_err(|error| Error::damaged("configurations", error.to_string()))?;
            match (common.get(sketch as usize).and_then(Option::as_ref), params) {
                (Some(common), Some(params)) => {
                    open.clear();
                    common.push_open(params, &mut open);
                    packed.append_value(&open);
                }
                (_, params) => packed.append_option(params.as_ref()),
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

    /// Numbers that all rows of each sketch share. `None` for a sketch that is not specialised.
    fn common_numbers(&self) -> Vec<Option<CommonNumbers>> {
        let mut common: Vec<Option<Option<CommonNumbers>>> = vec![None; self.texts.len()];
        for (&sketch, params) in self.sketches.iter().zip(&self.params) {
            let Some(common) = common.get_mut(sketch as usize) else {
                continue;
            };
            let params = params.as_deref().filter(|_| !self.fixed.contains(&sketch));
            let common = common.get_or_insert_with(|| params.and_then(CommonNumbers::from_params));
            if !common
                .as_mut()
                .zip(params)
                .is_some_and(|(common, params)| common.add(params))
            {
                *common = None;
            }
        }
        common.into_iter().map(Option::flatten).collect()
    }
}

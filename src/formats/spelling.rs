//! How the records of a dialect of lines are spelled.

use std::collections::HashMap;

use arrow::array::RecordBatch;
use tsql_formats::rows::{Environment, Measurement};

use crate::error::Result;

/// A record with what the lines of all dialects are made of.
pub(crate) struct Row<'a> {
    /// Its place in the batch.
    pub(super) place: usize,
    pub(super) source_id: i64,
    pub(super) line: u64,
    pub(crate) dataset: &'a str,
    pub(super) graph_id: i64,
    pub(super) environment_id: i64,
    pub(super) result: Measurement<'a>,
    pub(super) verbatim: Option<&'a [u8]>,
    pub(super) sketch: Option<&'a str>,
    pub(super) params: Option<&'a [u8]>,
}

impl Row<'_> {
    /// The file that it is a line of.
    pub(crate) fn source_id(&self) -> i64 {
        self.source_id
    }
}

/// The graphs and environments of a dataset, by their identifiers.
pub(crate) struct Known {
    /// Their workload keys.
    pub(super) graphs: HashMap<i64, String>,
    pub(super) environments: HashMap<i64, Environment>,
}

/// Makes the speller of a dialect.
pub(crate) type MakeSpeller = fn(Known) -> Box<dyn Speller>;

/// Spells the records of a dialect.
pub(crate) trait Speller: Send {
    /// Spells those of a batch.
    fn of<'a>(&'a mut self, batch: &'a RecordBatch) -> Result<Box<dyn BatchSpeller + 'a>>;
}

/// Spells the records of a batch.
pub(crate) trait BatchSpeller {
    /// Appends the line of a record without its line ending. `None` where its graph or its environment is
    /// missing, false where its columns cannot be spelled.
    fn spell(&mut self, row: &Row<'_>, steps: &[u8], out: &mut Vec<u8>) -> Option<bool>;
}

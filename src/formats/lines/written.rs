//! Records whose lines a function writes from graph, configuration, result and environment.

use arrow::array::RecordBatch;
use tsql_formats::rows::{Environment, Measurement};

use crate::error::Result;
use crate::formats::spelling::{BatchSpeller, Known, Row, Speller};

/// Appends a line without its ending; false where it cannot be spelled.
type Write = fn(&str, &[u8], Measurement<'_>, &Environment, &mut Vec<u8>) -> bool;

/// Spells the records of a dataset so.
pub(in crate::formats) struct Written {
    known: Known,
    write: Write,
}

impl Written {
    pub(in crate::formats) fn speller(known: Known, write: Write) -> Box<dyn Speller> {
        Box::new(Self { known, write })
    }
}

impl Speller for Written {
    fn of<'a>(&'a mut self, _: &'a RecordBatch) -> Result<Box<dyn BatchSpeller + 'a>> {
        Ok(Box::new(self))
    }
}

impl BatchSpeller for &mut Written {
    fn spell(&mut self, row: &Row<'_>, steps: &[u8], out: &mut Vec<u8>) -> Option<bool> {
        let graph = self.known.graphs.get(&row.graph_id)?;
        let environment = self.known.environments.get(&row.environment_id)?;
        Some((self.write)(graph, steps, row.result, environment, out))
    }
}

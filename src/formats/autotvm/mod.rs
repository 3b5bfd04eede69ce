//! Logs of AutoTVM.

use arrow::array::RecordBatch;
use tsql_formats::autotvm::{NAME, write};

use super::lines::LineRoom;
use super::spelling::{BatchSpeller, Known, Row, Speller};
use crate::error::Result;

/// Its room.
pub(super) static ROOM: LineRoom = LineRoom {
    dataset: NAME,
    make_speller: Lines::speller,
};

/// Spells lines.
struct Lines {
    known: Known,
}

impl Lines {
    fn speller(known: Known) -> Box<dyn Speller> {
        Box::new(Self { known })
    }
}

impl Speller for Lines {
    fn of<'a>(&'a mut self, _: &'a RecordBatch) -> Result<Box<dyn BatchSpeller + 'a>> {
        Ok(Box::new(self))
    }
}

impl BatchSpeller for &mut Lines {
    fn spell(&mut self, row: &Row<'_>, steps: &[u8], out: &mut Vec<u8>) -> Option<bool> {
        let graph = self.known.graphs.get(&row.graph_id)?;
        let environment = self.known.environments.get(&row.environment_id)?;
        Some(write(graph, steps, row.result, environment, out))
    }
}

//! Logs of TVM's auto_scheduler, which is what TenSet consists of.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use arrow::array::RecordBatch;
use tsql_formats::tenset::{Frame, NAME};

use super::lines::LineRoom;
use super::spelling::{BatchSpeller, Known, Row, Speller};
use crate::error::Result;

/// Its room.
pub(super) static ROOM: LineRoom = LineRoom {
    dataset: NAME,
    make_speller: Frames::speller,
};

/// What lines of the same graph and environment have in common, made once.
struct Frames {
    known: Known,
    frames: HashMap<(i64, i64), Frame>,
}

impl Frames {
    fn speller(known: Known) -> Box<dyn Speller> {
        Box::new(Self {
            known,
            frames: HashMap::new(),
        })
    }
}

impl Speller for Frames {
    fn of<'a>(&'a mut self, _: &'a RecordBatch) -> Result<Box<dyn BatchSpeller + 'a>> {
        Ok(Box::new(self))
    }
}

impl BatchSpeller for &mut Frames {
    fn spell(&mut self, row: &Row<'_>, steps: &[u8], out: &mut Vec<u8>) -> Option<bool> {
        let ids = (row.graph_id, row.environment_id);
        let frame = match self.frames.entry(ids) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let graph = self.known.graphs.get(&ids.0)?;
                new.insert(Frame::new(graph, self.known.environments.get(&ids.1)?))
            }
        };
        Some(frame.write(steps, row.result, out))
    }
}

//! Lines of the same graph and environment, whose common parts are made once.

use std::collections::HashMap;

use super::render::Frame;
use crate::spelled::{Speller, Stored};

/// Those that were made, by the graph and the environment of their lines.
#[derive(Debug, Default)]
pub(super) struct Frames(HashMap<(i64, i64), Frame>);

impl Speller for Frames {
    fn spell(&mut self, record: &Stored<'_>, out: &mut Vec<u8>) -> bool {
        let ids = (record.graph_id, record.environment_id);
        let new = || Frame::new(record.workload_key, record.environment);
        let frame = self.0.entry(ids).or_insert_with(new);
        frame.write(record.steps, record.measurement, out)
    }
}

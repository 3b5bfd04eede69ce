//! Caches the common parts of the lines of one graph and environment.

use std::collections::HashMap;

use super::render::LineFrame;
use crate::record_writer::{RecordWriter, StoredRecord};

/// Frames by graph id and environment id.
#[derive(Debug, Default)]
pub(super) struct FrameCache(HashMap<(i64, i64), LineFrame>);

impl RecordWriter for FrameCache {
    fn write_record(&mut self, record: &StoredRecord<'_>, out: &mut Vec<u8>) -> bool {
        let ids = (record.graph_id, record.environment_id);
        let create = || LineFrame::new(record.workload_key, record.environment);
        let frame = self.0.entry(ids).or_insert_with(create);
        frame.write(record.steps, record.measurement, out)
    }
}

//! Collects records of whole files as the rows of logs, so that both are stored by the same code.

use std::collections::HashMap;

use tsql_codecs::identity::ProgramHash;
use tsql_codecs::number::Decimal;
use tsql_codecs::repeats::PackedRepeats;

use crate::rows::{Environment, LogRow, LogRows, RecordDetails, append_bytes, intern};
use crate::steps::StepReader;

/// A record of a whole file.
#[derive(Debug)]
pub struct CollectedRecord<'a> {
    /// Line in the source, from 1.
    pub line: u64,
    /// Key of the graph.
    pub workload_key: &'a str,
    /// Configuration as JSON, with the spacing of Python.
    pub steps: &'a str,
    /// Index of its environment in the list that [`RecordCollector::finish`] takes.
    pub environment: u32,
    /// Times of the repeats, and their number. `None` for a record without a time.
    pub times: Option<(PackedRepeats, i32)>,
    /// Error number of TVM.
    pub error_no: i16,
    /// Seconds spent on building and measuring.
    pub all_cost: Option<Decimal>,
    /// Seconds since 1970.
    pub measured_at_s: Option<i64>,
    /// Other facts.
    pub details: RecordDetails,
}

/// Rows of records, in their order.
#[derive(Default)]
pub struct RecordCollector {
    rows: LogRows,
    graphs: HashMap<String, u32>,
    steps: StepReader,
}

impl std::fmt::Debug for RecordCollector {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = formatter.debug_struct("RecordCollector");
        text.field("rows", &self.rows).finish_non_exhaustive()
    }
}

impl RecordCollector {
    /// Adds a record.
    pub fn push(&mut self, record: CollectedRecord<'_>) {
        let rows = &mut self.rows;
        let steps = record.steps.as_bytes();
        self.steps.read_values(record.steps);
        let sketch = self.steps.sketch_index(steps, &mut rows.sketches);
        let params = append_bytes(&mut rows.params, self.steps.params());
        let graph = intern(&mut self.graphs, &mut rows.graphs, record.workload_key);
        let (times, repeat_count) = record
            .times
            .map_or((None, 0), |(packed, count)| (Some(packed), count));
        let runtime_ns = times.as_ref().map(|packed| packed.runtime_ns);
        let bytes = times.and_then(|packed| packed.bytes);
        let repeats = bytes.map(|bytes| append_bytes(&mut rows.repeats, &bytes));
        let details = (record.details != RecordDetails::default()).then(|| {
            rows.details.push(record.details);
            u32::try_from(rows.details.len() - 1).unwrap_or(u32::MAX)
        });
        rows.records.push(LogRow {
            line: record.line.saturating_sub(1),
            graph,
            environment: record.environment,
            sketch,
            kernel: None,
            program: ProgramHash::from_steps(steps),
            params,
            runtime_ns,
            repeat_count,
            repeats,
            error_no: record.error_no,
            all_cost: record.all_cost,
            measured_at_s: record.measured_at_s,
            measured_at_fraction: None,
            workload_index: None,
            details,
        });
    }

    /// Adds a graph without records.
    pub fn add_graph(&mut self, workload_key: &str) {
        intern(&mut self.graphs, &mut self.rows.graphs, workload_key);
    }

    /// Number of records.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.records.len()
    }

    /// Returns whether there is no record.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.records.is_empty()
    }

    /// Returns the rows, with the environments that the records refer to.
    #[must_use]
    pub fn finish(self, environments: Vec<Environment>) -> LogRows {
        LogRows {
            environments,
            ..self.rows
        }
    }
}

//! Format of files of workloads.

use super::hashes::begins_workload;
use crate::{DocumentFormat, Format, chunk};

/// Name of the dataset and value of `--format`. The graphs of the workloads are those of the records of
/// [`metaschedule`](crate::metaschedule).
pub const NAME: &str = "metaschedule_workloads";

/// Document format of workloads.
#[derive(Debug)]
pub struct Workloads;

impl Format for Workloads {
    fn dataset(&self) -> &'static str {
        NAME
    }

    fn description(&self) -> &'static str {
        "workloads of a MetaSchedule database"
    }
}

impl DocumentFormat for Workloads {
    fn matches_text(&self, head: &[u8]) -> bool {
        chunk::split_lines(head).any(begins_workload)
    }
}

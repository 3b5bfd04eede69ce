//! What tells files of workloads.

use super::hashes::begins;
use crate::{Documents, Format, chunk};

/// Its name as dataset and as `--format`. The graphs of its workloads are those of the records of
/// [`metaschedule`](crate::metaschedule).
pub const NAME: &str = "metaschedule_workloads";

/// Files of workloads.
#[derive(Debug)]
pub struct Workloads;

impl Format for Workloads {
    fn dataset(&self) -> &'static str {
        NAME
    }

    fn described(&self) -> &'static str {
        "workloads of a MetaSchedule database"
    }
}

impl Documents for Workloads {
    fn is_text(&self, head: &[u8]) -> bool {
        chunk::lines(head).any(begins)
    }
}

//! Operator classes of tasks.

use super::dag::{Dag, Operation};

/// Tags that are shared by operations of many classes.
const GENERAL: [&str; 4] = ["broadcast", "comm_reduce", "elemwise", "injective"];

impl Dag {
    /// Returns the tag of the last computation that is not element-wise (`conv2d_nhwc`), or its name if it has no tag
    /// (`conv2d_winograd`). Without such a computation the last one counts. `None` if nothing is computed.
    pub fn class(&self) -> Option<&str> {
        let computed = || {
            let operations = self.operations.iter().rev();
            operations.filter(|operation| operation.op_type == "ComputeOp")
        };
        let is_general = |operation: &&Operation| {
            let tags = operation.tag.split(',').next().unwrap_or_default();
            GENERAL.contains(&tags)
        };
        let last = computed().find(|operation| !is_general(operation));
        let last = last.or_else(|| computed().next())?;
        Some(if last.tag.is_empty() {
            &last.name
        } else {
            &last.tag
        })
    }
}

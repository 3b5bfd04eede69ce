//! Which class of operators a task belongs to.

use super::dag::{Dag, Operation};

/// Tags that operations of many classes have.
const GENERAL: [&str; 4] = ["broadcast", "comm_reduce", "elemwise", "injective"];

impl Dag {
    /// The last computation that is more than one number after the other, by its tag (`conv2d_nhwc`), or by its
    /// name where nobody tagged it (`conv2d_winograd`); without such a one the last computation. `None`
    /// where nothing is computed.
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

//! Hardware parameters of a task.

use std::collections::BTreeMap;

use crate::tvm_json::{Error, NodeRef};

/// Parameters in the order of log records.
const RECORD_PARAMETERS: [&str; 8] = [
    "num_cores",
    "vector_unit_bytes",
    "cache_line_bytes",
    "max_shared_memory_per_block",
    "max_local_memory_per_block",
    "max_threads_per_block",
    "max_vthread_extent",
    "warp_size",
];

/// Hardware parameters by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hardware(pub BTreeMap<String, i64>);

impl Hardware {
    /// Reads all parameters, including unknown ones.
    pub(super) fn read(node: NodeRef<'_>) -> Result<Self, Error> {
        let names = node.node.attributes.keys();
        let parameters = names.map(|name| Ok((name.clone(), node.integer_attribute(name)?)));
        parameters.collect::<Result<_, _>>().map(Self)
    }

    /// Returns the eight numbers of a record (v0.3 and later), if all of them are known.
    pub fn record_parameters(&self) -> Option<[i64; 8]> {
        let number = |name: &&str| self.0.get(*name).copied();
        let numbers: Option<Vec<i64>> = RECORD_PARAMETERS.iter().map(number).collect();
        numbers?.try_into().ok()
    }
}

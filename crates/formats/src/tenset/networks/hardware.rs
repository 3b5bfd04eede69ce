//! What a task takes the machine to have.

use std::collections::BTreeMap;

use crate::tvm_json::{At, Error};

/// Parameters in the order that records of logs list them in.
const LISTED: [&str; 8] = [
    "num_cores",
    "vector_unit_bytes",
    "cache_line_bytes",
    "max_shared_memory_per_block",
    "max_local_memory_per_block",
    "max_threads_per_block",
    "max_vthread_extent",
    "warp_size",
];

/// Parameters of the hardware by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hardware(pub BTreeMap<String, i64>);

impl Hardware {
    /// Reads all there are, also those that this version does not know.
    pub(super) fn read(at: At<'_>) -> Result<Self, Error> {
        let names = at.node.attributes.keys();
        let parameters = names.map(|name| Ok((name.clone(), at.whole(name)?)));
        parameters.collect::<Result<_, _>>().map(Self)
    }

    /// The eight numbers of a record (v0.3 and later), where all of them are known.
    pub fn listed(&self) -> Option<[i64; 8]> {
        let number = |name: &&str| self.0.get(*name).copied();
        let numbers: Option<Vec<i64>> = LISTED.iter().map(number).collect();
        numbers?.try_into().ok()
    }
}

//! Resource limits of queries.

use std::sync::Arc;

use datafusion::execution::runtime_env::RuntimeEnv;
use tsql_folders::Scratch;

/// Limits of a session; unlimited by default.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// Memory limit for joins, sorts and aggregates, in bytes. The planner takes it into account, and larger data
    /// spills to temporary files.
    pub memory_bytes: Option<usize>,
    /// Memory in bytes at which a query stops, or at which its sorts and aggregates spill. Planning ignores it. Unused
    /// if `memory_bytes` is set.
    pub guard_bytes: Option<usize>,
    /// Number of partitions that a query computes in parallel.
    pub threads: Option<usize>,
    /// Runtime shared with other sessions; by default each session has its own.
    pub shared: Option<SharedRuntime>,
    /// Whether files cannot be used as tables.
    pub store_only: bool,
}

/// Memory pool of several sessions, and the folder for spilled data.
#[derive(Clone, Debug)]
pub struct SharedRuntime {
    /// The memory pool and the disk manager.
    pub runtime: Arc<RuntimeEnv>,
    /// Folder for spilled data; it is removed with the last session that uses it.
    pub spilled: Option<Arc<Scratch>>,
}

impl Limits {
    /// Size of the memory pool of a query, in bytes.
    pub fn memory_pool_bytes(&self) -> Option<usize> {
        self.memory_bytes.or(self.guard_bytes)
    }
}

impl From<Option<usize>> for Limits {
    fn from(memory_bytes: Option<usize>) -> Self {
        Self {
            memory_bytes,
            ..Self::default()
        }
    }
}

//! What questions may take of a machine.

use std::sync::Arc;

use datafusion::execution::runtime_env::RuntimeEnv;
use tsql_folders::Scratch;

/// Limits of a session; none unless they are set.
#[derive(Clone, Debug, Default)]
pub(crate) struct Limits {
    /// Memory within which joins, sorts and groups are planned; what does not fit goes to temporary files.
    pub(crate) memory_bytes: Option<usize>,
    /// Memory at which a question is stopped, or its sorts and groups go to temporary files, that is planned as if there
    /// were no limit. Not used beside `memory_bytes`.
    pub(crate) guard_bytes: Option<usize>,
    /// Parts that a question is computed in at a time.
    pub(crate) threads: Option<usize>,
    /// What other sessions have, too; one of its own unless it is set.
    pub(crate) shared: Option<SharedRuntime>,
    /// No files are tables.
    pub(crate) store_only: bool,
}

/// Memory that sessions have together, and the folder of what does not fit.
#[derive(Clone, Debug)]
pub(crate) struct SharedRuntime {
    pub(super) runtime: Arc<RuntimeEnv>,
    pub(super) spilled: Option<Arc<Scratch>>,
}

impl Limits {
    /// The memory that there is for a question.
    pub(super) fn pool_bytes(&self) -> Option<usize> {
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

//! What questions may take of a machine.

/// Limits of a session; none unless they are set.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limits {
    /// Memory within which joins, sorts and groups are planned; what does not fit goes to temporary files.
    pub(crate) memory_bytes: Option<usize>,
    /// Memory at which a question is stopped, or its sorts and groups go to temporary files, that is planned as if there
    /// were no limit. Not used beside `memory_bytes`.
    pub(crate) guard_bytes: Option<usize>,
    /// Parts that a question is computed in at a time.
    pub(crate) threads: Option<usize>,
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

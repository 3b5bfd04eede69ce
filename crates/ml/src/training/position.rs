//! Position of a training loop, from which it can resume.

use serde::{Deserialize, Serialize};

/// A position in the sequence of batches that all ranks share. The following batches depend only on it, the
/// selection and the options, so a run resumes with any number of ranks.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Position {
    /// Epoch, from 0.
    pub epoch: u64,
    /// Batch of the epoch, from 0, counted over all ranks: a step of `n` ranks is `n` batches.
    pub batch: u64,
}

impl Position {
    /// Returns the first batch of an epoch.
    #[must_use]
    pub fn start_of(epoch: u64) -> Self {
        Self { epoch, batch: 0 }
    }
}

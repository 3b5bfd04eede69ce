//! Where a training loop is: all that is needed to go on there.

use serde::{Deserialize, Serialize};

/// A place in the sequence of batches that all ranks share. What follows it depends on this, the selection and the options
/// alone, so a run resumes there with any number of ranks.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Position {
    /// From 0.
    pub epoch: u64,
    /// The batch of the epoch, from 0: one of all ranks together, so a step of `n` ranks is `n` batches.
    pub batch: u64,
}

impl Position {
    /// The first batch of an epoch.
    #[must_use]
    pub fn start_of(epoch: u64) -> Self {
        Self { epoch, batch: 0 }
    }
}

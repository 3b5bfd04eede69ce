//! Where a training loop is: all that is needed to go on there.

use serde::{Deserialize, Serialize};

/// A step of an epoch. What it gives follows from this, the selection and the options alone.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Position {
    /// From 0.
    pub epoch: u64,
    /// Step of the epoch that comes next, from 0.
    pub step: u64,
}

impl Position {
    /// The first step of an epoch.
    #[must_use]
    pub fn start_of(epoch: u64) -> Self {
        Self { epoch, step: 0 }
    }
}

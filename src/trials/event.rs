//! What happens in a run, for whoever watches it.

use tsql_measure::trial::Outcome;

use super::elsewhere::Difference;
use super::loaded::Item;
use super::sink::Resumed;

/// What happens in a run.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// What earlier runs had left was stored.
    Resumed(&'a Resumed),
    /// Records are measured again: what of the machine was different when each of them was taken.
    Elsewhere(&'a [Vec<Difference>]),
    /// So many trials follow, where that is known.
    Started {
        /// How many there may be.
        total: Option<u64>,
        /// The platform of the records.
        platform: &'a str,
        /// The stream that they are in.
        stream: &'a str,
        /// Limits that hold for kernels.
        active: &'a [String],
    },
    /// A trial is on the local disk.
    Measured {
        /// Which one.
        item: &'a Item,
        /// What came of it.
        outcome: &'a Outcome,
        /// Median of the repeats that count, in nanoseconds.
        median_ns: Option<f64>,
    },
    /// So many more records are in the store.
    Committed(u64),
}

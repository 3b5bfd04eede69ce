//! Progress events of a run.

use tsql_measure::trial::Outcome;

use super::loaded_program::TrialSpec;
use super::machine_difference::Difference;
use super::record_sink::Resumed;

/// A progress event of a run.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// Measurements of interrupted runs were stored.
    Resumed(&'a Resumed),
    /// Records are measured again: the differences between this machine and that of each record.
    Elsewhere(&'a [Vec<Difference>]),
    /// The run starts.
    Started {
        /// Maximum number of trials, if known.
        total: Option<u64>,
        /// Platform of the records.
        platform: &'a str,
        /// Stream of the records.
        stream: &'a str,
        /// Active limits of kernels.
        active: &'a [String],
    },
    /// A trial was written to the local disk.
    Measured {
        /// The trial.
        item: &'a TrialSpec,
        /// Its outcome.
        outcome: &'a Outcome,
        /// Median of the repeats that count, in ns.
        median_ns: Option<f64>,
    },
    /// This many records were committed.
    Committed(u64),
}

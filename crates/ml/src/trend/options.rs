//! Options of a trend.

use derive_setters::Setters;
use tsql_metrics::change::MINIMAL_CHANGE;
use tsql_session::SessionOptions;

use super::order::TrendOrder;

/// Minimum number of values of a program.
pub const MIN_VALUES: usize = 6;

/// Options of a trend; see [`trend`](crate::trend::trend).
#[derive(Clone, Debug, Setters)]
#[setters(strip_option)]
#[non_exhaustive]
pub struct TrendOptions {
    /// Restricts the records to those that satisfy this SQL predicate.
    #[setters(into)]
    pub(super) predicate: String,
    /// Sets the places. Default: the label `commit` if the store has it, else days, else sources.
    pub(super) order: Option<TrendOrder>,
    /// Sets the minimum change between two levels, as a fraction. Default: 0.02, which is 2 %.
    pub(super) minimum_change: f64,
    /// Restricts the changes to the last places of each platform.
    pub(super) last: Option<usize>,
    /// Sets the memory limit of the sorts, in bytes. Larger sorts spill to temporary files.
    pub(super) memory_limit_bytes: Option<usize>,
}

impl Default for TrendOptions {
    fn default() -> Self {
        Self {
            predicate: "true".to_owned(),
            order: None,
            minimum_change: MINIMAL_CHANGE,
            last: None,
            memory_limit_bytes: None,
        }
    }
}

impl TrendOptions {
    pub(super) fn session(&self) -> SessionOptions {
        SessionOptions::default().memory_limit_bytes(self.memory_limit_bytes)
    }
}

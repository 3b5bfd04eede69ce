//! Options of a comparison.

use derive_setters::Setters;
use tsql_metrics::change::MINIMAL_CHANGE;
use tsql_session::SessionOptions;

/// Choice among several records of a configuration on one side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecordChoice {
    /// The one that was measured last, as in `tsql measure repeat`. Records without a time are combined.
    #[default]
    Newest,
    /// All that did not fail: their repeats are combined.
    All,
}

/// Options of a comparison; see [`compare`](crate::compare::compare).
#[derive(Clone, Debug, Setters)]
#[setters(strip_option)]
#[non_exhaustive]
pub struct CompareOptions {
    /// Restricts both sides to records that satisfy this SQL predicate over the columns of `records`.
    #[setters(into)]
    pub(super) predicate: String,
    /// Sets the choice among several records of a configuration.
    #[setters(rename = "record_choice")]
    pub(super) of: RecordChoice,
    /// Sets the minimum change that is significant, as a fraction. Default: 0.02, which is 2 %.
    pub(super) minimum_change: f64,
    /// Sets the allowed slowdown of the second side, as a fraction, for
    /// [`Comparison::regression`](super::Comparison::regression).
    pub(super) allowed_regression: Option<f64>,
    /// Sets the maximum length of each list of configurations. Default: 10.
    pub(super) top: usize,
    /// Sets the memory limit of the sorts, in bytes. Larger sorts spill to temporary files.
    pub(super) memory_limit_bytes: Option<usize>,
    /// Sets the session for sides of users without write access: their conditions may only read the store. The memory
    /// limit is that of the session.
    pub(super) read_only_session: Option<SessionOptions>,
}

impl Default for CompareOptions {
    fn default() -> Self {
        Self {
            predicate: "true".to_owned(),
            of: RecordChoice::default(),
            minimum_change: MINIMAL_CHANGE,
            allowed_regression: None,
            top: 10,
            memory_limit_bytes: None,
            read_only_session: None,
        }
    }
}

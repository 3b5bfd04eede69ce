//! Options of a comparison.

use tsql_metrics::change::MINIMAL_CHANGE;

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

/// Options of a comparison; see [`Store::compare`](crate::Store::compare).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CompareOptions {
    pub(super) predicate: String,
    pub(super) of: RecordChoice,
    pub(super) minimal_change: f64,
    pub(super) allowed_regression: Option<f64>,
    pub(super) top: usize,
    pub(super) memory_limit_bytes: Option<usize>,
}

impl Default for CompareOptions {
    fn default() -> Self {
        Self {
            predicate: "true".to_owned(),
            of: RecordChoice::default(),
            minimal_change: MINIMAL_CHANGE,
            allowed_regression: None,
            top: 10,
            memory_limit_bytes: None,
        }
    }
}

impl CompareOptions {
    /// Restricts both sides to records that satisfy this SQL predicate over the columns of `records`.
    #[must_use]
    pub fn predicate(mut self, sql: impl Into<String>) -> Self {
        self.predicate = sql.into();
        self
    }

    /// Sets the choice among several records of a configuration.
    #[must_use]
    pub fn record_choice(mut self, of: RecordChoice) -> Self {
        self.of = of;
        self
    }

    /// Sets the minimum change that is significant, as a fraction. Default: 0.02, which is 2 %.
    #[must_use]
    pub fn minimal_change(mut self, share: f64) -> Self {
        self.minimal_change = share;
        self
    }

    /// Sets the allowed slowdown of the second side, as a fraction, for
    /// [`Comparison::regression`](super::Comparison::regression).
    #[must_use]
    pub fn allowed_regression(mut self, share: f64) -> Self {
        self.allowed_regression = Some(share);
        self
    }

    /// Sets the maximum length of each list of configurations. Default: 10.
    #[must_use]
    pub fn top(mut self, count: usize) -> Self {
        self.top = count;
        self
    }

    /// Sets the memory limit of the sorts, in bytes. Larger sorts spill to temporary files.
    #[must_use]
    pub fn memory_limit_bytes(mut self, bytes: usize) -> Self {
        self.memory_limit_bytes = Some(bytes);
        self
    }
}

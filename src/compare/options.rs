//! How a comparison is made.

use tsql_metrics::change::MINIMAL_CHANGE;

/// Which records of a configuration count, where a side has several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Of {
    /// The one that was measured last, as `tsql measure repeat` takes it. Records without a time count together.
    #[default]
    Newest,
    /// All that did not fail: their repeats are put together.
    All,
}

/// How a comparison is made; see [`Store::compare`](crate::Store::compare).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CompareOptions {
    pub(super) predicate: String,
    pub(super) of: Of,
    pub(super) minimal_change: f64,
    pub(super) allowed_regression: Option<f64>,
    pub(super) top: usize,
    pub(super) memory_limit_bytes: Option<usize>,
}

impl Default for CompareOptions {
    fn default() -> Self {
        Self {
            predicate: "true".to_owned(),
            of: Of::default(),
            minimal_change: MINIMAL_CHANGE,
            allowed_regression: None,
            top: 10,
            memory_limit_bytes: None,
        }
    }
}

impl CompareOptions {
    /// Only records for which this SQL over the columns of `records` holds, on both sides.
    #[must_use]
    pub fn predicate(mut self, sql: impl Into<String>) -> Self {
        self.predicate = sql.into();
        self
    }

    /// Which records of a configuration count.
    #[must_use]
    pub fn of(mut self, of: Of) -> Self {
        self.of = of;
        self
    }

    /// The smallest change that is called one, as a share: 0.02 for 2 % unless it is set.
    #[must_use]
    pub fn minimal_change(mut self, share: f64) -> Self {
        self.minimal_change = share;
        self
    }

    /// How much slower the second side may be, as a share, before [`Comparison::regression`](super::Comparison::regression)
    /// is one.
    #[must_use]
    pub fn allowed_regression(mut self, share: f64) -> Self {
        self.allowed_regression = Some(share);
        self
    }

    /// How many configurations each list has at most; 10 unless it is set.
    #[must_use]
    pub fn top(mut self, count: usize) -> Self {
        self.top = count;
        self
    }

    /// Memory that the sorts may take, in bytes; what does not fit goes to temporary files.
    #[must_use]
    pub fn memory_limit_bytes(mut self, bytes: usize) -> Self {
        self.memory_limit_bytes = Some(bytes);
        self
    }
}

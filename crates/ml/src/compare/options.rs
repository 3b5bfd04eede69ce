//! Options of a comparison.

use derive_setters::Setters;
use serde::Serialize;
use tsql_metrics::change::MINIMAL_CHANGE;
use tsql_session::SessionOptions;

/// Rule of the verdicts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Rule {
    /// Each record is one run. The scatter between runs and days comes from repeated records of the store
    /// (`tsql_verdicts`).
    #[default]
    Runs,
    /// Ranks of the repeats of both sides, which are taken as independent (`tsql_metrics::change`).
    Ranks,
}

/// Choice among several records of a configuration on one side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecordChoice {
    /// The one that was measured last, as in `tsql measure repeat`. Records without a time are combined.
    Newest,
    /// All of the last day that did not fail, if the newest one did not. Records without a time are combined.
    NewestDay,
    /// All that did not fail.
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
    /// Sets the rule of the verdicts. Default: [`Rule::Runs`].
    pub(super) rule: Rule,
    /// Sets the choice among several records of a configuration. Default: [`RecordChoice::NewestDay`]; for
    /// [`Rule::Ranks`], [`RecordChoice::Newest`].
    pub(super) record_choice: Option<RecordChoice>,
    /// Sets the control programs: operators, workload names or keys. If one of them is faster or slower, the machine
    /// changed, and all verdicts of the platform are unclear.
    pub(super) anchors: Vec<String>,
    /// Sets the minimum change that is significant, as a fraction. Default: 0.02, which is 2 %.
    pub(super) minimum_change: f64,
    /// Sets the allowed slowdown of the second side, as a fraction, for
    /// [`Comparison::regression`](super::Comparison::regression).
    pub(super) allowed_regression: Option<f64>,
    /// Sets the maximum length of each list of configurations. Default: 10.
    pub(super) top: usize,
    /// Sets the maximum length of [`Comparison::pairs`](super::Comparison::pairs). Default: 0.
    pub(super) max_pairs: usize,
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
            rule: Rule::default(),
            record_choice: None,
            anchors: Vec::new(),
            minimum_change: MINIMAL_CHANGE,
            allowed_regression: None,
            top: 10,
            max_pairs: 0,
            memory_limit_bytes: None,
            read_only_session: None,
        }
    }
}

impl CompareOptions {
    /// Returns the choice of records, by default that of the rule.
    pub(super) fn resolved_choice(&self) -> RecordChoice {
        self.record_choice.unwrap_or(match self.rule {
            Rule::Runs => RecordChoice::NewestDay,
            Rule::Ranks => RecordChoice::Newest,
        })
    }
}

//! How a split is made.

use crate::query::SplitUnit;

/// How a split is made; by task, 80/10/10, with seed 0 unless it is said otherwise.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SplitOptions {
    pub(super) unit: SplitUnit,
    pub(super) ratio: String,
    pub(super) seed: i64,
    pub(super) hold_out: Option<String>,
    pub(super) query: Option<String>,
    pub(super) preset: Option<&'static str>,
    pub(super) warning: Option<&'static str>,
}

impl Default for SplitOptions {
    fn default() -> Self {
        Self {
            unit: SplitUnit::Task,
            ratio: "80/10/10".to_owned(),
            seed: 0,
            hold_out: None,
            query: None,
            preset: None,
            warning: None,
        }
    }
}

impl SplitOptions {
    /// What stays together.
    #[must_use]
    pub fn unit(mut self, unit: SplitUnit) -> Self {
        self.unit = unit;
        self
    }

    /// Shares of train, valid and test, as whole numbers: `80/10/10`.
    #[must_use]
    pub fn ratio(mut self, ratio: impl Into<String>) -> Self {
        self.ratio = ratio.into();
        self
    }

    /// Another seed is another split.
    #[must_use]
    pub fn seed(mut self, seed: i64) -> Self {
        self.seed = seed;
        self
    }

    /// A query whose first column names units that are in `test`, or in the part that a second column `part` says: keys, or
    /// `graph_id`, or `config_id`.
    #[must_use]
    pub fn hold_out(mut self, sql: impl Into<String>) -> Self {
        self.hold_out = Some(sql.into());
        self
    }

    /// A query over `records` whose rows the split is about, all unless it is set: clusters, cuts, counts and leaks are of
    /// these. Rows beside them have parts by their keys, too.
    #[must_use]
    pub fn query(mut self, sql: impl Into<String>) -> Self {
        self.query = Some(sql.into());
        self
    }
}

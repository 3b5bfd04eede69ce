//! Options of a split.

use crate::query::SplitUnit;

/// Options of a split; the default is by task, 80/10/10, with seed 0.
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
    /// Sets the unit that is never divided.
    #[must_use]
    pub fn unit(mut self, unit: SplitUnit) -> Self {
        self.unit = unit;
        self
    }

    /// Sets the ratio of train, valid and test, as integers: `80/10/10`.
    #[must_use]
    pub fn ratio(mut self, ratio: impl Into<String>) -> Self {
        self.ratio = ratio.into();
        self
    }

    /// Sets the seed.
    #[must_use]
    pub fn seed(mut self, seed: i64) -> Self {
        self.seed = seed;
        self
    }

    /// Sets a query whose first column names the units that are in `test`, or in the part given by a second
    /// column `part`: keys, `graph_id` or `config_id`.
    #[must_use]
    pub fn hold_out(mut self, sql: impl Into<String>) -> Self {
        self.hold_out = Some(sql.into());
        self
    }

    /// Sets a query over `records` whose rows are split; all records by default. Clusters, cuts, counts and
    /// leaks are computed over these rows. Other rows have parts by their keys, too.
    #[must_use]
    pub fn query(mut self, sql: impl Into<String>) -> Self {
        self.query = Some(sql.into());
        self
    }
}

//! Options of a split.

use derive_setters::Setters;
use tsql_session::SplitUnit;

/// Options of a split; the default is by task, 80/10/10, with seed 0.
#[derive(Clone, Debug, Setters)]
#[setters(strip_option)]
#[non_exhaustive]
pub struct SplitOptions {
    /// Sets the unit that is never divided.
    pub(super) unit: SplitUnit,
    /// Sets the ratio of train, valid and test, as integers: `80/10/10`.
    #[setters(into)]
    pub(super) ratio: String,
    /// Sets the seed.
    pub(super) seed: i64,
    /// Sets a query whose first column names the units that are in `test`, or in the part given by a second
    /// column `part`: keys, `graph_id` or `config_id`.
    #[setters(into)]
    pub(super) hold_out: Option<String>,
    /// Sets a query over `records` whose rows are split; all records by default. Clusters, cuts, counts and
    /// leaks are computed over these rows. Other rows have parts by their keys, too.
    #[setters(into)]
    pub(super) query: Option<String>,
    #[setters(skip)]
    pub(super) preset: Option<&'static str>,
    #[setters(skip)]
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

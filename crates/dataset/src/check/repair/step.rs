//! Common interface of the repairs.

use futures::future::{BoxFuture, LocalBoxFuture};
use tsql_error::Result;
use tsql_store::Store;

use super::super::report::RepairItem;

/// A possible defect and its repair.
pub(super) struct RepairStep {
    /// Description, in the plural.
    pub(super) description: &'static str,
    /// Effect of the repair, as shown after `tsql check --repair`.
    pub(super) effect: &'static str,
    /// Whether invariants of the store are violated.
    pub(super) is_damage: bool,
    /// Counts the cases.
    pub(super) count: for<'a> fn(&'a Store) -> BoxFuture<'a, Result<u64>>,
    /// Repairs the cases, and returns their number.
    pub(super) apply: for<'a> fn(&'a Store) -> LocalBoxFuture<'a, Result<u64>>,
}

impl RepairStep {
    /// Returns the repair of `count` cases. `None` for 0.
    pub(super) fn to_item(&self, count: u64) -> Option<RepairItem> {
        (count > 0).then_some(RepairItem {
            description: self.description,
            count,
            effect: self.effect,
            is_damage: self.is_damage,
            next_commands: Vec::new(),
            lost: Vec::new(),
        })
    }
}

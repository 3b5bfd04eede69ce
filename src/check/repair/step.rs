//! Common interface of the repairs.

use futures::future::{BoxFuture, LocalBoxFuture};

use super::super::report::RepairItem;
use crate::error::Result;
use crate::store::Store;

/// A possible defect and its repair.
pub(super) struct RepairStep {
    /// Description, in the plural.
    pub(super) found: &'static str,
    /// Effect of the repair, as shown after `tsql check --repair`.
    pub(super) does: &'static str,
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
            found: self.found,
            count,
            does: self.does,
            is_damage: self.is_damage,
            then: Vec::new(),
            lost: Vec::new(),
        })
    }
}

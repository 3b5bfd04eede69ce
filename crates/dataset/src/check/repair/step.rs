//! Common interface of the repairs.

use futures::FutureExt as _;
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
    /// Returns the commands that complete the repair of the present cases.
    pub(super) next_commands: for<'a> fn(&'a Store) -> BoxFuture<'a, Result<Vec<String>>>,
}

/// No command is needed after the repair.
pub(super) fn no_commands(_: &Store) -> BoxFuture<'_, Result<Vec<String>>> {
    async { Ok(Vec::new()) }.boxed()
}

impl RepairStep {
    /// Returns the present cases. `None` if there are none.
    pub(super) async fn pending(&self, store: &Store) -> Result<Option<RepairItem>> {
        self.to_item((self.count)(store).await?, store).await
    }

    /// Repairs the present cases, and returns them. `None` if there are none.
    pub(super) async fn repair(&self, store: &Store) -> Result<Option<RepairItem>> {
        self.to_item((self.apply)(store).await?, store).await
    }

    async fn to_item(&self, count: u64, store: &Store) -> Result<Option<RepairItem>> {
        if count == 0 {
            return Ok(None);
        }
        Ok(Some(RepairItem {
            description: self.description,
            count,
            effect: self.effect,
            is_damage: self.is_damage,
            next_commands: (self.next_commands)(store).await?,
            lost: Vec::new(),
        }))
    }
}

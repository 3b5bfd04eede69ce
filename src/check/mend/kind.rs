//! What every mend has.

use futures::future::{BoxFuture, LocalBoxFuture};

use super::super::checked::Mendable;
use crate::error::Result;
use crate::store::Store;

/// One thing that can be wrong, and how it is put right.
pub(super) struct Mend {
    /// What is found, in the plural.
    pub(super) found: &'static str,
    /// What mending does to it, after `tsql check --repair`.
    pub(super) does: &'static str,
    /// The store does not keep its promises as long as that is so.
    pub(super) is_damage: bool,
    /// How many there are.
    pub(super) count: for<'a> fn(&'a Store) -> BoxFuture<'a, Result<u64>>,
    /// Mends them; how many there were.
    pub(super) apply: for<'a> fn(&'a Store) -> LocalBoxFuture<'a, Result<u64>>,
}

impl Mend {
    /// What is said of so many; nothing of none.
    pub(super) fn told(&self, count: u64) -> Option<Mendable> {
        (count > 0).then_some(Mendable {
            found: self.found,
            count,
            does: self.does,
            is_damage: self.is_damage,
            then: Vec::new(),
            lost: Vec::new(),
        })
    }
}

//! What is damaged, or was written wrong by earlier versions, put right.
//!
//! Each mend is an exclusive commit like any other and leaves the old files to `vacuum`; broken off at
//! any moment, the next run goes on from there. A second run finds nothing.

mod folders;
mod orphans;
mod twins;
mod unread;

use futures::future::{BoxFuture, LocalBoxFuture};

use super::damaged;
use crate::error::Result;
use crate::store::Store;

/// All that can be mended, in the order in which it is.
/// What takes files out of the ledger comes before what looks for rows that it does not have.
const MENDS: [Mend; 4] = [folders::MEND, twins::MEND, unread::MEND, orphans::MEND];

/// One thing that can be wrong, and how it is put right.
struct Mend {
    /// What is found, in the plural.
    found: &'static str,
    /// What mending does to it, after `tsql check --mend`.
    does: &'static str,
    /// The store does not keep its promises as long as that is so.
    is_damage: bool,
    /// How many there are.
    count: for<'a> fn(&'a Store) -> BoxFuture<'a, Result<u64>>,
    /// Mends them; how many there were.
    apply: for<'a> fn(&'a Store) -> LocalBoxFuture<'a, Result<u64>>,
}

/// Something that [`Store::mend`] can put right, or has.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mendable {
    /// What it is, in the plural.
    pub found: &'static str,
    /// How many there are.
    pub count: u64,
    /// What mending does to them: a sentence that begins with its verb.
    pub does: &'static str,
    /// The store does not keep its promises as long as that is so.
    pub is_damage: bool,
    /// Commands that complete it.
    pub then: Vec<String>,
}

impl Mend {
    fn told(&self, count: u64) -> Option<Mendable> {
        (count > 0).then_some(Mendable {
            found: self.found,
            count,
            does: self.does,
            is_damage: self.is_damage,
            then: Vec::new(),
        })
    }
}

impl Store {
    /// What [`Store::mend`] would put right.
    ///
    /// # Errors
    /// Failures to read at all.
    pub async fn mendable(&self) -> Result<Vec<Mendable>> {
        let mut found = Vec::new();
        for mend in &MENDS {
            found.extend(mend.told((mend.count)(self).await?));
        }
        Ok(found)
    }

    /// Puts right what is damaged, as far as something is left that it can be made from, and what earlier
    /// versions have written wrong; tells what it did. A store that has nothing of that stays as it is.
    ///
    /// # Errors
    /// Failures of the storage; what was mended before stays so.
    pub async fn mend(&self) -> Result<Vec<Mendable>> {
        self.changeable()?;
        let mut done = Vec::from_iter(damaged::mend(self).await?);
        for mend in &MENDS {
            done.extend(mend.told((mend.apply)(self).await?));
        }
        Ok(done)
    }
}

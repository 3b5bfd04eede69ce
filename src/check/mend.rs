//! What is damaged, or was written wrong by earlier versions, put right.
//!
//! Each mend is an exclusive commit like any other and leaves the old files to `vacuum`; broken off at
//! any moment, the next run goes on from there. A second run finds nothing.

mod folders;
mod kind;
mod orphans;
mod twins;
mod unread;

use super::checked::Mendable;
use super::damaged;
use crate::error::Result;
use crate::store::Store;
use kind::Mend;

/// All that can be mended, in the order in which it is.
/// What takes files out of the ledger comes before what looks for rows that it does not have.
const MENDS: [Mend; 4] = [folders::MEND, twins::MEND, unread::MEND, orphans::MEND];

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

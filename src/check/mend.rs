//! What is damaged, or was written wrong by earlier versions, put right.
//!
//! Each repair is an exclusive commit like any other and leaves the old files to `vacuum`; broken off at
//! any moment, the next run goes on from there. A second run finds nothing.

mod folders;
mod kind;
mod orphans;
mod twins;
mod unread;

use super::checked::Mendable;
use super::{damaged, incomplete, reingest};
use crate::error::Result;
use crate::ledger::Labels;
use crate::store::Store;
use kind::Mend;

/// All that earlier versions have written wrong, in the order in which it is repaired.
/// What takes files out of the ledger comes before what looks for rows that it does not have.
const MENDS: [Mend; 4] = [folders::MEND, twins::MEND, unread::MEND, orphans::MEND];

/// Tables whose rows are in no file that is ingested.
const BY_PEOPLE: [&str; 6] = [
    "notes",
    "subsets",
    "splits",
    "features",
    "tags",
    "corrections",
];

impl Store {
    /// What [`Store::repair`] would put right of what earlier versions have written.
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
    /// The logs come first, then data files, then the rows that are lost with them: the sources that are incomplete are
    /// taken out, and named to be ingested again. A table that is behind what others prove gets its version last, so that
    /// nobody uses the store in between.
    ///
    /// # Errors
    /// Failures of the storage; what was repaired before stays so.
    pub async fn repair(&self) -> Result<Vec<Mendable>> {
        self.changeable()?;
        let store = self.unproven();
        let sources = store.lost_sources().await?;
        let logs = store.repair_logs().await?;
        let mut done = Vec::from_iter(of_logs(&logs, &sources));
        let (files, removes) = damaged::mend(&store).await?;
        done.extend(files);
        done.extend(incomplete::repair(&store, removes || !logs.is_empty()).await?);
        for mend in &MENDS {
            done.extend(mend.told((mend.apply)(&store).await?));
        }
        if !logs.is_empty() {
            store.raise_logs().await?;
        }
        Ok(done)
    }
}

/// What was done about damaged logs: table and description of each damage, and the sources that went with it: path,
/// dataset and platform.
fn of_logs(logs: &[(&'static str, String)], sources: &[[String; 3]]) -> Option<Mendable> {
    let lost = logs.iter().filter(|(table, _)| BY_PEOPLE.contains(table));
    let lost = lost.map(|(table, what)| format!("changes of {table}: {what}"));
    let then = sources.iter().map(|[path, dataset, platform]| {
        reingest::command(path, dataset, platform, &Labels::default())
    });
    (!logs.is_empty()).then(|| Mendable {
        found: "damaged files of logs",
        count: logs.len() as u64,
        does: "puts them aside, and makes a version of what is left",
        is_damage: true,
        then: then.collect(),
        lost: lost.collect(),
    })
}

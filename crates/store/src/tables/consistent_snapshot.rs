//! Versions of several tables that belong together.
//!
//! A retraction copies rows to `retracted` before it takes them out of `records`, and whoever puts them back does so
//! before they leave `retracted`: at every moment each row is in one of the two, or in both. Logs are read one
//! after the other, and so whoever reads them looks whether a correction was at work meanwhile.

use std::collections::BTreeMap;

use crate::tables::acknowledged::INGEST_LOG;
use crate::{Snapshot, Store};
use tsql_error::{Error, Result};
use tsql_schema::Table;

/// Tables that rows are retracted from, and where these go, in the order in which they are taken out.
pub const RETRACTED: [(&str, &str); 2] = [("runs", "retracted_runs"), ("records", "retracted")];

/// The table that says when a correction is at work.
pub const CORRECTIONS: &str = "corrections";

/// How often versions are looked at again.
const ATTEMPTS: usize = 20;

/// Tables by their names; those that nobody has written are not among them.
pub type Snapshots = BTreeMap<&'static str, Snapshot>;

impl Store {
    /// The versions that these tables have now, all of one moment as far as what they refer to and retracted rows are
    /// concerned.
    ///
    /// # Errors
    /// [`Error::Contended`] where corrections do not end, and failures of the storage.
    pub async fn snapshots_of(&self, tables: &[&'static Table]) -> Result<Snapshots> {
        if let Some(first) = self.first.take(tables) {
            return Ok(first);
        }
        let are_asked = tables.iter().any(|table| table.name == "retracted");
        for _ in 0..ATTEMPTS {
            let before = if are_asked {
                self.corrected().await?
            } else {
                None
            };
            let mut snapshots = Snapshots::new();
            // What refers to others is read before them, so that all it refers to is there.
            for table in tables.iter().rev() {
                let Some(snapshot) = self.snapshot(&table.name).await? else {
                    continue;
                };
                // By the version of the ingest log that is shown beside it.
                let is_shown = tables.iter().any(|table| table.name == INGEST_LOG);
                let sources = is_shown.then(|| snapshots.get(INGEST_LOG).cloned());
                let snapshot = self.acknowledged_by(&table.name, snapshot, sources.as_ref());
                snapshots.insert(&table.name, snapshot.await?);
            }
            if !are_asked || self.corrected().await? == before {
                return Ok(snapshots);
            }
        }
        Err(Error::Contended {
            table: CORRECTIONS.to_owned(),
            seconds: 0,
        })
    }

    /// What changes while a correction is at work: the versions of its tables. `None` where there was none yet, since
    /// whoever moves rows has written that down before.
    async fn corrected(&self) -> Result<Option<Vec<Option<u64>>>> {
        let Some(corrections) = self.snapshot(CORRECTIONS).await? else {
            return Ok(None);
        };
        let mut versions = vec![Some(corrections.version())];
        for (_, kept) in RETRACTED {
            let kept = self.snapshot(kept).await?;
            versions.push(kept.map(|kept| kept.version()));
        }
        Ok(Some(versions))
    }
}

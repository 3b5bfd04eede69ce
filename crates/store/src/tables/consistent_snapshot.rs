//! Consistent snapshots of several tables.
//!
//! A retraction copies rows to `retracted` before it deletes them from `records`, and a restore works the other way
//! round. So at any time each row is in one of the two, or in both. Logs are read one after the other, so a reader
//! checks whether a correction has run meanwhile.

use std::collections::BTreeMap;

use crate::tables::hide_unacknowledged::INGEST_LOG;
use crate::{Snapshot, Store};
use tsql_error::{Error, Result};
use tsql_schema::Table;

/// Tables that rows are retracted from, and their target tables, in the order of deletion.
pub const RETRACTED: [(&str, &str); 2] = [("runs", "retracted_runs"), ("records", "retracted")];

/// Table that shows whether a correction is running.
pub const CORRECTIONS: &str = "corrections";

/// Maximum time between the commits of rows and of the ingest log, in ms. A run that takes longer is reported as
/// interrupted.
const MAX_COMMIT_MS: i64 = 10_000;

/// Maximum number of attempts.
const ATTEMPTS: usize = 20;

/// Snapshots by table name, without tables that were never written.
pub type Snapshots = BTreeMap<&'static str, Snapshot>;

impl Store {
    /// Returns the current snapshots of these tables, consistent with respect to references and retracted rows.
    ///
    /// # Errors
    /// [`Error::Contended`] if corrections keep running, and failures of the storage.
    pub async fn consistent_snapshots(&self, tables: &[&'static Table]) -> Result<Snapshots> {
        if let Some(first) = self.first.take(tables) {
            return Ok(first);
        }
        let are_asked = tables.iter().any(|table| table.name == "retracted");
        for _ in 0..ATTEMPTS {
            let before = if are_asked {
                self.correction_versions().await?
            } else {
                None
            };
            let mut snapshots = Snapshots::new();
            // Referencing tables are read first, so all referenced rows exist.
            for table in tables.iter().rev() {
                let Some(snapshot) = self.snapshot(&table.name).await? else {
                    continue;
                };
                // Uses the version of the ingest log that is returned as well.
                let is_shown = tables.iter().any(|table| table.name == INGEST_LOG);
                let sources = is_shown.then(|| snapshots.get(INGEST_LOG).cloned());
                let snapshot = self.hide_unacknowledged_at(&table.name, snapshot, sources.as_ref());
                snapshots.insert(&table.name, snapshot.await?);
            }
            if !are_asked || self.correction_versions().await? == before {
                return Ok(snapshots);
            }
        }
        Err(Error::Contended {
            table: CORRECTIONS.to_owned(),
            seconds: 0,
        })
    }

    /// Reports rows that are hidden in these snapshots, unless a run may still be about to acknowledge them: such rows
    /// show an interrupted run, or that the newest entry of the ingest log is lost.
    pub fn report_hidden_rows(&self, snapshots: &Snapshots) {
        let now = chrono::Utc::now().timestamp_millis();
        for (table, snapshot) in snapshots {
            if let Some(hidden) = snapshot.hidden_rows()
                && now - hidden.written_at_ms >= MAX_COMMIT_MS
            {
                self.queues.report_once(&format!(
                    "{table}: {} rows are hidden, because the ingest log does not have them: an ingest was \
                     interrupted, or its newest entry is lost\n\
                     hint: ingest the same files again; `tsql check` names them",
                    hidden.rows
                ));
            }
        }
    }

    /// Returns the versions of the tables that a correction changes. `None` if there was no correction yet: every
    /// correction is recorded before it moves rows.
    async fn correction_versions(&self) -> Result<Option<Vec<Option<u64>>>> {
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

//! The last commits of whole files: their rows, then the ledger.

use std::collections::HashMap;

use super::closed::{Closed, source_columns};
use super::group::one_file;
use super::ledger::Ledger;
use crate::error::Result;
use crate::store::file::DataFile;
use crate::store::{Change, Snapshot, Store};

/// Commits rows of files that nobody else has committed meanwhile.
pub(super) struct Commits<'a> {
    pub(super) store: &'a Store,
    /// Versions of `lines` and `records` that hold nothing of this run's files but what its
    /// `Orphans` say.
    pub(super) clear: HashMap<&'static str, u64>,
}

impl Commits<'_> {
    /// Adds files of rows, unless the log says by now that rows of the same sources are there.
    pub(super) async fn rows(
        &mut self,
        table: &'static str,
        add: Vec<DataFile>,
        closed: &[Closed],
    ) -> Result<bool> {
        if add.is_empty() {
            return Ok(true);
        }
        let transactions: Vec<_> = closed.iter().filter_map(Closed::transaction).collect();
        let change = Change {
            add,
            transactions,
            ..Change::default()
        };
        let detail = format!("ingest of {} files", closed.len());
        let clear = &self.clear;
        let (mut done, mut version) = (true, None);
        self.store
            .commit(table, &detail, async |snapshot: &Snapshot| {
                if clear.get(table) != Some(&snapshot.version()) {
                    for (application, end) in &change.transactions {
                        if snapshot.transaction(application).await? >= Some(*end) {
                            done = false;
                            return Ok(None);
                        }
                    }
                }
                version = Some(snapshot.version() + 1);
                Ok(Some(change.clone()))
            })
            .await?;
        if let Some(version) = version.filter(|_| done) {
            self.clear.insert(table, version);
        }
        Ok(done)
    }

    /// Adds files to the ledger, the last of all commits.
    pub(super) async fn sources(&self, closed: &[Closed]) -> Result<()> {
        let store = self.store;
        store
            .commit("sources", "ingest", async |snapshot: &Snapshot| {
                let ledger = Ledger::at(store, snapshot).await?;
                let new: Vec<&Closed> = closed
                    .iter()
                    .filter(|file| !ledger.has(file.reading.source_id, file.reading.segment))
                    .collect();
                if new.is_empty() {
                    return Ok(None);
                }
                one_file(store, "sources", source_columns(&new))
                    .await
                    .map(Some)
            })
            .await
    }
}

//! The last commits of whole files: their rows, then the ledger.

use std::collections::HashMap;

use arrow::array::RecordBatch;
use arrow::datatypes::{Int32Type, Int64Type};

use super::closed::{Closed, source_columns};
use super::group::one_file;
use crate::column;
use crate::dedupe::ReadFiles;
use crate::error::Result;
use crate::store::file::DataFile;
use crate::store::{Change, Snapshot, Store};

/// Commits rows of files that nobody else has committed meanwhile.
pub(super) struct Commits<'a> {
    pub(super) store: &'a Store,
    /// Versions of `lines` and `records` that hold nothing of this run's files but what its
    /// `Orphans` say.
    clear: HashMap<&'static str, u64>,
    /// The last segment of each source in the ledger, as far as its files were read.
    segments: HashMap<i64, i32>,
    read: ReadFiles,
}

impl<'a> Commits<'a> {
    pub(super) fn new(store: &'a Store, clear: HashMap<&'static str, u64>) -> Self {
        Self {
            store,
            clear,
            segments: HashMap::new(),
            read: ReadFiles::default(),
        }
    }

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
    pub(super) async fn sources(&mut self, closed: &[Closed]) -> Result<()> {
        let (store, segments, read) = (self.store, &mut self.segments, &mut self.read);
        let mut written: Option<(usize, Change)> = None;
        store
            .commit("sources", "ingest", async |snapshot: &Snapshot| {
                if let Some(new) = read.new_at(snapshot) {
                    let columns = ["source_id", "segment"];
                    for batch in store.read("sources", &new, &columns, None).await? {
                        learn(&batch, segments)?;
                    }
                }
                let is_new = |file: &&Closed| {
                    let known = segments.get(&file.reading.source_id);
                    known.is_none_or(|&known| known < file.reading.segment)
                };
                let new: Vec<&Closed> = closed.iter().filter(is_new).collect();
                if new.is_empty() {
                    return Ok(None);
                }
                if written
                    .as_ref()
                    .is_none_or(|(count, _)| *count != new.len())
                {
                    let change = one_file(store, "sources", source_columns(&new)).await?;
                    written = Some((new.len(), change));
                }
                Ok(written.as_ref().map(|(_, change)| change.clone()))
            })
            .await
    }
}

/// Learns the segments of sources from rows of the ledger.
fn learn(batch: &RecordBatch, segments: &mut HashMap<i64, i32>) -> Result<()> {
    let sources = column::numbers::<Int64Type>(batch, "source_id")?;
    let numbers = column::numbers::<Int32Type>(batch, "segment")?;
    for (source, number) in sources.values().iter().zip(numbers.values()) {
        let last = segments.entry(*source).or_insert(*number);
        *last = (*last).max(*number);
    }
    Ok(())
}

//! The last commits of whole files: their rows, then the ledger.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use arrow::array::RecordBatch;
use arrow::datatypes::{Int32Type, Int64Type};

use super::closed::{Closed, source_columns};
use super::group::one_file;
use super::orphans::Orphans;
use crate::column;
use crate::dedupe::ReadFiles;
use crate::error::Result;
use crate::store::file::DataFile;
use crate::store::{Change, Snapshot, Store};

/// How long a run may take from its rows to their entry in the ledger: more than two commits are tried
/// at most. One that was stopped for longer looks at everything again. So whoever takes away rows that
/// the ledger does not know takes none of a run that goes on, if they are much older: see
/// `upkeep::orphans`.
pub(crate) const LEASE: Duration = Duration::from_mins(15);

/// The name of a source among the applications in the logs of its rows.
pub(crate) fn application(source_id: i64) -> String {
    format!("source:{source_id:016x}")
}

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

    /// Makes files that were read to their end part of the store: their other lines, their records,
    /// then the ledger. False where another run is about to do so with one of them, or where rows that
    /// an interrupted run had stored were taken away: all must be looked at again.
    pub(super) async fn add(
        &mut self,
        lines: Vec<DataFile>,
        records: Vec<DataFile>,
        closed: &[Closed],
        orphans: &Orphans,
    ) -> Result<bool> {
        let begun = Instant::now();
        Ok(self.rows("lines", lines, closed).await?
            && self.rows("records", records, closed).await?
            && self.sources(closed, orphans, begun).await?)
    }

    /// Adds files of rows, unless the log says by now that rows of the same sources are there.
    async fn rows(
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

    /// Adds files to the ledger, the last of all commits; false where their rows, which were seen when
    /// this had `begun`, may be gone by now.
    async fn sources(
        &mut self,
        closed: &[Closed],
        orphans: &Orphans,
        begun: Instant,
    ) -> Result<bool> {
        let mut all_there = true;
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
                let ids = new.iter().map(|file| file.reading.source_id).collect();
                all_there = begun.elapsed() < LEASE && orphans.are_there(store, ids).await?;
                if !all_there {
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
            .await?;
        Ok(all_there)
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

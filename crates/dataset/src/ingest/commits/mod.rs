//! Final commits of whole files: their rows, then the ingest log.
//!
//! ```text
//! claim of rows of other runs ─▶ records ─▶ runs, lines ─▶ sources
//! (only if there are any)
//! ```
//!
//! Another run may stop between its own commits of the same files, for any time. The Delta log of each
//! table shows its commits, and each commit is one exclusive step in its log:
//!
//! - A commit of rows names its sources. A run that finds one of its own sources named since it read the
//!   log starts again. So of two concurrent runs only one gets past `records`. This table gets a commit
//!   even for files without records and for aliases.
//! - An alias that such a commit names has no rows, so a later run does not see that the name is in use.
//!   It adds rows of its own, and the ingest log makes the later of both runs start again. Rows of a name
//!   that the ingest log uses for something else are removed before a run starts.
//! - If another run has committed the same bytes under another name meanwhile, their rows are there. The
//!   later of both runs starts again and plans an alias. Streams may start with equal bytes.
//! - A run that finds rows of its sources which the ingest log does not know claims them in the log of the
//!   ingest log. The runs that wrote them, if still active, then start again instead of writing to the
//!   ingest log. The rows are removed by the commits that add new ones, one per table. A run that adds
//!   more of the old rows later finds its sources named.

mod concurrent_commits;
mod row_writer;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{Int32Type, Int64Type};
use datafusion::logical_expr::Expr;
use tsql_adapters::dedupe::{ReadFiles, write_single_file};
use tsql_adapters::formats::identifying_name;
use tsql_adapters::ingest_log::{
    IngestLog, Labelling, SourceSegment, source_columns, transaction_app_id,
};
use tsql_error::Result;
use tsql_schema::column;
use tsql_store::file::DataFile;
use tsql_store::{Change, RETRACTED, RewriteCache, Snapshot, Store};

use concurrent_commits::ConcurrentCommits;

use super::options::Replacements;
use super::orphans::Orphans;
use crate::line_selection::LineSelection;

pub(super) use row_writer::RowWriter;

/// Transaction name, in the log of the ingest log, of a claim of all unknown rows of a source.
pub(crate) fn claim_app_id(source_id: i64) -> String {
    format!("claim:{source_id:016x}")
}

/// Data files by table, in commit order.
pub(crate) type TableFiles = Vec<(&'static str, Vec<DataFile>)>;

/// Identity of a file apart from its path. Of two files with equal keys, the second is an alias of the
/// first.
#[derive(Debug, PartialEq, Eq, Hash)]
struct ContentKey {
    dataset: String,
    platform: String,
    collection: Option<String>,
    split: Option<String>,
    /// Documents are identified by their file name too.
    file_name: Option<String>,
    end_byte: i64,
    content_hash: String,
}

impl ContentKey {
    /// Returns the key of a file with rows of its own.
    fn from_segment(file: &SourceSegment) -> Option<Self> {
        let has_rows = file.same_as.is_none() && file.about.sample_id.is_none();
        (has_rows && file.end_byte > 0).then(|| Self {
            dataset: file.dataset.to_owned(),
            platform: file.reading.platform.clone(),
            collection: file.about.collection.clone(),
            split: file.about.split.clone(),
            file_name: identifying_name(file.dataset, &file.reading.name).map(str::to_owned),
            end_byte: file.end_byte.cast_signed(),
            content_hash: file.content_hash.clone(),
        })
    }
}

/// Commits rows of files, and detects concurrent commits of the same files.
pub(crate) struct Committer<'a> {
    store: &'a Store,
    labelling: Labelling,
    orphans: Orphans,
    /// Commits of other runs in the log of each table, since this run read it.
    others: BTreeMap<&'static str, ConcurrentCommits>,
    /// Latest ingest log entry of each source, since this run read the log.
    entries: HashMap<i64, SourceEntry>,
    /// Sources with rows that were added since, by content.
    contents: HashMap<ContentKey, BTreeSet<i64>>,
    read: ReadFiles,
    /// Whether the source is a stream. Streams may start with the bytes of another source.
    is_stream: bool,
    /// Records that are removed when a source is added.
    replacing: Replacements,
    /// Number of removed rows.
    pub(super) replaced: u64,
}

/// Latest ingest log entry of a source.
#[derive(Debug, PartialEq)]
struct SourceEntry {
    segment: i32,
    pub end_byte: i64,
    pub content_hash: String,
    pub same_as: Option<i64>,
    sample_id: Option<i64>,
}

impl SourceEntry {
    fn from_segment(file: &SourceSegment) -> Self {
        Self {
            segment: file.reading.segment,
            end_byte: file.end_byte.cast_signed(),
            content_hash: file.content_hash.clone(),
            same_as: file.same_as,
            sample_id: file.about.sample_id,
        }
    }
}

impl<'a> Committer<'a> {
    /// Creates a committer for files that were planned with this ingest log. `orphans` must be found after
    /// the log was read.
    pub(crate) fn new(
        store: &'a Store,
        ledger: &IngestLog,
        orphans: Orphans,
        labelling: Labelling,
    ) -> Self {
        let versions = orphans.versions.iter();
        let versions = versions.chain([(&"sources", &ledger.version)]);
        Self {
            store,
            labelling,
            others: versions
                .map(|(&table, &version)| (table, ConcurrentCommits::since(version)))
                .collect(),
            orphans,
            entries: HashMap::new(),
            contents: HashMap::new(),
            read: ledger.read.clone(),
            is_stream: false,
            replacing: Replacements::default(),
            replaced: 0,
        }
    }

    /// Removes records of earlier versions in the commit that adds those of a new one.
    #[must_use]
    pub(super) fn with_replacements(self, replacing: &Replacements) -> Self {
        Self {
            replacing: Arc::clone(replacing),
            ..self
        }
    }

    /// Commits segments of streams, even if another source has the same bytes.
    #[must_use]
    pub(super) fn with_streams(self, is_stream: bool) -> Self {
        Self { is_stream, ..self }
    }

    /// Removes rows of names that the ingest log uses for something else. Returns false if another run is
    /// writing such rows.
    pub(crate) async fn remove_strays(&mut self) -> Result<bool> {
        let strays = self.orphans.strays.clone();
        if strays.is_empty() {
            return Ok(true);
        }
        let ids: BTreeSet<i64> = strays.keys().copied().collect();
        let named = strays
            .iter()
            .map(|(id, end)| (transaction_app_id(*id), *end));
        let named: Vec<_> = named.collect();
        let tables: Vec<_> = self.orphans.versions.keys().copied().collect();
        for table in tables {
            let old = self.orphans.rows_of_sources(table, &ids);
            let old = (!old.is_empty()).then(|| old.filter(table));
            let is_done = self
                .commit_rows(table, "mend", Vec::new(), &named, old)
                .await?;
            if !is_done {
                return Ok(false);
            }
        }
        self.orphans.remove_sources(&ids);
        Ok(true)
    }

    /// Adds complete files to the store: their rows, then their ingest log entries. The first table gets a
    /// commit even without rows.
    ///
    /// Returns false if another run has committed one of the files. All must be planned again.
    pub(crate) async fn commit_files(
        &mut self,
        rows: TableFiles,
        closed: &[SourceSegment],
    ) -> Result<bool> {
        let sources = closed.iter().map(|file| file.reading.source_id);
        let claimed = self.orphans.sources_with_orphans(sources);
        if !claimed.is_empty() && !self.claim_sources(closed, &claimed).await? {
            return Ok(false);
        }
        // Aliases, which have no rows, are included: another run may be about to write rows of a source of
        // that name.
        let named: BTreeMap<String, i64> = closed.iter().map(SourceSegment::transaction).collect();
        let named: Vec<_> = named.into_iter().collect();
        let detail = format!("ingest of {} files", closed.len());
        let earlier = self.earlier_records(closed);
        for (place, (table, files)) in rows.into_iter().enumerate() {
            let is_named = place == 0 || !claimed.is_empty();
            let old = self.orphans.rows_of_sources(table, &claimed);
            let old = (!old.is_empty()).then(|| old.filter(table));
            let is_kept = RETRACTED.iter().any(|(kept, _)| *kept == table);
            let earlier = earlier
                .as_ref()
                .filter(|_| is_kept)
                .map(LineSelection::to_filter);
            let is_replaced = earlier.is_some();
            let old = old.into_iter().chain(earlier).reduce(Expr::or);
            let replaced = self.replaced;
            if (is_named || is_replaced || !files.is_empty())
                && !self.commit_rows(table, &detail, files, &named, old).await?
            {
                return Ok(false);
            }
            if is_replaced {
                // These rows were not left by an interrupted run.
                self.replaced = replaced;
            }
        }
        self.orphans.remove_sources(&claimed);
        self.commit_sources(closed).await
    }

    /// Records of earlier versions of these files.
    fn earlier_records(&self, closed: &[SourceSegment]) -> Option<LineSelection> {
        let ids = closed.iter().map(|file| file.reading.source_id);
        let lines = ids.filter_map(|id| self.replacing.get(&id));
        lines.fold(None, |all: Option<LineSelection>, lines| {
            let mut all = all.unwrap_or_default();
            all.extend(lines);
            Some(all)
        })
    }

    /// Claims all rows of these sources that the ingest log does not know.
    async fn claim_sources(
        &mut self,
        closed: &[SourceSegment],
        claimed: &BTreeSet<i64>,
    ) -> Result<bool> {
        let closed: Vec<&SourceSegment> = closed
            .iter()
            .filter(|file| claimed.contains(&file.reading.source_id))
            .collect();
        let (store, mut version) = (self.store, None);
        let detail = format!("claim of rows of {} sources", claimed.len());
        store
            .commit("sources", &detail, async |snapshot: &Snapshot| {
                version = None;
                let new = self.new_files(snapshot, &closed).await?;
                if new.is_none_or(|new| new.len() < closed.len()) {
                    return Ok(None);
                }
                let next = snapshot.version() + 1;
                version = Some(next);
                let claims = claimed
                    .iter()
                    .map(|&id| (claim_app_id(id), next.cast_signed()));
                Ok(Some(Change {
                    transactions: claims.collect(),
                    ..Change::default()
                }))
            })
            .await?;
        self.skip_own_commit("sources", version);
        Ok(version.is_some())
    }

    /// Commits data files and removes old rows, unless other runs have committed rows of the named sources.
    async fn commit_rows(
        &mut self,
        table: &'static str,
        detail: &str,
        add: Vec<DataFile>,
        named: &[(String, i64)],
        old: Option<Expr>,
    ) -> Result<bool> {
        let others = self.others.entry(table).or_default();
        let (mut version, mut replaced) = (None, 0);
        let (store, mut rests) = (self.store, RewriteCache::default());
        store
            .commit(table, detail, async |snapshot: &Snapshot| {
                version = None;
                others.read_log(snapshot).await?;
                if others.contains_any(named.iter().map(|(name, _)| name)) {
                    return Ok(None);
                }
                let mut change = Change::default();
                if let Some(filter) = &old {
                    let taken = store.plan_delete(table, snapshot, filter, &mut rests);
                    (replaced, change) = taken.await?;
                }
                change.add.extend(add.iter().cloned());
                change.transactions = named.to_vec();
                version = Some(snapshot.version() + 1);
                Ok(Some(change))
            })
            .await?;
        self.skip_own_commit(table, version);
        self.replaced += replaced;
        Ok(version.is_some())
    }

    /// Marks a commit as this run's own.
    fn skip_own_commit(&mut self, table: &'static str, version: Option<u64>) {
        if let Some(version) = version {
            self.others.entry(table).or_default().skip(version);
        }
    }

    /// Adds files to the ingest log, as the last commit. Returns false if another run has claimed their
    /// rows or has written a different entry.
    async fn commit_sources(&mut self, closed: &[SourceSegment]) -> Result<bool> {
        let closed: Vec<&SourceSegment> = closed.iter().collect();
        let (store, mut version, mut is_done) = (self.store, None, false);
        let mut written: Option<(usize, Change)> = None;
        store
            .commit("sources", "ingest", async |snapshot: &Snapshot| {
                is_done = false;
                let Some(new) = self.new_files(snapshot, &closed).await? else {
                    return Ok(None);
                };
                is_done = true;
                version = None;
                if new.is_empty() {
                    return Ok(None);
                }
                version = Some(snapshot.version() + 1);
                if written
                    .as_ref()
                    .is_none_or(|(count, _)| *count != new.len())
                {
                    let rows = source_columns(&new, &self.labelling);
                    let change = write_single_file(store, "sources", rows).await?;
                    written = Some((new.len(), change));
                }
                Ok(written.as_ref().map(|(_, change)| change.clone()))
            })
            .await?;
        self.skip_own_commit("sources", version);
        Ok(is_done)
    }

    /// Files that a version of the ingest log does not have. Returns `None` if it has a different entry for
    /// one of them, or if another run has claimed its rows since.
    async fn new_files<'c>(
        &mut self,
        snapshot: &Snapshot,
        closed: &[&'c SourceSegment],
    ) -> Result<Option<Vec<&'c SourceSegment>>> {
        if let Some(new) = self.read.take_unread(snapshot) {
            self.read_entries(&new).await?;
        }
        let others = self.others.entry("sources").or_default();
        others.read_log(snapshot).await?;
        if others.contains_any(
            closed
                .iter()
                .map(|file| claim_app_id(file.reading.source_id)),
        ) {
            return Ok(None);
        }
        let mut new = Vec::new();
        for &file in closed {
            match self.entries.get(&file.reading.source_id) {
                Some(entry) if *entry == SourceEntry::from_segment(file) => {}
                Some(entry) if entry.segment >= file.reading.segment => return Ok(None),
                _ if !self.is_stream && self.has_duplicate(file) => return Ok(None),
                _ => new.push(file),
            }
        }
        Ok(Some(new))
    }

    /// Returns whether another source with the same bytes and labels was added since.
    fn has_duplicate(&self, file: &SourceSegment) -> bool {
        let sources =
            ContentKey::from_segment(file).and_then(|content| self.contents.get(&content));
        let mut others = sources.into_iter().flatten();
        others.any(|id| *id != file.reading.source_id)
    }

    /// Reads the entries in new files of the ingest log.
    async fn read_entries(&mut self, new: &Snapshot) -> Result<()> {
        let columns = [
            "source_id",
            "segment",
            "end_byte",
            "content_hash",
            "same_as",
            "sample_id",
            "dataset",
            "platform",
            "collection",
            "split",
            "name",
        ];
        for batch in self.store.read("sources", new, &columns, None).await? {
            self.add_entries(&batch)?;
        }
        Ok(())
    }

    fn add_entries(&mut self, batch: &RecordBatch) -> Result<()> {
        let number = |name| column::numbers::<Int64Type>(batch, name);
        let (ids, ends) = (number("source_id")?, number("end_byte")?);
        let (same_as, samples) = (number("same_as")?, number("sample_id")?);
        let segments = column::numbers::<Int32Type>(batch, "segment")?;
        let text = |name| column::text(batch, name);
        let label = |name, row| -> Result<Option<String>> {
            Ok(column::text_at(text(name)?, row).map(str::to_owned))
        };
        let hashes = text("content_hash")?;
        for row in 0..batch.num_rows() {
            let entry = SourceEntry {
                segment: segments.value(row),
                end_byte: ends.value(row),
                content_hash: hashes.value(row).to_owned(),
                same_as: column::value(same_as, row),
                sample_id: column::value(samples, row),
            };
            if entry.same_as.is_none() && entry.sample_id.is_none() {
                let dataset = text("dataset")?.value(row).to_owned();
                let content = ContentKey {
                    file_name: identifying_name(&dataset, text("name")?.value(row))
                        .map(str::to_owned),
                    dataset,
                    platform: text("platform")?.value(row).to_owned(),
                    collection: label("collection", row)?,
                    split: label("split", row)?,
                    end_byte: entry.end_byte,
                    content_hash: entry.content_hash.clone(),
                };
                self.contents
                    .entry(content)
                    .or_default()
                    .insert(ids.value(row));
            }
            let known = self.entries.get(&ids.value(row));
            if known.is_none_or(|known| known.segment < entry.segment) {
                self.entries.insert(ids.value(row), entry);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;

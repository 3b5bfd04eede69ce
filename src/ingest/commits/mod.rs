//! The last commits of whole files: their rows, then the ledger.
//!
//! ```text
//! claim of what others left ─▶ records ─▶ runs, lines ─▶ sources
//! (only where they did)
//! ```
//!
//! Another run may be anywhere between its own commits of the same files, for any time. Each log shows what
//! it did there, and each commit is one exclusive step in its log:
//!
//! - A commit of rows names its sources. Whoever finds one of its own named since it looked begins again.
//!   So of two runs that saw nothing of each other only one gets past `records`, which has a commit even of
//!   files without records and of other names of what is there.
//! - A name that such a commit took for what is there has no rows, and so a run that comes later does not see
//!   that it is taken. It brings rows of its own, and the ledger tells the later of both to begin again. Rows
//!   of a name that the ledger has for something else are taken out before a run begins.
//! - Bytes that another run has committed under another name meanwhile have their rows there: the later of both runs
//!   begins again, and finds its file to be another name. Streams may begin alike.
//! - Whoever finds rows of its sources that the ledger does not know claims these in the ledger's log: from
//!   then on those who wrote them, if they are still at work, begin again instead of writing into the
//!   ledger. Then the rows are taken out by the commits that add new ones, one in every table: whoever
//!   comes late with more of the old ones finds itself named.

mod others;
mod written;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{Int32Type, Int64Type};
use datafusion::logical_expr::Expr;

use super::options::Replacing;
use super::orphans::Orphans;
use crate::chosen::Lines;
use crate::column;
use crate::dedupe::{ReadFiles, one_file};
use crate::error::Result;
use crate::formats::identifying_name;
use crate::ledger::{Closed, Labelling, Ledger, application, source_columns};
use crate::store::file::DataFile;
use crate::store::{Change, RETRACTED, Rests, Snapshot, Store};
use others::Others;
pub(super) use written::Written;

/// The name, in the ledger's log, of a claim of all rows of a source that the ledger does not know.
pub(crate) fn claim(source_id: i64) -> String {
    format!("claim:{source_id:016x}")
}

/// Files of rows by table, in the order in which they are committed.
pub(crate) type Files = Vec<(&'static str, Vec<DataFile>)>;

/// The identity of a file apart from its path: of two files with the same, the second is another name of the first.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Content {
    dataset: String,
    platform: String,
    collection: Option<String>,
    split: Option<String>,
    /// A document is known by its own name, too.
    file_name: Option<String>,
    end_byte: i64,
    content_hash: String,
}

impl Content {
    /// Returns that of a file with rows of its own.
    fn from_closed(file: &Closed) -> Option<Self> {
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

/// Commits rows of files that nobody else has committed meanwhile.
pub(crate) struct Commits<'a> {
    store: &'a Store,
    labelling: Labelling,
    orphans: Orphans,
    /// What others have named in the logs of the tables since this run looked.
    others: BTreeMap<&'static str, Others>,
    /// What the ledger says of sources since this run has read it.
    entries: HashMap<i64, Entry>,
    /// The sources that have come with each content since, and have rows.
    contents: HashMap<Content, BTreeSet<i64>>,
    read: ReadFiles,
    /// Whether the source is a stream, which may begin with the bytes of another one.
    is_stream: bool,
    /// Records that leave as a source comes.
    replacing: Replacing,
    /// Rows that were taken out.
    pub(super) replaced: u64,
}

/// What the ledger says of a source last.
#[derive(Debug, PartialEq)]
struct Entry {
    segment: i32,
    end_byte: i64,
    content_hash: String,
    same_as: Option<i64>,
    sample_id: Option<i64>,
}

impl Entry {
    fn of(file: &Closed) -> Self {
        Self {
            segment: file.reading.segment,
            end_byte: file.end_byte.cast_signed(),
            content_hash: file.content_hash.clone(),
            same_as: file.same_as,
            sample_id: file.about.sample_id,
        }
    }
}

impl<'a> Commits<'a> {
    /// Commits files that were planned by this ledger; `orphans` were found after it was read.
    pub(crate) fn new(
        store: &'a Store,
        ledger: &Ledger,
        orphans: Orphans,
        labelling: Labelling,
    ) -> Self {
        let versions = orphans.versions.iter();
        let versions = versions.chain([(&"sources", &ledger.version)]);
        Self {
            store,
            labelling,
            others: versions
                .map(|(&table, &version)| (table, Others::since(version)))
                .collect(),
            orphans,
            entries: HashMap::new(),
            contents: HashMap::new(),
            read: ledger.read.clone(),
            is_stream: false,
            replacing: Replacing::default(),
            replaced: 0,
        }
    }

    /// Lets records of earlier versions leave in the commit that brings those of a new one.
    #[must_use]
    pub(super) fn replacing(self, replacing: &Replacing) -> Self {
        Self {
            replacing: Arc::clone(replacing),
            ..self
        }
    }

    /// Stores the segments of streams whatever other sources begin with.
    #[must_use]
    pub(super) fn of_streams(self, is_stream: bool) -> Self {
        Self { is_stream, ..self }
    }

    /// Takes out the rows of names that the ledger has for something else. False where another run was
    /// found to write some.
    pub(crate) async fn take_out_strays(&mut self) -> Result<bool> {
        let strays = self.orphans.strays.clone();
        if strays.is_empty() {
            return Ok(true);
        }
        let ids: BTreeSet<i64> = strays.keys().copied().collect();
        let named = strays.iter().map(|(id, end)| (application(*id), *end));
        let named: Vec<_> = named.collect();
        let tables: Vec<_> = self.orphans.versions.keys().copied().collect();
        for table in tables {
            let old = self.orphans.of(table, &ids);
            let old = (!old.is_empty()).then(|| old.filter(table));
            let is_done = self.rows(table, "mend", Vec::new(), &named, old).await?;
            if !is_done {
                return Ok(false);
            }
        }
        self.orphans.forget(&ids);
        Ok(true)
    }

    /// Makes files that were read to their end part of the store: their rows, the first table's whether
    /// there are any or not, then the ledger. False where another run was found to do so with one of them:
    /// all must be looked at again.
    pub(crate) async fn add(&mut self, rows: Files, closed: &[Closed]) -> Result<bool> {
        let sources = closed.iter().map(|file| file.reading.source_id);
        let claimed = self.orphans.among(sources);
        if !claimed.is_empty() && !self.claim(closed, &claimed).await? {
            return Ok(false);
        }
        // Also another name of what is there, which has no rows: another run may be about to write rows of
        // a source of that name.
        let named: BTreeMap<String, i64> = closed.iter().map(Closed::transaction).collect();
        let named: Vec<_> = named.into_iter().collect();
        let detail = format!("ingest of {} files", closed.len());
        let earlier = self.earlier(closed);
        for (place, (table, files)) in rows.into_iter().enumerate() {
            let is_named = place == 0 || !claimed.is_empty();
            let old = self.orphans.of(table, &claimed);
            let old = (!old.is_empty()).then(|| old.filter(table));
            let is_kept = RETRACTED.iter().any(|(kept, _)| *kept == table);
            let earlier = earlier.as_ref().filter(|_| is_kept).map(Lines::filter);
            let is_replaced = earlier.is_some();
            let old = old.into_iter().chain(earlier).reduce(Expr::or);
            let replaced = self.replaced;
            if (is_named || is_replaced || !files.is_empty())
                && !self.rows(table, &detail, files, &named, old).await?
            {
                return Ok(false);
            }
            if is_replaced {
                // These were left by no interrupted run.
                self.replaced = replaced;
            }
        }
        self.orphans.forget(&claimed);
        self.sources(closed).await
    }

    /// The records of earlier versions of these files.
    fn earlier(&self, closed: &[Closed]) -> Option<Lines> {
        let ids = closed.iter().map(|file| file.reading.source_id);
        let lines = ids.filter_map(|id| self.replacing.get(&id));
        lines.fold(None, |all: Option<Lines>, lines| {
            let mut all = all.unwrap_or_default();
            all.extend(lines);
            Some(all)
        })
    }

    /// Claims all rows of these sources that the ledger does not know.
    async fn claim(&mut self, closed: &[Closed], claimed: &BTreeSet<i64>) -> Result<bool> {
        let closed: Vec<&Closed> = closed
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
                let claims = claimed.iter().map(|&id| (claim(id), next.cast_signed()));
                Ok(Some(Change {
                    transactions: claims.collect(),
                    ..Change::default()
                }))
            })
            .await?;
        self.own("sources", version);
        Ok(version.is_some())
    }

    /// Adds files of rows in place of old ones, unless others have written rows of what is named.
    async fn rows(
        &mut self,
        table: &'static str,
        detail: &str,
        add: Vec<DataFile>,
        named: &[(String, i64)],
        old: Option<Expr>,
    ) -> Result<bool> {
        let others = self.others.entry(table).or_default();
        let (mut version, mut replaced) = (None, 0);
        let (store, mut rests) = (self.store, Rests::default());
        store
            .commit(table, detail, async |snapshot: &Snapshot| {
                version = None;
                others.learn(snapshot).await?;
                if others.have_named(named.iter().map(|(name, _)| name)) {
                    return Ok(None);
                }
                let mut change = Change::default();
                if let Some(filter) = &old {
                    let taken = store.without(table, snapshot, filter, &mut rests);
                    (replaced, change) = taken.await?;
                }
                change.add.extend(add.iter().cloned());
                change.transactions = named.to_vec();
                version = Some(snapshot.version() + 1);
                Ok(Some(change))
            })
            .await?;
        self.own(table, version);
        self.replaced += replaced;
        Ok(version.is_some())
    }

    /// A commit was this run's, if it was made.
    fn own(&mut self, table: &'static str, version: Option<u64>) {
        if let Some(version) = version {
            self.others.entry(table).or_default().skip(version);
        }
    }

    /// Adds files to the ledger, the last of all commits; false where someone has claimed their rows, or
    /// has written something else of them.
    async fn sources(&mut self, closed: &[Closed]) -> Result<bool> {
        let closed: Vec<&Closed> = closed.iter().collect();
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
                    let change = one_file(store, "sources", rows).await?;
                    written = Some((new.len(), change));
                }
                Ok(written.as_ref().map(|(_, change)| change.clone()))
            })
            .await?;
        self.own("sources", version);
        Ok(is_done)
    }

    /// The files that a version of the ledger does not have; `None` where it says something else of one of
    /// them than was read, or someone has claimed its rows since.
    async fn new_files<'c>(
        &mut self,
        snapshot: &Snapshot,
        closed: &[&'c Closed],
    ) -> Result<Option<Vec<&'c Closed>>> {
        if let Some(new) = self.read.new_at(snapshot) {
            self.learn(&new).await?;
        }
        let others = self.others.entry("sources").or_default();
        others.learn(snapshot).await?;
        if others.have_named(closed.iter().map(|file| claim(file.reading.source_id))) {
            return Ok(None);
        }
        let mut new = Vec::new();
        for &file in closed {
            match self.entries.get(&file.reading.source_id) {
                Some(entry) if *entry == Entry::of(file) => {}
                Some(entry) if entry.segment >= file.reading.segment => return Ok(None),
                _ if !self.is_stream && self.is_elsewhere(file) => return Ok(None),
                _ => new.push(file),
            }
        }
        Ok(Some(new))
    }

    /// Whether another source has come with the same bytes and labels since.
    fn is_elsewhere(&self, file: &Closed) -> bool {
        let sources = Content::from_closed(file).and_then(|content| self.contents.get(&content));
        let mut others = sources.into_iter().flatten();
        others.any(|id| *id != file.reading.source_id)
    }

    /// Learns what files of the ledger say of their sources.
    async fn learn(&mut self, new: &Snapshot) -> Result<()> {
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
            self.learn_batch(&batch)?;
        }
        Ok(())
    }

    fn learn_batch(&mut self, batch: &RecordBatch) -> Result<()> {
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
            let entry = Entry {
                segment: segments.value(row),
                end_byte: ends.value(row),
                content_hash: hashes.value(row).to_owned(),
                same_as: column::value(same_as, row),
                sample_id: column::value(samples, row),
            };
            if entry.same_as.is_none() && entry.sample_id.is_none() {
                let dataset = text("dataset")?.value(row).to_owned();
                let content = Content {
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

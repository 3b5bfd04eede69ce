//! The ingest log: the files of a store, and how to handle a file that is given again.

mod labels;
mod plan;
mod prefixes;
mod source;
mod source_segment;

use std::collections::{BTreeMap, HashMap, HashSet};

use arrow::array::{Array, RecordBatch};
use arrow::datatypes::{Int32Type, Int64Type};
use tsql_codecs::identity::source_id;
use tsql_error::Result;
use tsql_formats::graphnet::sample::METADATA;
use tsql_formats::naming::numbered_name;
use tsql_schema::column;
use tsql_store::{Snapshot, Store};

use crate::dedupe::ReadFiles;

pub use labels::{Labelling, Labels, parse as parse_label};
pub use prefixes::PIECE_BYTES;
pub use source::{Alias, EarlierVersions, FilePlan, ReadPlan, Source};
pub use source_segment::{DocumentAttributes, SourceSegment, source_columns, transaction_app_id};

/// All files of a store.
#[derive(Clone, Debug, Default)]
pub struct IngestLog {
    /// Version of the table, and the data files that were read.
    pub version: u64,
    /// Files that were read before.
    pub read: ReadFiles,
    sources: BTreeMap<i64, Source>,
    by_name: HashMap<String, i64>,
    /// Sources by platform and size.
    by_size: HashMap<String, HashMap<u64, Vec<i64>>>,
    /// Identifiers and directories of samples.
    samples: HashSet<i64>,
    sample_paths: HashSet<String>,
    /// Number of records, and of other lines, of each source.
    pub records_of: HashMap<i64, u64>,
    /// Number of other lines by source.
    pub others_of: HashMap<i64, u64>,
    /// Total number of records and of other lines.
    pub record_count: u64,
    /// Number of other lines of all sources.
    pub other_count: u64,
    /// Planned files with earlier versions that were not yet taken.
    versions: Vec<EarlierVersions>,
}

impl IngestLog {
    /// Loads the ingest log of a store.
    pub async fn load(store: &Store) -> Result<Self> {
        match store.snapshot("sources").await? {
            Some(snapshot) => Self::load_version(store, &snapshot).await,
            None => Ok(Self::default()),
        }
    }

    /// Loads the ingest log and makes it durable, so that a run may acknowledge its contents.
    pub async fn load_durable(store: &Store) -> Result<Self> {
        let ledger = Self::load(store).await?;
        store.make_durable("sources", ledger.version).await?;
        Ok(ledger)
    }

    /// Loads the ingest log at a version of its table.
    pub async fn load_version(store: &Store, snapshot: &Snapshot) -> Result<Self> {
        let mut ledger = Self {
            version: snapshot.version(),
            ..Self::default()
        };
        if let Some(files) = ledger.read.take_unread(snapshot) {
            ledger.read_files(store, &files).await?;
        }
        Ok(ledger)
    }

    async fn read_files(&mut self, store: &Store, snapshot: &Snapshot) -> Result<()> {
        let columns = [
            "source_id",
            "segment",
            "platform",
            "first_platform",
            "name",
            "path",
            "end_byte",
            "first_line",
            "line_count",
            "open_line",
            "content_hash",
            "line_ending",
            "same_as",
            "record_count",
            "other_count",
            "collection",
            "split",
            "sample_id",
            "arrays",
            "arrays_hash",
        ];
        for batch in store.read("sources", snapshot, &columns, None).await? {
            self.add_batch(&batch)?;
        }
        for source in std::mem::take(&mut self.sources).into_values() {
            self.add(source);
        }
        Ok(())
    }

    /// Adds a source that this run has read but not committed yet.
    pub fn add(&mut self, source: Source) {
        let sizes = self.by_size.entry(source.platform.clone()).or_default();
        let same_size = sizes.entry(source.end_byte).or_default();
        same_size.push(source.source_id);
        self.by_name.insert(source.name.clone(), source.source_id);
        self.sources.insert(source.source_id, source);
    }

    fn add_batch(&mut self, batch: &RecordBatch) -> Result<()> {
        let integers = |name| column::numbers::<Int64Type>(batch, name);
        let segments = column::numbers::<Int32Type>(batch, "segment")?;
        let texts = |name| column::text(batch, name);
        let (ids, ends) = (integers("source_id")?, integers("end_byte")?);
        let (lines, counts) = (integers("first_line")?, integers("line_count")?);
        let (records, others) = (integers("record_count")?, integers("other_count")?);
        let (same_as, platforms, names) =
            (integers("same_as")?, texts("platform")?, texts("name")?);
        let (open, hashes, endings) = (
            texts("open_line")?,
            texts("content_hash")?,
            texts("line_ending")?,
        );
        let (collections, splits) = (texts("collection")?, texts("split")?);
        let paths = texts("path")?;
        let samples = integers("sample_id")?;
        let first_platforms = texts("first_platform")?;
        let (arrays, arrays_hashes) = (texts("arrays")?, texts("arrays_hash")?);
        for row in 0..batch.num_rows() {
            self.record_count += records.value(row).unsigned_abs();
            *self.records_of.entry(ids.value(row)).or_default() +=
                records.value(row).unsigned_abs();
            *self.others_of.entry(ids.value(row)).or_default() += others.value(row).unsigned_abs();
            self.other_count += others.value(row).unsigned_abs();
            let source = Source {
                source_id: ids.value(row),
                platform: platforms.value(row).to_owned(),
                first_platform: column::text_at(first_platforms, row).map(str::to_owned),
                name: names.value(row).to_owned(),
                path: paths.value(row).to_owned(),
                segments: segments.value(row) + 1,
                end_byte: ends.value(row).unsigned_abs(),
                last_line: (lines.value(row) + counts.value(row) - 1).unsigned_abs(),
                open_line: column::text_at(open, row).map(str::to_owned),
                content_hash: hashes.value(row).to_owned(),
                crlf: column::text_at(endings, row).map(|ending| ending == "crlf"),
                same_as: same_as.is_valid(row).then(|| same_as.value(row)),
                collection: column::text_at(collections, row).map(str::to_owned),
                split: column::text_at(splits, row).map(str::to_owned),
                sample_id: column::value(samples, row),
                arrays: column::text_at(arrays, row).and_then(|arrays| {
                    let hash = column::text_at(arrays_hashes, row)?;
                    Some((arrays.to_owned(), hash.to_owned()))
                }),
            };
            if let Some(id) = source.sample_id
                && let Some(path) = source.name.strip_suffix(METADATA)
            {
                self.add_sample(path.trim_end_matches('/'), id);
            }
            let known = self.sources.get(&source.source_id);
            if known.is_none_or(|known| known.segments < source.segments) {
                self.sources.insert(source.source_id, source);
            }
        }
        Ok(())
    }

    /// Takes the files planned since the last call that have earlier versions.
    pub fn take_versions(&mut self) -> Vec<EarlierVersions> {
        std::mem::take(&mut self.versions)
    }

    /// Sources with this size on a platform that have rows of their own.
    pub fn sources_of_size(&self, platform: &str, size: u64) -> impl Iterator<Item = &Source> {
        let sizes = self.by_size.get(platform);
        let ids = sizes.and_then(|sizes| sizes.get(&size));
        let sources = ids.into_iter().flatten();
        sources
            .filter_map(|id| self.sources.get(id))
            .filter(|source| source.same_as.is_none())
    }

    /// Adds a sample.
    pub(crate) fn add_sample(&mut self, path: &str, sample_id: i64) {
        self.samples.insert(sample_id);
        self.sample_paths.insert(path.to_owned());
    }

    /// Identifiers of sources that `count` files of this name on a platform may create or extend.
    pub fn candidates(
        &self,
        dataset: &str,
        platform: &str,
        name: &str,
        count: usize,
    ) -> impl Iterator<Item = i64> {
        let known = self.sources_named(name);
        let last = known.len() + count;
        let known: Vec<i64> = known.iter().map(|source| source.source_id).collect();
        let new =
            (1..=last).map(move |copy| source_id(dataset, platform, &numbered_name(name, copy)));
        known.into_iter().chain(new)
    }

    /// Arrays of the files with this name, in any container.
    pub(crate) fn arrays_of(&self, platform: &str, name: &str) -> Vec<(String, String)> {
        let same_name = self.sources_named(name).into_iter();
        let same_name = same_name.filter(|source| source.is_on(platform));
        same_name
            .filter_map(|source| source.arrays.clone())
            .collect()
    }

    /// First line, or first segment for `lines`, of a source that the ingest log does not know.
    pub fn first_unknown(&self, table: &str, source_id: i64) -> i64 {
        match self
            .source_by_id(source_id)
            .filter(|source| source.same_as.is_none())
        {
            None => 0,
            Some(source) if table == "lines" => source.segments.into(),
            Some(source) => {
                let open = source.open_line.as_deref() == Some("other");
                source.last_line.cast_signed() + i64::from(!open)
            }
        }
    }

    /// Platforms of the files that were given under this name.
    pub fn platforms_of(&self, name: &str) -> impl Iterator<Item = String> {
        let platforms = self.sources_named(name).into_iter().flat_map(|source| {
            let first = source.first_platform.clone();
            std::iter::once(source.platform.clone()).chain(first)
        });
        platforms.collect::<Vec<_>>().into_iter()
    }

    /// Source with this identifier.
    pub fn source_by_id(&self, source_id: i64) -> Option<&Source> {
        self.sources.get(&source_id)
    }

    /// Source with exactly this name.
    pub fn source_by_name(&self, name: &str) -> Option<&Source> {
        self.sources.get(self.by_name.get(name)?)
    }

    /// Files that were given under this name, in ingest order.
    pub fn sources_named(&self, name: &str) -> Vec<&Source> {
        (1..)
            .map_while(|copy| self.by_name.get(&numbered_name(name, copy)))
            .filter_map(|id| self.sources.get(id))
            .collect()
    }
}

//! The ledger: which files the store has, and what a file that is given again means.

use std::collections::{BTreeMap, HashMap, HashSet};

use arrow::array::{Array, RecordBatch};
use arrow::datatypes::{Int32Type, Int64Type};
use tsql_codecs::identity::{sample_id, source_id};
use tsql_formats::graphnet::sample::METADATA;
use tsql_formats::naming::numbered;
use tsql_formats::{Compression, Input};

use super::prefixes::Prefixes;
use crate::column;
use crate::dedupe::ReadFiles;
use crate::error::{Error, Result};
use crate::store::{Snapshot, Store};

/// What the ledger says of one file, over all its segments.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) source_id: i64,
    pub(crate) platform: String,
    pub(crate) name: String,
    /// The next segment's number.
    pub(crate) segments: i32,
    pub(crate) end_byte: u64,
    /// Number of its last line.
    pub(crate) last_line: u64,
    /// `record` or `other` where the last line has no line ending.
    pub(crate) open_line: Option<String>,
    pub(crate) content_hash: String,
    /// `None` for a file without lines.
    pub(crate) crlf: Option<bool>,
    /// Its records stand under this source.
    pub(crate) same_as: Option<i64>,
    pub(crate) collection: Option<String>,
    pub(crate) split: Option<String>,
    /// GraphNet: the sample that it belongs to.
    pub(crate) sample_id: Option<i64>,
    /// TpuGraphs: its arrays and the hash of their numbers.
    pub(crate) arrays: Option<(String, String)>,
}

/// In place of a number of segments: the source is read by this run and not committed yet.
pub(crate) const UNCOMMITTED: i32 = i32::MAX;

/// All files that the store has.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    /// The version of its table, and the files that were read.
    pub(crate) version: u64,
    pub(crate) read: ReadFiles,
    sources: BTreeMap<i64, Source>,
    by_name: HashMap<String, i64>,
    /// Platform -> size -> sources.
    by_size: HashMap<String, HashMap<u64, Vec<i64>>>,
    /// Identifiers and directories of samples.
    samples: HashSet<i64>,
    sample_paths: HashSet<String>,
    /// Records, and other lines, of each source.
    pub(crate) records_of: HashMap<i64, u64>,
    pub(crate) others_of: HashMap<i64, u64>,
    /// Records and other lines that all its rows stand for.
    pub(crate) record_count: u64,
    pub(crate) other_count: u64,
}

/// What is to be done with a file.
#[derive(Clone, Debug)]
pub(crate) enum Plan {
    /// The store has all of it.
    Unchanged,
    /// The store has the very same bytes under another name: only the name is new.
    Alias(Box<Alias>),
    /// Read it, from somewhere on.
    Read(Reading),
}

/// Another name of what the store has.
#[derive(Clone, Debug)]
pub(crate) struct Alias {
    pub(crate) name: String,
    /// See [`Reading::given`].
    pub(crate) given: Option<String>,
    pub(crate) segment: i32,
    pub(crate) compression: Option<Compression>,
    pub(crate) same_as: Source,
}

/// A file that is read, from its start or from where the store's knowledge of it ends.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    pub(crate) source_id: i64,
    pub(crate) platform: String,
    pub(crate) name: String,
    /// The name that it was given under, where the store has another file of that name.
    pub(crate) given: Option<String>,
    pub(crate) segment: i32,
    pub(crate) first_byte: u64,
    pub(crate) first_line: u64,
    /// The line ending of the file, where it is known from an earlier segment.
    pub(crate) crlf: Option<bool>,
}

impl Ledger {
    /// Reads the ledger of a store.
    pub(crate) async fn load(store: &Store) -> Result<Self> {
        match store.snapshot("sources").await? {
            Some(snapshot) => Self::at(store, &snapshot).await,
            None => Ok(Self::default()),
        }
    }

    /// The ledger that a run goes by: what it says may be acknowledged.
    pub(crate) async fn settled(store: &Store) -> Result<Self> {
        let ledger = Self::load(store).await?;
        store.settle("sources", ledger.version).await?;
        Ok(ledger)
    }

    /// The ledger at a version of its table.
    pub(crate) async fn at(store: &Store, snapshot: &Snapshot) -> Result<Self> {
        let mut ledger = Self {
            version: snapshot.version(),
            ..Self::default()
        };
        if let Some(files) = ledger.read.new_at(snapshot) {
            ledger.read(store, &files).await?;
        }
        Ok(ledger)
    }

    async fn read(&mut self, store: &Store, snapshot: &Snapshot) -> Result<()> {
        let columns = [
            "source_id",
            "segment",
            "platform",
            "name",
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
            self.learn(&batch)?;
        }
        for source in std::mem::take(&mut self.sources).into_values() {
            self.add(source);
        }
        Ok(())
    }

    /// Adds a source that this run has read and not committed yet.
    pub(crate) fn add(&mut self, source: Source) {
        let sizes = self.by_size.entry(source.platform.clone()).or_default();
        let same_size = sizes.entry(source.end_byte).or_default();
        same_size.push(source.source_id);
        self.by_name.insert(source.name.clone(), source.source_id);
        self.sources.insert(source.source_id, source);
    }

    fn learn(&mut self, batch: &RecordBatch) -> Result<()> {
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
        let samples = integers("sample_id")?;
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
                name: names.value(row).to_owned(),
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

    /// What is to be done with `input` on `platform`. Reads the file only where the store has one
    /// of its name, or one of its size; how many bytes are in a compressed one shows only then.
    pub(crate) fn plan(&self, dataset: &str, platform: &str, input: &Input) -> Result<Plan> {
        let same_name = self.of_name(&input.name);
        let size = std::fs::metadata(&input.file)
            .map_err(Error::io(&input.file))?
            .len();
        let (_, compression) = tsql_formats::open(&input.file)?;
        let known = self.by_size.get(platform);
        let alike = known.is_some_and(|sizes| compression.is_some() || sizes.contains_key(&size));
        let copy = same_name.len() + 1;
        let name = numbered(&input.name, copy);
        let given = (copy > 1).then(|| input.name.clone());
        if !same_name.is_empty() || (size > 0 && alike) {
            let offsets = same_name.iter().map(|source| source.end_byte).collect();
            let prefixes = Prefixes::read(&input.file, offsets)?;
            let mut begun: Vec<&Source> = same_name
                .iter()
                .filter(|source| source.platform == platform)
                .filter(|source| prefixes.hash_at(source.end_byte) == Some(&source.content_hash))
                .copied()
                .collect();
            begun.sort_by_key(|source| source.end_byte);
            if let Some(longest) = begun.last() {
                if longest.end_byte == prefixes.size {
                    return Ok(Plan::Unchanged);
                }
                if longest.segments != UNCOMMITTED && longest.same_as.is_none() {
                    return Ok(grown(longest, &prefixes));
                }
            }
            let mut twins = self.of_size(platform, prefixes.size);
            let twin = twins.find(|twin| twin.content_hash == prefixes.whole);
            if let Some(twin) = twin.filter(|_| prefixes.size > 0) {
                let begun = begun
                    .last()
                    .filter(|begun| begun.same_as == Some(twin.source_id));
                return Ok(Plan::Alias(Box::new(Alias {
                    given: given.filter(|_| begun.is_none()),
                    name: begun.map_or(name, |begun| begun.name.clone()),
                    segment: begun.map_or(0, |begun| begun.segments),
                    compression,
                    same_as: twin.clone(),
                })));
            }
        }
        let reading = Reading::of_file(dataset, platform, name);
        Ok(Plan::Read(Reading { given, ..reading }))
    }

    /// The sources of this size on a platform that have rows of their own.
    fn of_size(&self, platform: &str, size: u64) -> impl Iterator<Item = &Source> {
        let sizes = self.by_size.get(platform);
        let ids = sizes.and_then(|sizes| sizes.get(&size));
        let sources = ids.into_iter().flatten();
        sources
            .filter_map(|id| self.sources.get(id))
            .filter(|source| source.same_as.is_none())
    }

    /// What is to be done with a file that is read as a whole or not at all: `named`, with these
    /// bytes and this hash. It stands for another only where `alike` says that this one says the
    /// same of its records.
    pub(crate) fn plan_document(
        &self,
        dataset: &str,
        platform: &str,
        named: &str,
        bytes: u64,
        content_hash: &str,
        alike: impl Fn(&Source) -> bool,
    ) -> Plan {
        let same_name = self.of_name(named);
        let same =
            |source: &&Source| source.platform == platform && source.content_hash == content_hash;
        if same_name.iter().copied().any(|source| same(&source)) {
            return Plan::Unchanged;
        }
        let copy = same_name.len() + 1;
        let name = numbered(named, copy);
        let given = (copy > 1).then(|| named.to_owned());
        let mut twins = self.of_size(platform, bytes).filter(same);
        match twins.find(|twin| alike(twin)) {
            Some(twin) => Plan::Alias(Box::new(Alias {
                name,
                given,
                segment: 0,
                compression: None,
                same_as: twin.clone(),
            })),
            None => Plan::Read(Reading {
                given,
                ..Reading::of_file(dataset, platform, name)
            }),
        }
    }

    /// The directory that a sample gets in the store: its own, or a numbered one where that has
    /// other files; `None` where the store has it.
    pub(crate) fn plan_sample(&self, folder: &str, files_hash: &str) -> Option<String> {
        let copies = (1..).map(|copy| match copy {
            1 => folder.to_owned(),
            copy => format!("{folder}~{copy}"),
        });
        for path in copies {
            if self.samples.contains(&sample_id(&path, files_hash)) {
                return None;
            }
            if !self.sample_paths.contains(&path) {
                return Some(path);
            }
        }
        None
    }

    /// Adds a sample.
    pub(crate) fn add_sample(&mut self, path: &str, sample_id: i64) {
        self.samples.insert(sample_id);
        self.sample_paths.insert(path.to_owned());
    }

    /// The sources that files of these names on a platform may become or go on with, where `count` of
    /// each are given.
    pub(crate) fn candidates(
        &self,
        dataset: &str,
        platform: &str,
        name: &str,
        count: usize,
    ) -> impl Iterator<Item = i64> {
        let last = self.of_name(name).len() + count;
        (1..=last).map(move |copy| source_id(dataset, platform, &numbered(name, copy)))
    }

    /// Has one of the files of this name these arrays, if in another container?
    pub(crate) fn has_arrays(&self, platform: &str, name: &str, arrays: (&str, &str)) -> bool {
        let mut same_name = self.of_name(name).into_iter();
        same_name.any(|source| {
            let known = source.arrays.as_ref();
            let known = known.map(|(forms, hash)| (forms.as_str(), hash.as_str()));
            source.platform == platform && known == Some(arrays)
        })
    }

    /// The line, or the segment of `lines`, from which on the ledger knows no rows of a source.
    pub(crate) fn first_unknown(&self, table: &str, source_id: i64) -> i64 {
        match self
            .source(source_id)
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

    /// The source of this number.
    pub(crate) fn source(&self, source_id: i64) -> Option<&Source> {
        self.sources.get(&source_id)
    }

    /// The source of exactly this name.
    pub(crate) fn named(&self, name: &str) -> Option<&Source> {
        self.sources.get(self.by_name.get(name)?)
    }

    /// The files that were given under this name, the first one first.
    fn of_name(&self, name: &str) -> Vec<&Source> {
        (1..)
            .map_while(|copy| self.by_name.get(&numbered(name, copy)))
            .filter_map(|id| self.sources.get(id))
            .collect()
    }
}

impl Reading {
    /// All of a new file.
    pub(crate) fn of_file(dataset: &str, platform: &str, name: String) -> Self {
        Self {
            source_id: source_id(dataset, platform, &name),
            platform: platform.to_owned(),
            name,
            given: None,
            segment: 0,
            first_byte: 0,
            first_line: 1,
            crlf: None,
        }
    }
}

/// What to do with a file that begins with all that the store has of it.
fn grown(source: &Source, prefixes: &Prefixes) -> Plan {
    let (first_byte, first_line) = match source.open_line.as_deref() {
        Some("other") => (prefixes.line_start(source.end_byte), source.last_line),
        Some(_) => (source.end_byte, source.last_line),
        None => (source.end_byte, source.last_line + 1),
    };
    Plan::Read(Reading {
        source_id: source.source_id,
        platform: source.platform.clone(),
        name: source.name.clone(),
        given: None,
        segment: source.segments,
        first_byte,
        first_line,
        crlf: source.crlf.filter(|_| source.end_byte > 0),
    })
}

//! The store's content given back: source files byte for byte, selections as log lines.

mod hub;
mod kept;
mod lines;
pub(crate) use lines::environments;
mod listed;
mod logs;
mod names;
mod npz;
mod portions;
mod source;
mod target;

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use arrow::array::RecordBatch;
use arrow::datatypes::Int64Type;
use datafusion::prelude::SessionContext;
use futures::StreamExt as _;

use crate::column;
use crate::error::{Error, Result};
use crate::query::collect;
use crate::store::Store;

use tsql_codecs::identity::ContentHasher;

use crate::loading::Loader;
use kept::Kept;
use lines::Lines;
use names::Names;
use npz::{Arrays, Nowhere, Npz};
use portions::{Records, portions};
use source::{Segment, SourceFile};
use target::{Kept as Outcome, Target};

/// What to give back, and how.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ExportOptions {
    /// Only sources whose name matches this pattern (`*` and `?`).
    pub source: Option<String>,
    /// Only sources of the samples of GraphNet that this SQL over `samples` selects.
    pub samples: Option<String>,
    /// Replace files that are there already.
    pub overwrite: bool,
}

/// What an export wrote.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Exported {
    /// Sources that were asked for.
    pub wanted: u64,
    /// Files that are there now, as they are to be.
    pub files: u64,
    /// Those of them that were there before, and were not touched.
    pub untouched: u64,
    /// Bytes of all files, after decompression.
    pub bytes: u64,
    /// Files that were compressed when they were ingested: they have the same bytes inside, in another
    /// container.
    pub recompressed: u64,
    /// Files that could not have their own name: name and path.
    pub renamed: Vec<(String, String)>,
    /// Files that are not what was ingested: name and reason. Never empty without damage.
    pub damaged: Vec<(String, String)>,
    /// Files that could not be written, or would have replaced another: name and reason.
    pub refused: Vec<(String, String)>,
}

impl Exported {
    /// All that was asked for is there.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.damaged.is_empty() && self.refused.is_empty()
    }
}

impl Store {
    /// Writes the sources that `options` select below `folder`, each under its name, and proves each
    /// against the hash that was taken at ingest. What was compressed is compressed again, in the same
    /// format. Beside them a list (`tsql-export.json`) says what they are, for the next ingest.
    ///
    /// # Errors
    /// [`Error::Io`] where the folder cannot be made, [`Error::Query`] for a predicate that is no SQL. What
    /// goes wrong with one file is no error: see [`Exported`].
    pub async fn export(&self, folder: &Path, options: &ExportOptions) -> Result<Exported> {
        let pattern = options
            .source
            .as_deref()
            .map(glob::Pattern::new)
            .transpose();
        let pattern = pattern.map_err(|error| Error::Usage(format!("--source: {error}")))?;
        let context = self.session().await?;
        let samples = match &options.samples {
            Some(predicate) => Some(samples_where(&context, predicate).await?),
            None => None,
        };
        let sources = source::all(&context).await?;
        let names = Names::of(&sources);
        let wanted = sources.iter().filter(|source| {
            let named = pattern
                .as_ref()
                .is_none_or(|pattern| pattern.matches(&source.name));
            let sampled = samples
                .as_ref()
                .is_none_or(|samples| source.sample_id.is_some_and(|id| samples.contains(&id)));
            named && sampled
        });
        let wanted: Vec<&SourceFile> = wanted.collect();
        let mut exported = Exported::default();
        if wanted.is_empty() {
            return Ok(exported);
        }
        fs::create_dir_all(folder).map_err(Error::io(folder))?;
        let mut written = Vec::with_capacity(wanted.len());
        let open = |source: &SourceFile| {
            let path = folder.join(names.path(source));
            Target::open(path, source.compression, options.overwrite)
        };
        give_back(&context, &wanted, open, &mut exported, |source| {
            written.push(listed::entry(source, &names.path(source)));
        })
        .await?;
        for source in wanted {
            let path = listed::entry(source, &names.path(source)).path;
            if path != source.name {
                exported.renamed.push((source.name.clone(), path));
            }
        }
        if let Err(error) = listed::write(folder, written, options.overwrite) {
            let name = tsql_formats::exported::SIDECAR.to_owned();
            exported.refused.push((name, error.to_string()));
        }
        Ok(exported)
    }

    /// Rebuilds every source without writing it: does each have the bytes that were ingested? `tell` hears
    /// how many are done, and of how many.
    pub(crate) async fn rebuild_all(
        &self,
        context: &SessionContext,
        tell: impl Fn(u64, u64),
    ) -> Result<Exported> {
        let sources = source::all(context).await?;
        let wanted: Vec<&SourceFile> = sources.iter().collect();
        let mut exported = Exported::default();
        let nowhere = |_: &SourceFile| Ok(Target::nowhere());
        let mut done = 0;
        give_back(context, &wanted, nowhere, &mut exported, |_| {
            done += 1;
            tell(done, wanted.len() as u64);
        })
        .await?;
        Ok(exported)
    }

    /// Writes the records that `predicate` (SQL over `records`) selects as auto_scheduler lines
    /// that TVM loads, in the order of their sources and lines; returns their number.
    ///
    /// # Errors
    /// [`Error::Query`] for a predicate that is no SQL.
    pub async fn export_lines(&self, predicate: &str, out: &mut (dyn Write + Send)) -> Result<u64> {
        let context = self.session().await?;
        let mut lines = Lines::load(&context).await?;
        let mut rows = lines::selected(&context, predicate).await?;
        let mut count = 0;
        let mut line = Vec::new();
        let failed = |error: io::Error| Error::Io {
            path: PathBuf::from("standard output"),
            source: error,
        };
        while let Some(batch) = rows.next().await {
            let batch: RecordBatch = batch.map_err(Error::Query)?;
            for row in lines::rows(&batch)? {
                line.clear();
                lines.write(&row, false, &mut line)?;
                while line.last() == Some(&b'\r') {
                    line.pop();
                }
                line.push(b'\n');
                out.write_all(&line).map_err(failed)?;
                count += 1;
            }
        }
        out.flush().map_err(failed)?;
        Ok(count)
    }
}

/// Writes the sources that are `wanted`; `done` is told of each that is there then. What is wrong with
/// one of them does not end the others.
async fn give_back(
    context: &SessionContext,
    wanted: &[&SourceFile],
    open: impl Fn(&SourceFile) -> Result<Target>,
    exported: &mut Exported,
    mut done: impl FnMut(&SourceFile),
) -> Result<()> {
    exported.wanted = wanted.len() as u64;
    let logs = wanted.iter().any(|source| source.is_log());
    let mut lines = if logs {
        Lines::load(context).await?
    } else {
        Lines::default()
    };
    let mut loader = Loader::of(context);
    for portion in portions(context, wanted).await? {
        let others = source::others(context, &portion.ids()).await?;
        let kept = Kept::load(context, portion.sources()).await?;
        let mut records = Records::new(context, &portion);
        for copies in &portion.copies {
            let Some(first) = copies.first() else {
                continue;
            };
            let targets = copies.iter().map(|source| open(source));
            if first.document.is_some() {
                for (source, target) in copies.iter().zip(targets) {
                    let given = match target {
                        Ok(target) => give_arrays(&mut loader, source, target).await,
                        Err(error) => Err(error),
                    };
                    if exported.add(source, given)? {
                        done(source);
                    }
                }
                continue;
            }
            let mut out = Counted::new(targets.collect());
            let written = if first.is_log() {
                let others = others.get(&first.rows_of).map_or(&[][..], Vec::as_slice);
                source::write(first, &mut records, others, &mut lines, &mut out).await
            } else {
                kept.write(first, &mut out)
            };
            if let Err(error) = written {
                exported.not_rebuilt(copies, error)?;
                continue;
            }
            for (source, given) in copies.iter().zip(out.finish(copies)) {
                if exported.add(source, given)? {
                    done(source);
                }
            }
        }
    }
    exported.damaged.sort();
    exported.refused.sort();
    Ok(())
}

/// What came of a source.
struct Given {
    bytes: u64,
    /// Why it is not what was ingested.
    damage: Option<String>,
    outcome: Outcome,
}

impl Exported {
    /// Notes what came of a source; is it there?
    fn add(&mut self, source: &SourceFile, given: Result<Given>) -> Result<bool> {
        let tell = |reason| (source.name.clone(), reason);
        let given = match given {
            Ok(given) => given,
            Err(error @ Error::Io { .. }) => {
                self.refused.push(tell(error.to_string()));
                return Ok(false);
            }
            Err(error @ Error::Damaged { .. }) => {
                self.damaged.push(tell(error.to_string()));
                return Ok(false);
            }
            Err(error) => return Err(error),
        };
        self.damaged.extend(given.damage.map(tell));
        match given.outcome {
            Outcome::Refused(reason) => {
                self.refused.push(tell(reason));
                return Ok(false);
            }
            Outcome::AsItWas => self.untouched += 1,
            Outcome::Written => self.recompressed += u64::from(source.compression.is_some()),
        }
        self.files += 1;
        self.bytes += given.bytes;
        Ok(true)
    }

    /// Notes that a source, and so its copies, cannot be rebuilt.
    fn not_rebuilt(&mut self, copies: &[&SourceFile], error: Error) -> Result<()> {
        let Error::Damaged { .. } = error else {
            return Err(error);
        };
        let told = |source: &&SourceFile| (source.name.clone(), error.to_string());
        self.damaged.extend(copies.iter().map(told));
        Ok(())
    }
}

/// The samples of GraphNet that `predicate` (SQL over `samples`) selects, with the variants of
/// each.
pub(super) async fn samples_where(
    context: &SessionContext,
    predicate: &str,
) -> Result<HashSet<i64>> {
    let sql = format!(
        "WITH chosen AS (SELECT sample_id, path FROM samples WHERE {predicate}) \
         SELECT sample_id FROM chosen UNION \
         SELECT sample_id FROM samples WHERE variant_of IN (SELECT path FROM chosen)"
    );
    let mut ids = HashSet::new();
    for batch in collect(context, &sql).await? {
        let found = column::numbers::<Int64Type>(&batch, "sample_id")?;
        ids.extend(found.values());
    }
    Ok(ids)
}

/// Writes the arrays of a source.
async fn give_arrays(
    loader: &mut Loader,
    source: &SourceFile,
    mut target: Target,
) -> Result<Given> {
    let arrays = Arrays::load(loader, source).await?;
    let hash = match target.take_plain() {
        None => arrays.write(&mut Nowhere)?,
        Some(file) => {
            let mut npz = Npz::new(file, target.path());
            let hash = arrays.write(&mut npz)?;
            let file = npz.finish()?;
            target.put_plain(file);
            hash
        }
    };
    let wanted = source
        .document
        .as_ref()
        .map(|document| &document.arrays_hash);
    Ok(Given {
        bytes: source.end_byte(),
        damage: (Some(&hash) != wanted)
            .then(|| format!("rebuilt arrays with hash {hash}, ingested were others")),
        outcome: target.keep(&[&source.content_hash])?,
    })
}

/// Counts and hashes what is written to each of some files; one that fails does not end the others.
struct Counted {
    targets: Vec<Result<Target>>,
    hasher: ContentHasher,
    bytes: u64,
}

impl Counted {
    fn new(targets: Vec<Result<Target>>) -> Self {
        Self {
            targets,
            hasher: ContentHasher::new(),
            bytes: 0,
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
        self.bytes += bytes.len() as u64;
        for slot in &mut self.targets {
            if let Ok(target) = slot
                && let Err(error) = target.write(bytes)
            {
                *slot = Err(error);
            }
        }
    }

    /// Gives the files their names; what came of each of the sources that they are.
    fn finish(self, sources: &[&SourceFile]) -> Vec<Result<Given>> {
        let (bytes, hash) = (self.bytes, self.hasher.hex());
        let given = |(target, source): (Result<Target>, &&SourceFile)| {
            let damage = (hash != source.content_hash).then(|| {
                format!(
                    "rebuilt {bytes} bytes with hash {hash}, ingested were {} with {}",
                    source.end_byte(),
                    source.content_hash
                )
            });
            Ok(Given {
                bytes,
                damage,
                outcome: target?.keep(&[&hash])?,
            })
        };
        self.targets.into_iter().zip(sources).map(given).collect()
    }
}

/// Segments of each source.
type Segments = HashMap<i64, Vec<Segment>>;

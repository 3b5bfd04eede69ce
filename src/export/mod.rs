//! The store's content given back: source files byte for byte, selections as log lines.

mod hub;
mod kept;
mod lines;
pub(crate) use lines::environments;
mod listed;
mod logs;
mod names;
mod npz;
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
use crate::identity::ContentHasher;
use crate::query::collect;
use crate::store::Store;

use crate::loading::Loader;
use kept::Kept;
use lines::Lines;
use names::Names;
use npz::{Arrays, Nowhere, Npz};
use source::{Segment, SourceFile};
use target::{Kept as Outcome, Target};

/// Sources whose rows are asked for together.
const SOURCES_AT_ONCE: usize = 256;

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
            let name = crate::reader::exported::SIDECAR.to_owned();
            exported.refused.push((name, error.to_string()));
        }
        Ok(exported)
    }

    /// Rebuilds every source without writing it: does each have the bytes that were ingested?
    pub(crate) async fn rebuild_all(&self) -> Result<Exported> {
        let context = self.session().await?;
        let sources = source::all(&context).await?;
        let wanted: Vec<&SourceFile> = sources.iter().collect();
        let mut exported = Exported::default();
        let nowhere = |_: &SourceFile| Ok(Target::nowhere());
        give_back(&context, &wanted, nowhere, &mut exported, |_| {}).await?;
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
    for group in wanted.chunks(SOURCES_AT_ONCE) {
        let ids = group
            .iter()
            .filter(|source| source.is_log())
            .map(|source| source.rows_of.to_string())
            .collect::<Vec<_>>();
        let others = source::others(context, &ids).await?;
        let kept = Kept::load(context, group).await?;
        for source in group {
            let given = match open(source) {
                Err(error) => Err(error),
                Ok(target) if source.document.is_some() => {
                    give_arrays(&mut loader, source, target).await
                }
                Ok(target) => {
                    let others = others.get(&source.rows_of).map_or(&[][..], Vec::as_slice);
                    give_bytes(context, source, &kept, others, &mut lines, target).await
                }
            };
            let tell = |reason| (source.name.clone(), reason);
            let given = match given {
                Ok(given) => given,
                Err(error @ Error::Io { .. }) => {
                    exported.refused.push(tell(error.to_string()));
                    continue;
                }
                Err(error @ Error::Damaged { .. }) => {
                    exported.damaged.push(tell(error.to_string()));
                    continue;
                }
                Err(error) => return Err(error),
            };
            exported.damaged.extend(given.damage.map(tell));
            match given.outcome {
                Outcome::Refused(reason) => {
                    exported.refused.push(tell(reason));
                    continue;
                }
                Outcome::AsItWas => exported.untouched += 1,
                Outcome::Written => {
                    exported.recompressed += u64::from(source.compression.is_some());
                }
            }
            exported.files += 1;
            exported.bytes += given.bytes;
            done(source);
        }
    }
    Ok(())
}

/// What came of a source.
struct Given {
    bytes: u64,
    /// Why it is not what was ingested.
    damage: Option<String>,
    outcome: Outcome,
}

/// Writes the bytes of a source.
async fn give_bytes(
    context: &SessionContext,
    source: &SourceFile,
    kept: &Kept,
    others: &[source::Other],
    lines: &mut Lines,
    mut target: Target,
) -> Result<Given> {
    let mut out = Counted {
        target: &mut target,
        hasher: ContentHasher::new(),
        bytes: 0,
    };
    if source.texts().next().is_some() {
        for part in source.texts() {
            out.write(&kept.bytes(&source.name, part)?)?;
        }
    } else {
        let rows = lines::of_source(context, source.rows_of).await?;
        source::write(source, rows, others, lines, &mut out).await?;
    }
    let (bytes, hash) = (out.bytes, out.hasher.hex());
    let damage = (hash != source.content_hash).then(|| {
        format!(
            "rebuilt {bytes} bytes with hash {hash}, ingested were {} with {}",
            source.end_byte(),
            source.content_hash
        )
    });
    let outcome = target.keep(&[&hash])?;
    Ok(Given {
        bytes,
        damage,
        outcome,
    })
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

/// Counts and hashes what is written.
struct Counted<'a> {
    target: &'a mut Target,
    hasher: ContentHasher,
    bytes: u64,
}

impl Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.hasher.update(bytes);
        self.bytes += bytes.len() as u64;
        self.target.write(bytes)
    }
}

/// Segments of each source.
type Segments = HashMap<i64, Vec<Segment>>;

//! The store's content given back: source files byte for byte, selections as log lines.

mod hub;
mod kept;
mod lines;
pub(crate) use lines::environments;
mod logs;
mod npz;
mod source;

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Component, Path, PathBuf};

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
use npz::{Arrays, Nowhere, Npz};
use source::{Segment, SourceFile};

/// Sources whose rows are asked for together.
const SOURCES_AT_ONCE: usize = 256;

/// What an export wrote.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Exported {
    /// Files.
    pub files: u64,
    /// Bytes.
    pub bytes: u64,
    /// Files that are not what was ingested: name and reason. Never empty without damage.
    pub damaged: Vec<(String, String)>,
}

impl Store {
    /// Writes every source, or those whose name matches `pattern` (`*` and `?`), or those of the
    /// samples of GraphNet that `samples` (SQL over that table) selects, below `folder`, each under its name, and proves each against the hash that was taken at ingest. Compressed
    /// sources come back uncompressed, under their name without `.gz` or `.zst`.
    ///
    /// # Errors
    /// [`Error::Io`] where a file cannot be written.
    pub async fn export(
        &self,
        folder: &Path,
        pattern: Option<&str>,
        samples: Option<&str>,
    ) -> Result<Exported> {
        let pattern = pattern.map(glob::Pattern::new).transpose();
        let pattern = pattern.map_err(|error| Error::Usage(format!("--source: {error}")))?;
        let context = self.session().await?;
        let samples = match samples {
            Some(predicate) => Some(samples_where(&context, predicate).await?),
            None => None,
        };
        fs::create_dir_all(folder).map_err(Error::io(folder))?;
        give_back(
            &context,
            |source| {
                let named = pattern
                    .as_ref()
                    .is_none_or(|pattern| pattern.matches(&source.name));
                let sampled = samples
                    .as_ref()
                    .is_none_or(|samples| source.sample_id.is_some_and(|id| samples.contains(&id)));
                named && sampled
            },
            |source| {
                let path = folder.join(safe(source.export_name()));
                let parent = path.parent().unwrap_or(folder);
                fs::create_dir_all(parent).map_err(Error::io(parent))?;
                let temporary =
                    tempfile::NamedTempFile::new_in(parent).map_err(Error::io(parent))?;
                Ok(Target {
                    file: Some(BufWriter::new(temporary)),
                    path,
                })
            },
        )
        .await
    }

    /// Rebuilds every source without writing it: does each have the bytes that were ingested?
    pub(crate) async fn rebuild_all(&self) -> Result<Exported> {
        let nowhere = |_: &SourceFile| {
            Ok(Target {
                file: None,
                path: PathBuf::new(),
            })
        };
        give_back(&self.session().await?, |_| true, nowhere).await
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

/// Writes the sources that are `wanted`.
async fn give_back(
    context: &SessionContext,
    wanted: impl Fn(&SourceFile) -> bool,
    open: impl Fn(&SourceFile) -> Result<Target>,
) -> Result<Exported> {
    let sources = source::all(context).await?;
    let wanted: Vec<&SourceFile> = sources.iter().filter(|source| wanted(source)).collect();
    let logs = wanted.iter().any(|source| source.is_log());
    let mut lines = if logs {
        Lines::load(context).await?
    } else {
        Lines::default()
    };
    let mut loader = Loader::of(context);
    let mut exported = Exported::default();
    for group in wanted.chunks(SOURCES_AT_ONCE) {
        let ids = group
            .iter()
            .filter(|source| source.is_log())
            .map(|source| source.rows_of.to_string())
            .collect::<Vec<_>>();
        let others = source::others(context, &ids).await?;
        let kept = Kept::load(context, group).await?;
        for source in group {
            let mut target = open(source)?;
            if source.document.is_some() {
                let reason = give_arrays(&mut loader, source, target).await?;
                exported.files += 1;
                exported.bytes += source.end_byte();
                exported
                    .damaged
                    .extend(reason.map(|reason| (source.name.clone(), reason)));
                continue;
            }
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
                let none = Vec::new();
                let others = others.get(&source.rows_of).unwrap_or(&none);
                let rows = lines::of_source(context, source.rows_of).await?;
                source::write(source, rows, others, &mut lines, &mut out).await?;
            }
            exported.files += 1;
            exported.bytes += out.bytes;
            let hash = out.hasher.hex();
            if hash != source.content_hash {
                let reason = format!(
                    "rebuilt {} bytes with hash {hash}, ingested were {} with {}",
                    out.bytes,
                    source.end_byte(),
                    source.content_hash
                );
                exported.damaged.push((source.name.clone(), reason));
            }
            target.keep()?;
        }
    }
    Ok(exported)
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

/// Writes the arrays of a source; why they are not what was ingested.
async fn give_arrays(
    loader: &mut Loader,
    source: &SourceFile,
    target: Target,
) -> Result<Option<String>> {
    let arrays = Arrays::load(loader, source).await?;
    let Target { file, path } = target;
    let hash = match file {
        None => arrays.write(&mut Nowhere)?,
        Some(file) => {
            let mut npz = Npz::new(file, &path);
            let hash = arrays.write(&mut npz)?;
            let file = Some(npz.finish()?);
            let path = path.clone();
            Target { file, path }.keep()?;
            hash
        }
    };
    let wanted = source
        .document
        .as_ref()
        .map(|document| &document.arrays_hash);
    Ok((Some(&hash) != wanted)
        .then(|| format!("rebuilt arrays with hash {hash}, ingested were others")))
}

/// A path that stays below the folder that it is joined to, whatever the name says.
fn safe(name: &str) -> PathBuf {
    let mut path = PathBuf::new();
    for component in Path::new(name).components() {
        match component {
            Component::Normal(part) => path.push(part),
            Component::ParentDir => path.push("_"),
            _ => {}
        }
    }
    if path.as_os_str().is_empty() {
        PathBuf::from("_")
    } else {
        path
    }
}

/// Where a source's bytes go.
struct Target {
    file: Option<BufWriter<tempfile::NamedTempFile>>,
    path: PathBuf,
}

impl Target {
    /// Gives the finished file its name.
    fn keep(self) -> Result<()> {
        let Some(file) = self.file else { return Ok(()) };
        let path = self.path;
        let file = file
            .into_inner()
            .map_err(|error| error.into_error())
            .map_err(Error::io(&path))?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let open = fs::Permissions::from_mode(0o644);
            fs::set_permissions(file.path(), open).map_err(Error::io(&path))?;
        }
        file.persist(&path)
            .map_err(|error| error.error)
            .map_err(Error::io(&path))?;
        Ok(())
    }
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
        if let Some(file) = &mut self.target.file {
            file.write_all(bytes)
                .map_err(Error::io(&self.target.path))?;
        }
        Ok(())
    }
}

/// Segments of each source.
type Segments = HashMap<i64, Vec<Segment>>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_leaves_the_folder() {
        for (name, path) in [
            ("a/b.json", "a/b.json"),
            ("../../etc/passwd", "_/_/etc/passwd"),
            ("/etc/passwd", "etc/passwd"),
            ("..", "_"),
            ("/", "_"),
            ("a/./b/../c", "a/b/_/c"),
        ] {
            assert_eq!(safe(name), Path::new(path));
        }
    }
}

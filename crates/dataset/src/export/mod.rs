//! Byte-exact export of the store's sources.
//!
//! ```
//! use tsql_dataset::export::ExportOptions;
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let store = tsql_dataset::demo::create_demo().await?;
//! let folder = tempfile::tempdir().unwrap();
//! let options = ExportOptions::default().source("*epyc-1t*");
//! let exported = tsql_dataset::export::export(&store, folder.path(), &options).await?;
//! assert!(exported.is_clean() && exported.files > 0);
//! # Ok::<(), tsql_error::Error>(()) }).unwrap();
//! ```

mod copies;
pub mod export_paths;
mod portions;
pub mod sidecar;
pub mod target;
mod views;

pub use views::duckdb_views;

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use datafusion::prelude::SessionContext;
use derive_setters::Setters;
use serde::Serialize;
use tsql_adapters::formats::source::SourceFile;
use tsql_adapters::formats::{all_formats, format_by_dataset, source};
use tsql_error::{Error, Result};
use tsql_folders::Scratch;
use tsql_session::open_session;
use tsql_store::Store;
use tsql_store::atomic_output::check_output;

use copies::{CopyWriter, ExportedSource};
use export_paths::ExportPaths;
use target::{ExportOutcome, ExportTarget};

pub use portions::plan_portions;

/// Options of an export.
#[derive(Clone, Debug, Default, Setters)]
#[setters(strip_option)]
#[non_exhaustive]
pub struct ExportOptions {
    /// Exports only sources whose name matches this pattern (`*` and `?`).
    #[setters(into)]
    pub(crate) source: Option<String>,
    /// Exports only sources of the samples that this SQL over `samples` selects, and of their variants.
    #[setters(into)]
    pub(crate) samples: Option<String>,
    /// Replaces existing files.
    pub(crate) overwrite: bool,
}

/// Result of an export.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct ExportReport {
    /// Number of selected sources.
    pub selected: u64,
    /// Number of files that exist now with the right content.
    pub files: u64,
    /// Number of files among them that existed before, and were not touched.
    pub unchanged: u64,
    /// Size of all files in bytes, after decompression.
    pub bytes: u64,
    /// Number of files that were compressed when they were ingested. Their content is the same, but the compressed
    /// bytes may differ.
    pub recompressed: u64,
    /// Files that could not have their own name: name and path.
    pub renamed: Vec<(String, String)>,
    /// Files that differ from what was ingested: name and reason. Empty unless the store is damaged.
    pub damaged: Vec<(String, String)>,
    /// Files that could not be written, or would have replaced another: name and reason.
    pub rejected: Vec<(String, String)>,
}

impl ExportReport {
    /// Returns whether everything was exported.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.damaged.is_empty() && self.rejected.is_empty()
    }
}

/// Writes the sources that `options` select below `folder`, each under its name, and verifies each against its hash
/// from ingest. Compressed files are compressed again, in the same format. A sidecar (`tsql-export.json`) describes
/// the files for a later ingest.
///
/// # Errors
/// [`Error::Source`] in a store, [`Error::Io`] if the folder cannot be created, [`Error::Query`] for an invalid
/// predicate. Failures of single files are not errors: see [`ExportReport`].
pub async fn export(store: &Store, folder: &Path, options: &ExportOptions) -> Result<ExportReport> {
    check_output(folder)?;
    let pattern = options
        .source
        .as_deref()
        .map(glob::Pattern::new)
        .transpose();
    let pattern = pattern.map_err(|error| Error::Argument {
        name: "source",
        reason: format!("--source: {error}"),
    })?;
    let context = open_session(store).await?;
    let samples = match &options.samples {
        Some(predicate) => Some(select_samples(&context, predicate).await?),
        None => None,
    };
    let sources = source::load_sources(&context).await?;
    let names = ExportPaths::assign(&sources);
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
    let mut exported = ExportReport::default();
    if wanted.is_empty() {
        return Ok(exported);
    }
    let scratch = Arc::new(Scratch::new_in(folder)?);
    let mut written = Vec::with_capacity(wanted.len());
    let open = |source: &SourceFile| {
        let path = folder.join(names.path(source));
        ExportTarget::open(&scratch, path, source.compression, options.overwrite)
    };
    write_sources(&context, &wanted, open, &mut exported, |source| {
        written.push(sidecar::sidecar_entry(source, &names.path(source)));
    })
    .await?;
    for source in wanted {
        let path = sidecar::sidecar_entry(source, &names.path(source)).path;
        if path != source.name {
            exported.renamed.push((source.name.clone(), path));
        }
    }
    if let Err(error) = sidecar::write_sidecar(folder, written, options.overwrite) {
        let name = tsql_formats::export_manifest::MANIFEST_FILE.to_owned();
        exported.rejected.push((name, error.to_string()));
    }
    Ok(exported)
}

/// Rebuilds every source without writing it, and compares it with the hash from ingest. `tell` is called with the
/// number of finished sources and the total.
pub(crate) async fn rebuild_all(
    context: &SessionContext,
    tell: impl Fn(u64, u64),
) -> Result<ExportReport> {
    let sources = source::load_sources(context).await?;
    let wanted: Vec<&SourceFile> = sources.iter().collect();
    let mut exported = ExportReport::default();
    let nowhere = |_: &SourceFile| Ok(ExportTarget::discard());
    let mut done = 0;
    write_sources(context, &wanted, nowhere, &mut exported, |_| {
        done += 1;
        tell(done, wanted.len() as u64);
    })
    .await?;
    Ok(exported)
}

/// Writes the sources in `wanted`. `done` is called for each source that exists afterwards. If one fails, the others
/// continue.
async fn write_sources(
    context: &SessionContext,
    wanted: &[&SourceFile],
    open: impl Fn(&SourceFile) -> Result<ExportTarget>,
    exported: &mut ExportReport,
    mut done: impl FnMut(&SourceFile),
) -> Result<()> {
    exported.selected = wanted.len() as u64;
    for source in wanted
        .iter()
        .filter(|one| format_by_dataset(&one.dataset).is_none())
    {
        let reason = format!(
            "this version of tsql does not know files of `{}`",
            source.dataset
        );
        exported.record_failure(&[source], &Error::damaged("sources", reason));
    }
    for room in all_formats() {
        let own = wanted.iter().filter(|one| one.dataset == room.dataset());
        let own: Vec<&SourceFile> = own.copied().collect();
        if own.is_empty() {
            continue;
        }
        let mut giver = room.writer(context).await?;
        for portion in plan_portions(context, &own, room.order()).await? {
            giver.begin_batch(&portion).await?;
            for copies in &portion.copies {
                let Some(first) = copies.first() else {
                    continue;
                };
                let mut out = CopyWriter::new(copies.iter().map(|source| open(source)));
                match giver.write_file(first, &mut out).await {
                    Ok(proof) => {
                        for (source, given) in copies.iter().zip(out.finish(copies, &proof)) {
                            if exported.record_outcome(source, given)? {
                                done(source);
                            }
                        }
                    }
                    Err(error) if exported.record_failure(copies, &error) => {}
                    Err(error) => return Err(error),
                }
            }
        }
    }
    exported.damaged.sort();
    exported.rejected.sort();
    Ok(())
}

impl ExportReport {
    /// Records the result of a source. Returns whether the source exists.
    fn record_outcome(
        &mut self,
        source: &SourceFile,
        given: Result<ExportedSource>,
    ) -> Result<bool> {
        let given = match given {
            Ok(given) => given,
            Err(error) if self.record_failure(&[source], &error) => return Ok(false),
            Err(error) => return Err(error),
        };
        let tell = |reason| (source.name.clone(), reason);
        self.damaged.extend(given.damage.map(tell));
        match given.outcome {
            ExportOutcome::Refused(reason) => {
                self.rejected.push(tell(reason));
                return Ok(false);
            }
            ExportOutcome::AsItWas => self.unchanged += 1,
            ExportOutcome::Written => self.recompressed += u64::from(source.compression.is_some()),
        }
        self.files += 1;
        self.bytes += given.bytes;
        Ok(true)
    }

    /// Records that a source and its copies could not be rebuilt or written. Returns false if the error is not limited
    /// to them.
    fn record_failure(&mut self, copies: &[&SourceFile], error: &Error) -> bool {
        let list = match error {
            Error::Io { .. } => &mut self.rejected,
            Error::Damaged { .. } => &mut self.damaged,
            _ => return false,
        };
        list.extend(
            copies
                .iter()
                .map(|source| (source.name.clone(), error.to_string())),
        );
        true
    }
}

/// Returns the samples that `predicate` selects, of all formats.
async fn select_samples(context: &SessionContext, predicate: &str) -> Result<HashSet<i64>> {
    let mut ids = HashSet::new();
    for room in all_formats() {
        ids.extend(room.select_samples(context, predicate).await?);
    }
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::check;

    /// Multi-threaded runtimes move tasks between threads.
    #[test]
    fn exports_and_checks_can_be_spawned() {
        fn can_be_sent(_: &impl Send) {}
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let store = runtime.block_on(Store::create("memory:")).unwrap();
        let options = ExportOptions::default();
        can_be_sent(&export(&store, Path::new("back"), &options));
        can_be_sent(&check(&store));
    }
}

//! The store's sources given back, byte for byte.
//!
//! ```
//! use tsql::{ExportOptions, Store};
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let store = Store::demo().await?;
//! let folder = tempfile::tempdir().unwrap();
//! let options = ExportOptions::default().source("*epyc-1t*");
//! let exported = store.export(folder.path(), &options).await?;
//! assert!(exported.is_clean() && exported.files > 0);
//! # Ok::<(), tsql::Error>(()) }).unwrap();
//! ```

mod copies;
pub(crate) mod listed;
pub(crate) mod names;
mod portions;
pub(crate) mod target;
mod views;

use serde::Serialize;
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use datafusion::prelude::SessionContext;
use tsql_folders::Scratch;

use crate::error::{Error, Result};
use crate::formats::source::{self, SourceFile};
use crate::formats::{room, rooms};
use crate::store::Store;

use copies::{Copies, Given};
use names::Names;
pub(crate) use portions::portions;
use target::{Outcome, Target};

/// What to give back, and how.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ExportOptions {
    pub(crate) source: Option<String>,
    pub(crate) samples: Option<String>,
    pub(crate) overwrite: bool,
}

impl ExportOptions {
    /// Only sources whose name matches this pattern (`*` and `?`).
    #[must_use]
    pub fn source(mut self, pattern: impl Into<String>) -> Self {
        self.source = Some(pattern.into());
        self
    }

    /// Only sources of the samples that this SQL over `samples` selects, and of their variants.
    #[must_use]
    pub fn samples(mut self, predicate: impl Into<String>) -> Self {
        self.samples = Some(predicate.into());
        self
    }

    /// Replaces files that are there already.
    #[must_use]
    pub fn overwrite(mut self, overwrite: bool) -> Self {
        self.overwrite = overwrite;
        self
    }
}

/// What an export wrote.
#[derive(Clone, Debug, Default, Serialize)]
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
        let pattern = pattern.map_err(|error| Error::Argument {
            name: "source",
            reason: format!("--source: {error}"),
        })?;
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
        let scratch = Arc::new(Scratch::within(folder)?);
        let mut written = Vec::with_capacity(wanted.len());
        let open = |source: &SourceFile| {
            let path = folder.join(names.path(source));
            Target::open(&scratch, path, source.compression, options.overwrite)
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
    for source in wanted.iter().filter(|one| room(&one.dataset).is_none()) {
        let reason = format!("this tsql does not know files of `{}`", source.dataset);
        exported.failed(&[source], &Error::damaged("sources", reason));
    }
    for room in rooms() {
        let own = wanted.iter().filter(|one| one.dataset == room.dataset());
        let own: Vec<&SourceFile> = own.copied().collect();
        if own.is_empty() {
            continue;
        }
        let mut giver = room.giver(context).await?;
        for portion in portions(context, &own, room.order()).await? {
            giver.begin(&portion).await?;
            for copies in &portion.copies {
                let Some(first) = copies.first() else {
                    continue;
                };
                let mut out = Copies::new(copies.iter().map(|source| open(source)));
                match giver.give(first, &mut out).await {
                    Ok(proof) => {
                        for (source, given) in copies.iter().zip(out.finish(copies, &proof)) {
                            if exported.add(source, given)? {
                                done(source);
                            }
                        }
                    }
                    Err(error) if exported.failed(copies, &error) => {}
                    Err(error) => return Err(error),
                }
            }
        }
    }
    exported.damaged.sort();
    exported.refused.sort();
    Ok(())
}

impl Exported {
    /// Notes what came of a source; is it there?
    fn add(&mut self, source: &SourceFile, given: Result<Given>) -> Result<bool> {
        let given = match given {
            Ok(given) => given,
            Err(error) if self.failed(&[source], &error) => return Ok(false),
            Err(error) => return Err(error),
        };
        let tell = |reason| (source.name.clone(), reason);
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

    /// Notes that a source, and so its copies, could not be rebuilt or written; false where the error is
    /// about more than them.
    fn failed(&mut self, copies: &[&SourceFile], error: &Error) -> bool {
        let list = match error {
            Error::Io { .. } => &mut self.refused,
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

/// The samples that `predicate` selects, of whatever format.
async fn samples_where(context: &SessionContext, predicate: &str) -> Result<HashSet<i64>> {
    let mut ids = HashSet::new();
    for room in rooms() {
        ids.extend(room.samples(context, predicate).await?);
    }
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Many runtimes move their tasks from thread to thread.
    #[test]
    fn exports_and_checks_can_be_spawned() {
        fn can_be_sent(_: &impl Send) {}
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let store = runtime.block_on(Store::create("memory:")).unwrap();
        let options = ExportOptions::default();
        can_be_sent(&store.export(Path::new("back"), &options));
        can_be_sent(&store.check());
    }
}

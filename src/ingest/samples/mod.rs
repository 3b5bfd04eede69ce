//! Samples of GraphNet: a directory of files is taken as a whole.
//!
//! ```text
//! directories, tar, Parquet ─▶ find ─▶ read ─▶ node types ─▶ graphs ─▶ texts ─▶ samples ─▶ sources
//! ```
//!
//! All rows but those of the ledger are known by their content: what a crash leaves is found by
//! the next run, and nothing is stored twice.

pub(super) mod find;
mod group;
mod read;
mod rows;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tsql_codecs::identity::{sample_id, text_id};
use tsql_formats::graphnet::NAME;

use super::closed::{About, Closed};
use super::commits::Commits;
use super::known::Levels;
use super::ledger::{Ledger, Reading};
use super::orphans::Orphans;
use super::run::Halt;
use super::{IngestOptions, Report};
use crate::error::{Error, Result};
use crate::store::Store;
use find::Place;
use group::{Group, Held};
pub(super) use read::NO_PLATFORM;
use read::{Loose, Message};
pub(super) use rows::text_columns;

/// Bytes of files that are committed together.
const GROUP_BYTES: usize = 64 << 20;

/// Files that are committed together.
const GROUP_FILES: usize = 8192;

struct Run<'a> {
    commits: Commits<'a>,
    group: Group<'a>,
    levels: Levels,
    closed: Vec<Closed>,
    options: &'a IngestOptions,
    report: Report,
}

/// Ingests the samples in `places`; `None` where another run was found to ingest others of the same
/// names, and all must be looked at again.
pub(super) async fn run(
    store: &Store,
    places: Vec<Place>,
    options: &IngestOptions,
) -> Result<Option<Report>> {
    let ledger = Ledger::settled(store).await?;
    let commits = Commits::new(store, &ledger, Orphans::default());
    let stop = Halt(Arc::new(AtomicBool::new(false)));
    let mut messages = read::start(
        places,
        ledger,
        options.parsers(),
        Arc::clone(&options.progress),
        Arc::clone(&stop.0),
    );
    let mut run = Run {
        commits,
        group: Group::new(store),
        levels: Levels::load(store).await?,
        closed: Vec::new(),
        options,
        report: Report::default(),
    };
    while let Some(message) = messages.next().await? {
        if options.stop.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        run.take(message)?;
        let full = run.group.bytes() >= GROUP_BYTES || run.closed.len() >= GROUP_FILES;
        if full && !run.commit().await? {
            return Ok(None);
        }
    }
    if !run.commit().await? {
        return Ok(None);
    }
    run.report.new_graphs = run.group.new_graphs;
    Ok(Some(run.report))
}

impl Run<'_> {
    fn take(&mut self, message: Message) -> Result<()> {
        match message {
            Message::Sample(found) => self.sample(Held::new(*found)),
            Message::Loose(loose) => {
                self.loose(*loose);
                Ok(())
            }
            Message::Unchanged(files) => {
                self.report.unchanged_files += files;
                Ok(())
            }
            Message::Alias { alias, path } => {
                let closed = Closed::alias(NAME, *alias, path);
                self.report.same_files += 1;
                self.report.renamed(&closed);
                self.closed.push(closed);
                Ok(())
            }
            Message::Failed { path, reason } => {
                if self.options.strict {
                    return Err(Error::Source {
                        location: path,
                        reason,
                    });
                }
                self.report.failed_files.push((path, reason));
                Ok(())
            }
        }
    }

    fn sample(&mut self, held: Held) -> Result<()> {
        let found = &held.found;
        for (name, line, reason) in found.taken.samples.iter().flat_map(|one| &one.problems) {
            let path = format!("{}/{name}", found.shown);
            self.report
                .note(path, *line, reason.clone(), self.options.strict)?;
        }
        if found.renamed {
            let renamed = (found.shown.clone(), found.path.clone());
            self.report.renamed_files.push(renamed);
        }
        for row in held.rows().iter().filter(|row| row.variant_of.is_none()) {
            let program = row.sample.program.as_ref();
            let known = self.levels.learn(
                &row.path,
                row.files_hash,
                row.sample.upstream_hash.as_deref(),
                program.map(|program| &program.graph),
            );
            self.report.samples += 1;
            self.report.known_samples.extend(known);
        }
        let rows = held.rows();
        for ((file, &(place, rebuilt)), (path, folder)) in found
            .files
            .iter()
            .zip(&found.taken.files)
            .zip(&found.origins)
        {
            let Some(row) = rows.get(place) else { continue };
            let name = format!("{}/{}", found.path, file.name);
            let about = About {
                collection: folder.clone(),
                graph_id: row.graph_id,
                sample_id: Some(sample_id(&row.path, &found.files_hash)),
                text_id: (!rebuilt).then(|| text_id(&file.bytes)),
                ..About::default()
            };
            self.report.files += 1;
            self.report.bytes_in += file.bytes.len() as u64;
            self.closed.push(closed(
                Reading::of_file(NAME, NO_PLATFORM, name),
                path.clone(),
                file.bytes.len() as u64,
                file.content_hash.clone(),
                about,
            ));
        }
        drop(rows);
        self.group.add(held);
        Ok(())
    }

    fn loose(&mut self, loose: Loose) {
        let about = About {
            collection: loose.source_folder.clone(),
            text_id: Some(text_id(&loose.file.bytes)),
            ..About::default()
        };
        let bytes = loose.file.bytes.len() as u64;
        let closed = closed(
            loose.reading.clone(),
            loose.path.clone(),
            bytes,
            loose.file.content_hash.clone(),
            about,
        );
        self.report.files += 1;
        self.report.bytes_in += bytes;
        self.report.renamed(&closed);
        self.closed.push(closed);
        self.group.add_loose(loose);
    }

    /// Makes all samples so far part of the store. False where another run has others of the same names.
    async fn commit(&mut self) -> Result<bool> {
        if self.closed.is_empty() {
            return Ok(true);
        }
        if self.options.dry_run {
            self.closed.clear();
            self.group = Group::new(self.commits.store);
            return Ok(true);
        }
        let left = self.group.finish().await?;
        let mut closed = std::mem::take(&mut self.closed);
        for file in &mut closed {
            let left = file.about.sample_id.and_then(|id| left.get(&id));
            if group::is_model(&file.reading.name) {
                file.about.text_id = left.copied().or(file.about.text_id);
            }
        }
        self.commits.add(Vec::new(), &closed).await
    }
}

/// The ledger's entry of a file without records.
fn closed(
    reading: Reading,
    path: String,
    bytes: u64,
    content_hash: String,
    about: About,
) -> Closed {
    Closed {
        dataset: NAME,
        reading,
        path,
        compression: None,
        crlf: None,
        end_byte: bytes,
        content_hash,
        line_count: 0,
        records: 0,
        rejects: 0,
        verbatim: 0,
        other_count: 0,
        open_line: None,
        same_as: None,
        about,
    }
}

//! Files that are one document each: read as a whole, or refused as a whole.
//!
//! ```text
//! npz files, also in tar ─▶ read ─▶ node types ─▶ graphs ─▶ configurations ─▶ records ─▶ sources
//! ```
//!
//! The order of the commits is that of lines, and so is what a crash leaves: rows that nothing
//! refers to yet, or records of files that the ledger does not have. The next run goes on with the former
//! and puts its own in place of the latter.

mod group;
mod read;
mod rows;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tsql_formats::tpugraphs::{Form, NAME, PLATFORM};
use tsql_formats::{Format, Input};

use super::closed::{About, Closed};
use super::commits::Commits;
use super::ledger::Ledger;
use super::orphans::{Orphans, Scope};
use super::run::Halt;
use super::{IngestOptions, Report};
use crate::error::{Error, Result};
use crate::store::Store;
use group::{Group, Held};
use read::{Found, Message};

/// Records that are committed together, if a file ends then.
const GROUP_ROWS: usize = 1 << 18;

/// Files that are committed together.
const GROUP_FILES: usize = 512;

struct Run<'a> {
    commits: Commits<'a>,
    /// As it was when the run began.
    ledger: Ledger,
    group: Group<'a>,
    closed: Vec<Closed>,
    /// Sources that were refused: what has their bytes is refused too.
    refused: HashSet<i64>,
    strict: bool,
    report: Report,
}

/// Ingests `inputs`; `None` where another run was found to ingest one of the same files, and all
/// must be looked at again.
pub(super) async fn run(
    store: &Store,
    inputs: Vec<(Input, Format)>,
    options: &IngestOptions,
) -> Result<Option<Report>> {
    let ledger = Ledger::settled(store).await?;
    let known = ledger.clone();
    let scope = scope(&ledger, &inputs, options.platform.as_deref());
    let orphans = Orphans::find(store, &ledger, &scope, &["records"]).await?;
    let commits = Commits::new(store, &ledger, orphans);
    let parsers = options.parsers();
    let stop = Halt(Arc::new(AtomicBool::new(false)));
    let mut messages = read::start(
        inputs,
        options.platform.clone(),
        ledger,
        parsers,
        Arc::clone(&options.progress),
        Arc::clone(&stop.0),
    );
    let mut run = Run {
        commits,
        ledger: known,
        group: Group::new(store),
        closed: Vec::new(),
        refused: HashSet::new(),
        strict: options.strict,
        report: Report::default(),
    };
    while let Some(message) = messages.next().await? {
        if options.stop.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        run.take(message)?;
        let full = run.group.rows() >= GROUP_ROWS || run.closed.len() >= GROUP_FILES;
        if full && !run.commit().await? {
            return Ok(None);
        }
    }
    if !run.commit().await? {
        return Ok(None);
    }
    run.report.replaced_rows = run.commits.replaced;
    run.report.new_graphs = run.group.new_graphs;
    run.report.new_configurations = run.group.new_configurations;
    Ok(Some(run.report))
}

/// What the files may be called; in archives there may be any.
fn scope(ledger: &Ledger, inputs: &[(Input, Format)], platform: Option<&str>) -> Scope {
    if inputs.iter().any(|(_, format)| *format == Format::Tar) {
        return Scope::dataset(NAME);
    }
    let files = inputs.iter().map(|(input, _)| {
        let was = input.was(NAME).map(|file| file.platform.as_str());
        let platform = platform.or(was).unwrap_or(PLATFORM);
        (NAME, platform, input.name.as_str())
    });
    Scope::files(ledger, files)
}

impl Run<'_> {
    fn take(&mut self, message: Message) -> Result<()> {
        match message {
            Message::Document(found) => self.document(*found),
            Message::Unchanged => self.report.unchanged_files += 1,
            Message::Alias { alias, path } => {
                if self.refused.contains(&alias.same_as.source_id) {
                    let reason = format!("the same bytes as {}", alias.same_as.name);
                    return self.fail(path, reason);
                }
                let closed = Closed::alias(NAME, *alias, path);
                self.report.same_files += 1;
                self.report.renamed(&closed);
                self.closed.push(closed);
            }
            Message::Skipped(file) => self.report.skipped_files.push(file),
            Message::Failed {
                path,
                reason,
                source_id,
            } => {
                self.refused.extend(source_id);
                return self.fail(path, reason);
            }
        }
        Ok(())
    }

    fn fail(&mut self, path: String, reason: String) -> Result<()> {
        if self.strict {
            return Err(Error::Source {
                location: path,
                reason,
            });
        }
        self.report.failed_files.push((path, reason));
        Ok(())
    }

    fn document(&mut self, found: Found) {
        let document = found.document;
        let arrays = (Form::spell_all(&document.forms), &document.arrays_hash);
        let reading = &found.reading;
        let known = reading.given.as_ref().is_some_and(|given| {
            let arrays = (arrays.0.as_str(), arrays.1.as_str());
            self.ledger.has_arrays(&reading.platform, given, arrays)
        });
        if known {
            self.report.unchanged_files += 1;
            return;
        }
        let count = document.runtimes.len() as u64;
        let withheld = document.runtimes.iter().filter(|&&runtime| runtime == 0);
        self.report.files += 1;
        self.report.lines += count;
        self.report.unmeasured_records += withheld.count() as u64;
        self.report.bytes_in += document.array_bytes;
        self.report.records += count;
        let arrays = arrays.0;
        let held = Held::new(document, &found.reading, &found.place);
        let closed = Closed {
            dataset: NAME,
            path: found.path,
            compression: None,
            crlf: None,
            end_byte: found.bytes,
            content_hash: found.content_hash,
            line_count: count,
            records: count,
            rejects: 0,
            verbatim: 0,
            other_count: 0,
            open_line: None,
            same_as: None,
            about: About {
                collection: found.place.collection.clone(),
                split: found.place.split.clone(),
                network: Some(found.place.network().to_owned()),
                graph_id: Some(held.graph_id),
                arrays: Some(arrays),
                arrays_hash: Some(held.document.arrays_hash.clone()),
                ..About::default()
            },
            reading: found.reading,
        };
        self.report.renamed(&closed);
        self.closed.push(closed);
        self.group.add(held);
    }

    /// Makes all files so far part of the store. False where another run is about to do so with
    /// one of them.
    async fn commit(&mut self) -> Result<bool> {
        let files = self.group.finish().await?;
        let closed = std::mem::take(&mut self.closed);
        if closed.is_empty() {
            return Ok(true);
        }
        let rows = vec![("records", files)];
        self.commits.add(rows, &closed).await
    }
}

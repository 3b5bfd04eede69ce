//! Ingest of formats whose files are read as a whole or not at all.
//!
//! ```text
//! files ─▶ read ─▶ parse ─▶ commit batch ─▶ referenced rows ─▶ rows ─▶ sources
//! ```
//!
//! The commit order is that of logs. A crash leaves rows that nothing refers to yet, or rows of files that
//! are not in the ingest log. The next run uses the former and replaces the latter.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tsql_adapters::catch_panic;
use tsql_adapters::formats::format_reader::{FormatInput, ParseSummary};
use tsql_adapters::ingest_log::{Alias, EarlierVersions, IngestLog, SourceSegment};
use tsql_error::{Error, Result};
use tsql_store::Store;

use super::commits::{Committer, RowWriter};
use super::orphans::{Orphans, ReadScope};
use super::workers::{ParserPool, WorkSender};
use super::{Event, IngestOptions, Report};

pub(crate) use tsql_adapters::formats::format_reader::{CommitBatch, FormatReader, ReadEvent};

/// Outcome of an item of the input, in order.
enum Message<P> {
    Taken(&'static str),
    Read(Box<P>),
    Unchanged(u64),
    Alias { alias: Box<Alias>, path: String },
    Versions(EarlierVersions),
    Failed(FailedInput),
}

struct FailedInput {
    path: String,
    reason: String,
    source_id: Option<i64>,
}

/// An item that is not yet parsed.
struct Work<W> {
    path: String,
    source_id: Option<i64>,
    work: W,
}

fn parse<T: FormatReader>(work: Work<T::Work>) -> Message<T::Read> {
    let (path, source_id) = (work.path, work.source_id);
    match catch_panic(|| T::parse(work.work)).and_then(|parsed| parsed) {
        Ok(parsed) => Message::Read(Box::new(parsed)),
        Err(reason) => Message::Failed(FailedInput {
            path,
            reason,
            source_id,
        }),
    }
}

/// Reads all of an input. Returns `None` if the receiver is gone.
fn read_input<T: FormatReader>(
    room: T,
    given: &FormatInput,
    ledger: &mut IngestLog,
    desk: &mut WorkSender<Work<T::Work>, Message<T::Read>>,
) -> Option<()> {
    desk.report_progress(Event::File(given.display_path()));
    let read = catch_panic(|| {
        room.read(given, ledger, &mut |piece| {
            if desk.is_stopped() {
                return None;
            }
            match piece {
                ReadEvent::Taken(kind) => desk.send_message(Message::Taken(kind)),
                ReadEvent::Bytes(bytes) => {
                    desk.report_progress(Event::Bytes(bytes));
                    Some(())
                }
                ReadEvent::Work(path, source_id, work) => desk.send_work(Work {
                    path,
                    source_id,
                    work,
                }),
                ReadEvent::Unchanged(files) => desk.send_message(Message::Unchanged(files)),
                ReadEvent::Alias(alias, path) => desk.send_message(Message::Alias { alias, path }),
                ReadEvent::Failed(path, reason) => {
                    desk.send_message(Message::Failed(FailedInput {
                        path,
                        reason,
                        source_id: None,
                    }))
                }
            }
        })
    });
    for versions in ledger.take_versions() {
        desk.send_message(Message::Versions(versions))?;
    }
    let reason = match read {
        Ok(Ok(listened)) => return listened,
        Ok(Err(error)) => error.to_string(),
        Err(reason) => reason,
    };
    desk.send_message(Message::Failed(FailedInput {
        path: given.display_path().to_owned(),
        reason,
        source_id: None,
    }))
}

/// An ingest of files of one format.
struct DocumentIngest<'a, T: FormatReader> {
    commits: Committer<'a>,
    written: RowWriter<'a>,
    group: T::Group,
    closed: Vec<SourceSegment>,
    /// Rejected sources. Aliases of them are rejected too.
    refused: HashSet<i64>,
    options: &'a IngestOptions,
    report: Report,
}

/// Ingests the inputs of a format. Returns `None` if another run has ingested one of the same files. All
/// must be planned again.
pub(super) async fn run<T: FormatReader>(
    room: T,
    store: &Store,
    given: Vec<FormatInput>,
    options: &IngestOptions,
) -> Result<Option<Report>> {
    let ledger = options.load_ingest_log(store).await?;
    let scope = match room.expected_names(&given) {
        None => ReadScope::for_datasets(room.datasets()),
        Some(names) => ReadScope::for_files(&ledger, names.into_iter()),
    };
    let orphans = Orphans::find(store, &ledger, &scope, T::TABLES).await?;
    let commits = Committer::new(store, &ledger, orphans, options.labelling()?);
    let mut commits = commits.with_replacements(&options.replacing);
    if !options.dry_run && !commits.remove_strays().await? {
        return Ok(None);
    }
    let mut run = DocumentIngest::<T> {
        commits,
        written: RowWriter::new(store),
        group: T::Group::begin(store).await?,
        closed: Vec::new(),
        refused: HashSet::new(),
        options,
        report: Report::default(),
    };
    let (waiting, ready) = T::QUEUE;
    let pool = ParserPool {
        threads: options.parser_threads(),
        waiting,
        ready,
    };
    let progress = Arc::clone(&options.progress);
    let mut messages = pool.start(progress, parse::<T>, move |desk| {
        let mut ledger = ledger;
        for given in given {
            if read_input(room, &given, &mut ledger, desk).is_none() {
                break;
            }
        }
    });
    while let Some(message) = messages.next().await? {
        if options.stop.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        run.handle_message(message)?;
        if run.group.is_full(run.closed.len()) && !run.commit(store).await? {
            return Ok(None);
        }
    }
    if !run.commit(store).await? {
        return Ok(None);
    }
    run.report.replaced_rows = run.commits.replaced;
    Ok(Some(run.report))
}

impl<T: FormatReader> DocumentIngest<'_, T> {
    fn handle_message(&mut self, message: Message<T::Read>) -> Result<()> {
        match message {
            Message::Taken(kind) => self.report.count_kind(kind),
            Message::Read(read) => {
                let told = self.group.add(*read);
                return self.add_summary(told);
            }
            Message::Unchanged(files) => self.report.unchanged_files += files,
            Message::Alias { alias, path } => {
                if self.refused.contains(&alias.same_as.source_id) {
                    let reason = format!(
                        "its bytes are equal to {}, which failed",
                        alias.same_as.name
                    );
                    return self.fail(path, reason);
                }
                let closed = SourceSegment::for_alias(*alias, path);
                self.report.duplicate_files += 1;
                self.report.note_renamed(&closed);
                self.closed.push(closed);
            }
            Message::Versions(versions) => self.report.versions.push(versions),
            Message::Failed(failed) => {
                self.refused.extend(failed.source_id);
                return self.fail(failed.path, failed.reason);
            }
        }
        Ok(())
    }

    fn fail(&mut self, location: String, reason: String) -> Result<()> {
        if self.options.strict && T::IS_STRICT {
            return Err(Error::Source { location, reason });
        }
        self.report.failed_files.push((location, reason));
        Ok(())
    }

    fn add_summary(&mut self, told: ParseSummary) -> Result<()> {
        let report = &mut self.report;
        for (path, line, reason) in told.rejects {
            report.reject(&path, line, &reason, self.options.strict)?;
        }
        for (path, line, reason) in told.notes {
            report.note(path, line, reason, self.options.strict)?;
        }
        for (path, reason) in told.remarks {
            report.remark(path, reason);
        }
        if told.closed.is_empty() {
            report.unchanged_files += 1;
        }
        for file in &told.closed {
            report.files += 1;
            report.grown_files += u64::from(file.reading.segment > 0);
            report.lines += file.line_count;
            report.records += file.records;
            report.note_renamed(file);
        }
        report.bytes_in += told.bytes;
        report.failed_records += told.failed_records;
        report.unmeasured_records += told.unmeasured_records;
        report.samples += told.samples;
        report.similar_samples.extend(told.similar_samples);
        report.renamed_files.extend(told.renamed);
        self.closed.extend(told.closed);
        Ok(())
    }

    /// Adds all files so far to the store. Returns false if another run commits one of them.
    async fn commit(&mut self, store: &Store) -> Result<bool> {
        let mut closed = std::mem::take(&mut self.closed);
        if closed.is_empty() {
            return Ok(true);
        }
        if self.options.dry_run {
            self.group.clear();
            return Ok(true);
        }
        let committed = self.group.commit(store, &mut closed).await?;
        self.report.new_graphs += committed.new_graphs;
        self.report.new_configurations += committed.new_configurations;
        for batch in committed.rows {
            self.written.add(batch);
        }
        let rows = self.written.finish(T::TABLES).await?;
        self.commits.commit_files(rows, &closed).await
    }
}

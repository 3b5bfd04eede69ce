//! Files that are read as a whole, or not at all, into the store, whatever their format is.
//!
//! ```text
//! files ─▶ read ─▶ parse ─▶ group ─▶ what rows refer to ─▶ rows ─▶ sources
//! ```
//!
//! The order of the commits is that of lines, and so is what a crash leaves: rows that nothing refers to
//! yet, or rows of files that the ledger does not have. The next run goes on with the former and puts its
//! own in place of the latter.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::commits::{Commits, Written};
use super::orphans::{Orphans, Scope};
use super::workers::{Desk, Pool, caught};
use super::{Event, IngestOptions, Report};
use crate::error::{Error, Result};
use crate::formats::taking::{Given, Group, Piece, Taking, Told};
use crate::ledger::{Alias, Closed, Ledger, Versions};
use crate::store::Store;

/// What became of a piece of the input, in order.
enum Message<P> {
    Taken(&'static str),
    Read(Box<P>),
    Unchanged(u64),
    Alias { alias: Box<Alias>, path: String },
    Versions(Versions),
    Failed(Failed),
}

struct Failed {
    path: String,
    reason: String,
    source_id: Option<i64>,
}

/// A piece on its way to a thread that parses.
struct Work<W> {
    path: String,
    source_id: Option<i64>,
    work: W,
}

fn parse<T: Taking>(work: Work<T::Work>) -> Message<T::Read> {
    let (path, source_id) = (work.path, work.source_id);
    match caught(|| T::parse(work.work)).and_then(|parsed| parsed) {
        Ok(parsed) => Message::Read(Box::new(parsed)),
        Err(reason) => Message::Failed(Failed {
            path,
            reason,
            source_id,
        }),
    }
}

/// Reads all of an input; `None` where nobody listens any more.
fn read<T: Taking>(
    room: T,
    given: &Given,
    ledger: &mut Ledger,
    desk: &mut Desk<Work<T::Work>, Message<T::Read>>,
) -> Option<()> {
    desk.show(Event::File(given.shown()));
    let read = caught(|| {
        room.read(given, ledger, &mut |piece| {
            if desk.is_stopped() {
                return None;
            }
            match piece {
                Piece::Taken(kind) => desk.tell(Message::Taken(kind)),
                Piece::Bytes(bytes) => {
                    desk.show(Event::Bytes(bytes));
                    Some(())
                }
                Piece::Work(path, source_id, work) => desk.work(Work {
                    path,
                    source_id,
                    work,
                }),
                Piece::Unchanged(files) => desk.tell(Message::Unchanged(files)),
                Piece::Alias(alias, path) => desk.tell(Message::Alias { alias, path }),
                Piece::Failed(path, reason) => desk.tell(Message::Failed(Failed {
                    path,
                    reason,
                    source_id: None,
                })),
            }
        })
    });
    for versions in ledger.take_versions() {
        desk.tell(Message::Versions(versions))?;
    }
    let reason = match read {
        Ok(Ok(listened)) => return listened,
        Ok(Err(error)) => error.to_string(),
        Err(reason) => reason,
    };
    desk.tell(Message::Failed(Failed {
        path: given.shown().to_owned(),
        reason,
        source_id: None,
    }))
}

/// One ingest of files of a format.
struct Whole<'a, T: Taking> {
    commits: Commits<'a>,
    written: Written<'a>,
    group: T::Group,
    closed: Vec<Closed>,
    /// Sources that were refused: what has their bytes is refused too.
    refused: HashSet<i64>,
    options: &'a IngestOptions,
    report: Report,
}

/// Ingests what a room is given; `None` where another run was found to ingest one of the same files, and
/// all must be looked at again.
pub(super) async fn run<T: Taking>(
    room: T,
    store: &Store,
    given: Vec<Given>,
    options: &IngestOptions,
) -> Result<Option<Report>> {
    let ledger = options.ledger(store).await?;
    let scope = match room.names(&given) {
        None => Scope::dataset(T::DATASET),
        Some(names) => {
            let names = names.into_iter();
            let names = names.map(|(platform, name)| (T::DATASET, platform, name));
            Scope::files(&ledger, names)
        }
    };
    let orphans = Orphans::find(store, &ledger, &scope, T::TABLES).await?;
    let commits = Commits::new(store, &ledger, orphans, options.labelling()?);
    let mut commits = commits.replacing(&options.replacing);
    if !options.dry_run && !commits.take_out_strays().await? {
        return Ok(None);
    }
    let mut run = Whole::<T> {
        commits,
        written: Written::new(store),
        group: T::Group::begin(store).await?,
        closed: Vec::new(),
        refused: HashSet::new(),
        options,
        report: Report::default(),
    };
    let (waiting, ready) = T::QUEUE;
    let pool = Pool {
        threads: options.parsers(),
        waiting,
        ready,
    };
    let progress = Arc::clone(&options.progress);
    let mut messages = pool.start(progress, parse::<T>, move |desk| {
        let mut ledger = ledger;
        for given in given {
            if read(room, &given, &mut ledger, desk).is_none() {
                break;
            }
        }
    });
    while let Some(message) = messages.next().await? {
        if options.stop.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        run.take(message)?;
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

impl<T: Taking> Whole<'_, T> {
    fn take(&mut self, message: Message<T::Read>) -> Result<()> {
        match message {
            Message::Taken(kind) => self.report.took(kind),
            Message::Read(read) => {
                let told = self.group.take(*read);
                return self.tell(told);
            }
            Message::Unchanged(files) => self.report.unchanged_files += files,
            Message::Alias { alias, path } => {
                if self.refused.contains(&alias.same_as.source_id) {
                    let reason = format!("the same bytes as {}", alias.same_as.name);
                    return self.fail(path, reason);
                }
                let closed = Closed::alias(T::DATASET, *alias, path);
                self.report.same_files += 1;
                self.report.renamed(&closed);
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

    fn tell(&mut self, told: Told) -> Result<()> {
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
            report.renamed(file);
        }
        report.bytes_in += told.bytes;
        report.failed_records += told.failed_records;
        report.unmeasured_records += told.unmeasured_records;
        report.samples += told.samples;
        report.known_samples.extend(told.known_samples);
        report.renamed_files.extend(told.renamed);
        self.closed.extend(told.closed);
        Ok(())
    }

    /// Makes all files so far part of the store. False where another run is about to do so with one of
    /// them.
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
        self.commits.add(rows, &closed).await
    }
}

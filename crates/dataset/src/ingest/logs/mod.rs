//! Ingest of logs, line by line: chunks of files become rows, commits and a report.

mod group;
#[cfg(test)]
pub(super) mod injected_panic;
mod others;
mod pending;
mod position;
mod read;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tsql_adapters::ingest_log::{DocumentAttributes, ReadPlan, SourceSegment};
use tsql_error::{Error, Result};
use tsql_formats::lines::StreamPosition;
use tsql_formats::rows::LogRows;
use tsql_formats::{Compression, Dialect};
use tsql_store::Store;

use pending::{Pending, TABLES};
use read::End;

use super::commits::Committer;
use super::orphans::{Orphans, ReadScope};
use super::{IngestOptions, Report};

pub use position::Position;
pub(super) use read::{Job, Message, Reader};
pub(crate) use tsql_adapters::formats::lines::columns::NonRecordLine;

/// A log that is being read.
struct OpenLog {
    reading: ReadPlan,
    platform: Arc<str>,
    path: String,
    dialect: Dialect,
    compression: Option<Compression>,
    crlf: bool,
    next_line: u64,
    records: u64,
    rejects: u64,
    verbatim: u64,
    others: u64,
    /// End of its rows so far.
    mark: Option<StreamPosition>,
    /// The end is inside a line that is too long.
    in_line: bool,
    /// The last line is a record.
    last_is_record: bool,
}

/// An ingest of logs.
struct LogIngest<'a> {
    commits: Committer<'a>,
    options: &'a IngestOptions,
    pending: Pending<'a>,
    open: Option<OpenLog>,
    closed: Vec<SourceSegment>,
    /// Sources whose reading panicked. Aliases of them fail too.
    broken: HashSet<i64>,
    report: Report,
    durable: Option<DurableCallback>,
}

/// Ingests `jobs`. Returns `None` if another run has ingested one of the same files. All must be planned
/// again.
pub(super) async fn run(
    store: &Store,
    jobs: Vec<Job>,
    options: &IngestOptions,
) -> Result<Option<Report>> {
    let given = jobs.clone();
    let read = move |reader: &mut Reader<'_>| reader.read_files(&given);
    run_reader(store, options, &jobs, read, None).await
}

/// Receives the durable position of a stream after each commit.
pub(super) type DurableCallback = Arc<dyn Fn(Position) + Send + Sync>;

/// Ingests the result of `read` for `jobs`. With `durable`, each file is committed at its end.
pub(super) async fn run_reader(
    store: &Store,
    options: &IngestOptions,
    jobs: &[Job],
    read: impl FnOnce(&mut Reader<'_>) + Send + 'static,
    durable: Option<DurableCallback>,
) -> Result<Option<Report>> {
    let ledger = options.load_ingest_log(store).await?;
    let scope = ReadScope::for_files(&ledger, jobs.iter().map(Job::identity));
    let orphans = Orphans::find(store, &ledger, &scope, &TABLES).await?;
    let commits = Committer::new(store, &ledger, orphans, options.labelling()?)
        .with_streams(durable.is_some());
    let mut commits = commits.with_replacements(&options.replacing);
    if !options.dry_run && !commits.remove_strays().await? {
        return Ok(None);
    }
    let parsers = options.parser_threads();
    let mut messages = read::start(ledger, parsers, Arc::clone(&options.progress), read);
    let report = Report::default();
    let mut run = LogIngest {
        commits,
        options,
        pending: Pending::new(store, options.dry_run),
        open: None,
        closed: Vec::new(),
        broken: HashSet::new(),
        report,
        durable,
    };
    while let Some(message) = messages.next().await? {
        if options.stop.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        if !run.handle_message(message).await? {
            return Ok(None);
        }
    }
    if !run.commit().await? {
        return Ok(None);
    }
    run.report.replaced_rows = run.commits.replaced;
    (run.report.new_graphs, run.report.new_configurations) = run.pending.new_counts();
    Ok(Some(run.report))
}

impl LogIngest<'_> {
    /// Handles a message. Returns false if another run ingests the same files.
    async fn handle_message(&mut self, message: Message) -> Result<bool> {
        match message {
            Message::Start {
                reading,
                path,
                dialect,
                compression,
                crlf,
            } => {
                let mut open = OpenLog::new(reading, path, dialect);
                (open.compression, open.crlf) = (compression, crlf);
                self.open = Some(open);
            }
            Message::Rows { rows, after } => self.add_rows(rows, after).await?,
            Message::Long {
                part,
                text,
                last,
                after,
            } => self.add_long_line(part, text, last, after).await?,
            Message::End(end) => return self.finish_file(end).await,
            Message::Broken { path, line, reason } => {
                return self.handle_panic(path, line, &reason).await;
            }
            Message::Known(position) => {
                if let Some(durable) = &self.durable {
                    durable(position);
                }
            }
            Message::Unchanged => self.report.unchanged_files += 1,
            Message::Alias { alias, path } => {
                if self.broken.contains(&alias.same_as.source_id) {
                    let reason = format!(
                        "its bytes are equal to {}, which failed",
                        alias.same_as.name
                    );
                    self.report.failed_files.push((path, reason));
                    return Ok(true);
                }
                let closed = SourceSegment::for_alias(*alias, path);
                self.report.duplicate_files += 1;
                self.report.note_renamed(&closed);
                self.closed.push(closed);
            }
            Message::Versions(versions) => self.report.versions.push(versions),
            Message::Failed { path, reason } => self.report.failed_files.push((path, reason)),
        }
        Ok(true)
    }

    pub(crate) async fn add_rows(
        &mut self,
        mut rows: Box<LogRows>,
        after: StreamPosition,
    ) -> Result<()> {
        let Some(open) = &mut self.open else {
            return Ok(());
        };
        let first_line = open.next_line;
        let source_id = open.reading.source_id;
        for record in &rows.records {
            self.report.failed_records += u64::from(record.error_no != 0);
            let unmeasured = record.error_no == 0 && record.runtime_ns.is_none();
            self.report.unmeasured_records += u64::from(unmeasured);
        }
        open.next_line += rows.line_count;
        open.records += rows.records.len() as u64;
        open.verbatim += rows.verbatim.len() as u64;
        let last = rows.line_count.checked_sub(1);
        open.last_is_record = rows.records.last().map(|record| record.line) == last;
        (open.mark, open.in_line) = (Some(after), false);
        let mut others = Vec::with_capacity(rows.others.len());
        for other in std::mem::take(&mut rows.others) {
            let line = first_line + other.line;
            if let Some(reason) = &other.reason {
                open.rejects += 1;
                let strict = self.options.strict;
                self.report.reject(&open.path, line, reason, strict)?;
            }
            open.others += 1;
            others.push(NonRecordLine {
                segment: open.reading.segment,
                line,
                part: 0,
                reason: other.reason,
                text: other.text,
            });
        }
        let partition = (open.dialect.dataset(), Arc::clone(&open.platform));
        self.pending.add_non_records(source_id, others).await?;
        let added = self.pending.add(rows, partition, source_id, first_line);
        added.await
    }

    async fn add_long_line(
        &mut self,
        part: i32,
        text: Vec<u8>,
        last: bool,
        after: StreamPosition,
    ) -> Result<()> {
        let Some(open) = &mut self.open else {
            return Ok(());
        };
        let line = open.next_line;
        let reason = format!(
            "longer than {} MiB",
            tsql_formats::lines::MAX_LINE_BYTES >> 20
        );
        if part == 0 {
            open.rejects += 1;
            let strict = self.options.strict;
            self.report.reject(&open.path, line, &reason, strict)?;
        }
        open.next_line += u64::from(last);
        open.last_is_record = false;
        (open.mark, open.in_line) = (Some(after), !last);
        open.others += 1;
        let (segment, source_id) = (open.reading.segment, open.reading.source_id);
        let other = NonRecordLine {
            segment,
            line,
            part,
            reason: Some(reason),
            text,
        };
        self.pending.add_non_records(source_id, [other]).await
    }

    /// Handles a panic of the reader. The lines before it are stored. A later version can continue from
    /// there.
    async fn handle_panic(
        &mut self,
        path: Option<String>,
        line: u64,
        reason: &str,
    ) -> Result<bool> {
        let open = self.open.take();
        let at = open.as_ref().map_or(1, |open| open.next_line) + line;
        let path = open.as_ref().map(|open| open.path.clone()).or(path);
        let path = path.unwrap_or_default();
        let reason =
            format!("line {at}: {reason}\nhint: this is a defect of tsql: please report it");
        let mut done = true;
        if let Some(mut open) = open {
            self.broken.insert(open.reading.source_id);
            if let Some(mark) = open.mark.take() {
                // Parts of a long line count as an unfinished line.
                open.next_line += u64::from(open.in_line);
                let end = End {
                    mark,
                    failure: None,
                };
                done = self.close(open, end).await?;
            }
        }
        if self.durable.is_some() {
            let location = path;
            return Err(Error::Source { location, reason });
        }
        self.report.failed_files.push((path, reason));
        Ok(done)
    }

    async fn finish_file(&mut self, end: End) -> Result<bool> {
        let Some(open) = self.open.take() else {
            return Ok(true);
        };
        if let Some(failure) = &end.failure {
            let line = open.next_line - 1;
            let reason = format!("{failure} after line {line}; the lines before are stored");
            self.report.failed_files.push((open.path.clone(), reason));
        }
        self.close(open, end).await
    }

    /// Finishes a file at the given end.
    async fn close(&mut self, open: OpenLog, end: End) -> Result<bool> {
        let report = &mut self.report;
        report.files += 1;
        report.grown_files += u64::from(open.reading.segment > 0);
        report.lines += open.next_line - open.reading.first_line;
        report.records += open.records;
        report.verbatim_records += open.verbatim;
        report.bytes_in += end.mark.end_byte - open.reading.first_byte;
        let closed = open.into_segment(end.mark);
        self.report.note_renamed(&closed);
        self.closed.push(closed);
        let full = self.pending.is_full() || self.closed.len() >= self.options.group_files;
        if self.durable.is_some() || full {
            self.commit().await
        } else {
            Ok(true)
        }
    }

    /// Adds all complete files to the store. Returns false if another run commits one of them.
    async fn commit(&mut self) -> Result<bool> {
        let closed = std::mem::take(&mut self.closed);
        if closed.is_empty() || self.options.dry_run {
            return Ok(true);
        }
        let rows = self.pending.finish().await?;
        let done = self.commits.commit_files(rows, &closed).await?;
        if let Some(durable) = self.durable.as_ref().filter(|_| done) {
            for file in &closed {
                durable(Position::from_segment(file));
            }
        }
        Ok(done)
    }
}

impl OpenLog {
    fn new(reading: ReadPlan, path: String, dialect: Dialect) -> Self {
        Self {
            platform: Arc::from(reading.platform.as_str()),
            next_line: reading.first_line,
            reading,
            path,
            dialect,
            compression: None,
            crlf: false,
            records: 0,
            rejects: 0,
            verbatim: 0,
            others: 0,
            mark: None,
            in_line: false,
            last_is_record: false,
        }
    }

    pub(crate) fn into_segment(self, mark: StreamPosition) -> SourceSegment {
        let open = if self.last_is_record {
            "record"
        } else {
            "other"
        };
        SourceSegment {
            dataset: self.dialect.dataset(),
            line_count: self.next_line - self.reading.first_line,
            reading: self.reading,
            path: self.path,
            compression: self.compression.map(Compression::name),
            crlf: Some(self.crlf),
            end_byte: mark.end_byte,
            content_hash: mark.content_hash,
            records: self.records,
            rejects: self.rejects,
            verbatim: self.verbatim,
            other_count: self.others,
            open_line: mark.unterminated.then_some(open),
            same_as: None,
            about: DocumentAttributes::default(),
        }
    }
}

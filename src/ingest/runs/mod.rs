//! Benchmark logs of GraphNet: each is read as a whole; of one that has grown only the records
//! that are new.
//!
//! ```text
//! text ─▶ reader ─▶ graphs, environments ─▶ configurations ─▶ texts ─▶ records ─▶ runs ─▶ sources
//! ```

mod group;
mod packed;
mod rows;

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tsql_codecs::identity::{ContentHasher, text_id};
use tsql_formats::graphnet::NAME;
use tsql_formats::graphnet::log::{Parser, Run, stated_status};
use tsql_formats::{Compression, Input};

use super::closed::{About, Closed};
use super::commits::Commits;
use super::group::KnownIds;
use super::ledger::{Ledger, Plan};
use super::orphans::{Orphans, Scope};
use super::workers::caught;
use super::{Event, IngestOptions, Report, budget, platform};
use crate::error::{Error, Result};
use crate::store::Store;
pub(super) use group::commit_texts;
use rows::Row;

/// Records that are committed together, if a log ends then.
const GROUP_ROWS: usize = 1 << 14;

/// Bytes of logs that are committed together, if one ends then.
const GROUP_BYTES: usize = 64 << 20;

/// Most bytes of a log, after decompression.
const LOG_BYTES: u64 = 128 << 20;

/// Bytes of a line in which the hardware is looked for.
const LINE_BYTES: u64 = 1 << 20;

/// A log that was read and is not committed yet.
struct Held {
    closed: Closed,
    text: Vec<u8>,
    /// The columns of its runs give the text back.
    in_columns: bool,
}

/// Ingests `inputs`; `None` where another run was found to ingest one of the same files, and all
/// must be looked at again.
pub(super) async fn run(
    store: &Store,
    inputs: &[(Input, String)],
    options: &IngestOptions,
) -> Result<Option<Report>> {
    let ledger = Ledger::settled(store).await?;
    let tables = ["records", "runs"];
    let orphans = Orphans::find(store, &ledger, &Scope::dataset(NAME), &tables).await?;
    let mut run = Ingest {
        commits: Commits::new(store, &ledger, orphans),
        options,
        ledger,
        texts: KnownIds::default(),
        held: Vec::new(),
        held_bytes: 0,
        rows: Vec::new(),
        report: Report::default(),
    };
    for (input, platform) in inputs {
        if options.stop.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        (options.progress)(Event::File(&input.path));
        match run.log(input, platform) {
            Err(Error::Io { source, .. }) => {
                let failed = (input.path.clone(), source.to_string());
                run.report.failed_files.push(failed);
            }
            other => other?,
        }
        let full = run.rows.len() >= GROUP_ROWS || run.held_bytes >= GROUP_BYTES;
        if full && !run.commit().await? {
            return Ok(None);
        }
    }
    if !run.commit().await? {
        return Ok(None);
    }
    run.report.replaced_rows = run.commits.replaced;
    Ok(Some(run.report))
}

struct Ingest<'a> {
    commits: Commits<'a>,
    options: &'a IngestOptions,
    ledger: Ledger,
    texts: KnownIds,
    held: Vec<Held>,
    held_bytes: usize,
    rows: Vec<(Arc<str>, Row)>,
    report: Report,
}

impl Ingest<'_> {
    /// Reads a log, unless the store has it.
    fn log(&mut self, input: &Input, platform: &str) -> Result<()> {
        let reading = match self.ledger.plan(NAME, platform, input)? {
            Plan::Unchanged => {
                self.report.unchanged_files += 1;
                return Ok(());
            }
            Plan::Alias(alias) => {
                let closed = Closed::alias(NAME, *alias, input.path.clone());
                self.report.same_files += 1;
                self.report.renamed(&closed);
                self.held.push(Held {
                    closed,
                    text: Vec::new(),
                    in_columns: false,
                });
                return Ok(());
            }
            Plan::Read(reading) => reading,
        };
        let Log {
            runs,
            stray,
            bytes,
            compression,
        } = match caught(|| read(input)).unwrap_or_else(|reason| Ok(Err(reason)))? {
            Ok(log) => log,
            Err(reason) => {
                self.report.failed_files.push((input.path.clone(), reason));
                return Ok(());
            }
        };
        (self.options.progress)(Event::Bytes(bytes.len() as u64));
        let lines = memchr::memchr_iter(b'\n', &bytes).count() as u64;
        let unterminated = bytes.last().is_some_and(|&byte| byte != b'\n');
        let last_line = lines + u64::from(unterminated);
        let mut hasher = ContentHasher::new();
        hasher.update(&bytes);
        let content_hash = hasher.hex();
        let known = self.known_runs(reading.source_id);
        if stray > 0 && reading.segment == 0 {
            let reason = format!("{stray} tagged lines before the first record belong to none");
            let (path, strict) = (input.path.clone(), self.options.strict);
            self.report.note(path, 0, reason, strict)?;
        }
        self.told(&runs, known, input)?;
        let records = runs.len().saturating_sub(known) as u64;
        let closed = Closed {
            dataset: NAME,
            path: input.path.clone(),
            compression: compression.map(Compression::name),
            crlf: None,
            end_byte: bytes.len() as u64,
            content_hash,
            line_count: (last_line + 1).saturating_sub(reading.first_line),
            records,
            rejects: 0,
            verbatim: 0,
            other_count: 0,
            open_line: None,
            same_as: None,
            about: About::default(),
            reading,
        };
        self.report.files += 1;
        self.report.renamed(&closed);
        self.report.grown_files += u64::from(closed.reading.segment > 0);
        self.report.lines += closed.line_count;
        self.report.bytes_in += bytes.len() as u64 - closed.reading.first_byte;
        self.report.records += records;
        self.ledger.add(closed.as_source());
        let platform: Arc<str> = Arc::from(platform);
        let reading = &closed.reading;
        let start = usize::try_from(reading.first_byte).unwrap_or(usize::MAX);
        let packed = packed::runs(&runs, known, &bytes, start, reading.first_line);
        let in_columns = packed.is_some();
        let packed = packed.unwrap_or_default().into_iter().map(Some);
        let packed = packed.chain(std::iter::repeat(None));
        let source_id = reading.source_id;
        for (run, text) in runs.into_iter().skip(known).zip(packed) {
            let row = Row::new(run, source_id, text);
            self.rows.push((Arc::clone(&platform), row));
        }
        let text = bytes.get(start..).unwrap_or(&[]).to_vec();
        self.held_bytes += text.len();
        self.held.push(Held {
            closed,
            text,
            in_columns,
        });
        Ok(())
    }

    /// Records of a source that the ledger knows of.
    fn known_runs(&self, source_id: i64) -> usize {
        let in_ledger = self.ledger.records_of.get(&source_id).copied().unwrap_or(0);
        usize::try_from(in_ledger).unwrap_or(usize::MAX)
    }

    /// Notes what was odd, and counts what failed.
    fn told(&mut self, runs: &[Run], known: usize, input: &Input) -> Result<()> {
        for run in runs.iter().skip(known) {
            let failed = stated_status(run).is_some_and(|status| status != "success");
            self.report.failed_records += u64::from(failed);
            for (line, reason) in &run.notes {
                let strict = self.options.strict;
                self.report
                    .note(input.path.clone(), *line, reason.clone(), strict)?;
            }
        }
        Ok(())
    }

    /// Makes all logs so far part of the store. False where another run is about to do so with one
    /// of them.
    async fn commit(&mut self) -> Result<bool> {
        let mut held = std::mem::take(&mut self.held);
        let rows = std::mem::take(&mut self.rows);
        self.held_bytes = 0;
        if held.is_empty() || self.options.dry_run {
            return Ok(true);
        }
        let store = self.commits.store;
        let done = group::commit(store, &rows).await?;
        let mut texts: BTreeMap<i64, (String, &[u8])> = BTreeMap::new();
        for log in &mut held {
            if log.closed.same_as.is_none() && !log.in_columns {
                let id = text_id(&log.text);
                log.closed.about.text_id = Some(id);
                let name = log.closed.reading.name.clone();
                texts.entry(id).or_insert((name, &log.text));
            }
        }
        commit_texts(store, &mut self.texts, &texts).await?;
        self.report.new_graphs += done.graphs;
        self.report.new_configurations += done.configurations;
        let closed: Vec<Closed> = held.into_iter().map(|log| log.closed).collect();
        let rows = vec![("records", done.records), ("runs", done.runs)];
        self.commits.add(rows, &closed).await
    }
}

/// A log as it was read.
struct Log {
    runs: Vec<Run>,
    /// Tagged lines before the first run.
    stray: u64,
    bytes: Vec<u8>,
    compression: Option<Compression>,
}

/// All of a log; the reason where it is not taken.
fn read(input: &Input) -> Result<std::result::Result<Log, String>> {
    let (stream, compression) = tsql_formats::open(&input.file)?;
    let bytes = match budget::read(stream, LOG_BYTES) {
        Ok(bytes) => bytes,
        Err(why) => return Ok(Err(why.in_words("of a benchmark log", LOG_BYTES))),
    };
    let mut parser = Parser::new();
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        parser.push_line(line);
    }
    let runs = parser.finish();
    Ok(Ok(Log {
        runs,
        stray: parser.stray_lines(),
        bytes,
        compression,
    }))
}

/// The first hardware that a log names, of which a platform can have the name.
pub(super) fn hardware(input: &Input) -> Result<Option<String>> {
    let (stream, _) = tsql_formats::open(&input.file)?;
    let mut lines = BufReader::new(stream.take(LOG_BYTES));
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = (&mut lines)
            .take(LINE_BYTES)
            .read_until(b'\n', &mut line)
            .map_err(Error::io(&input.file))?;
        if read == 0 {
            return Ok(None);
        }
        let text = String::from_utf8_lossy(&line);
        if let Some((_, name)) = text.split_once("[Config] hardware:") {
            let name = name.trim();
            if platform::is_name(name) {
                return Ok(Some(name.to_owned()));
            }
        }
    }
}

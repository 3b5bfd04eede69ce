//! A benchmark log on its way to its runs.

use std::io::{BufRead as _, BufReader, Read as _};

use tsql_codecs::identity::{ContentHasher, text_id};
use tsql_formats::graphnet::log::{Parser, Run, stated_status};
use tsql_formats::graphnet::{BenchmarkLog, NAME};
use tsql_formats::{Compression, Format as _, Input, Opened, Passed};

use super::columns::Row;
use super::packed;
use crate::error::{Error, Result};
use crate::formats::taking::{Hand, Piece, Told};
use crate::formats::{budget, platform};
use crate::ledger::{About, Closed, Ledger, Plan, Reading, Source};

/// Most bytes of a log, after decompression.
const LOG_BYTES: u64 = 128 << 20;

/// Bytes of a line in which the hardware is looked for.
const LINE_BYTES: u64 = 1 << 20;

/// A log that was read and not parsed.
pub(crate) struct Work {
    reading: Reading,
    path: String,
    bytes: Vec<u8>,
    content_hash: String,
    compression: Option<Compression>,
    /// Records that the ledger knows of.
    known: usize,
}

/// A log that was parsed.
pub(crate) struct Read {
    /// What it says that is to be told, and its row in the ledger.
    pub(super) told: Told,
    pub(super) rows: Vec<Row>,
    /// Where the columns of its runs do not give it back: its identifier and itself, from where the
    /// store's knowledge of it ends.
    pub(super) text: Option<(i64, Vec<u8>)>,
    /// Bytes of that.
    pub(super) new_bytes: usize,
}

/// Reads a log, unless the store has it.
pub(super) fn log(
    input: &Input,
    compression: Option<Compression>,
    platform: &str,
    ledger: &mut Ledger,
    hand: &mut Hand<'_, Work>,
) -> Result<Option<()>> {
    let path = input.path.clone();
    if hand(Piece::Taken(BenchmarkLog.described())).is_none() {
        return Ok(None);
    }
    let opened = match input.opened() {
        Ok(opened) => opened,
        Err(error) => return unread(error.into(), path, hand),
    };
    let reading = match ledger.plan(NAME, platform, input, &opened, compression) {
        Ok(Plan::Unchanged) => return Ok(hand(Piece::Unchanged(1))),
        Ok(Plan::Alias(alias)) => return Ok(hand(Piece::Alias(alias, path))),
        Ok(Plan::Read(reading)) => reading,
        Err(error) => return unread(error, path, hand),
    };
    let passed = Passed::default();
    let (stream, compression) = match opened.stream(&passed) {
        Ok(stream) => stream,
        Err(error) => return Ok(hand(Piece::Failed(path, error.to_string()))),
    };
    let bytes = match budget::read(stream, LOG_BYTES) {
        Ok(bytes) => bytes,
        Err(why) => {
            let reason = why.in_words("of a benchmark log", LOG_BYTES);
            return Ok(hand(Piece::Failed(path, reason)));
        }
    };
    if hand(Piece::Bytes(passed.take().unwrap_or_default())).is_none() {
        return Ok(None);
    }
    let content_hash = ContentHasher::of(&bytes);
    let source_id = reading.source_id;
    let known = ledger.records_of.get(&source_id).copied().unwrap_or(0);
    ledger.add(Source::being_read(
        &reading,
        bytes.len() as u64,
        content_hash.clone(),
    ));
    let work = Work {
        reading,
        path: path.clone(),
        bytes,
        content_hash,
        compression,
        known: usize::try_from(known).unwrap_or(usize::MAX),
    };
    Ok(hand(Piece::Work(path, Some(source_id), work)))
}

/// Hands on why a log could not be opened.
fn unread(error: Error, path: String, hand: &mut Hand<'_, Work>) -> Result<Option<()>> {
    match error {
        Error::Io { source, .. } => Ok(hand(Piece::Failed(path, source.to_string()))),
        other => Err(other),
    }
}

/// The runs of a log.
///
/// # Errors
/// A log without any.
pub(super) fn parse(work: Work) -> std::result::Result<Read, String> {
    let Work { reading, bytes, .. } = &work;
    let mut parser = Parser::new();
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        parser.push_line(line);
    }
    let (runs, stray) = (parser.finish(), parser.stray_lines());
    if runs.is_empty() {
        return Err(format!(
            "a benchmark log without a record: {stray} lines with tags, none of which begins one, as `[Processing]` and `[Config] model` do"
        ));
    }
    let mut told = Told {
        bytes: bytes.len() as u64 - reading.first_byte,
        ..Told::default()
    };
    if stray > 0 && reading.segment == 0 {
        let reason = format!("{stray} tagged lines before the first record belong to none");
        told.notes.push((work.path.clone(), 0, reason));
    }
    for run in runs.iter().skip(work.known) {
        let failed = stated_status(run).is_some_and(|status| status != "success");
        told.failed_records += u64::from(failed);
        let notes = run.notes.iter();
        let notes = notes.map(|(line, reason)| (work.path.clone(), *line, reason.clone()));
        told.notes.extend(notes);
    }
    let start = usize::try_from(reading.first_byte).unwrap_or(usize::MAX);
    let packed = packed::runs(&runs, work.known, bytes, start, reading.first_line);
    let new = bytes.get(start..).unwrap_or(&[]);
    let text = packed.is_none().then(|| (text_id(new), new.to_vec()));
    let new_bytes = new.len();
    told.closed.push(closed(&work, &runs, text.as_ref()));
    let source_id = reading.source_id;
    let packed = packed.unwrap_or_default().into_iter().map(Some);
    let packed = packed.chain(std::iter::repeat(None));
    let new_runs = runs.into_iter().skip(work.known).zip(packed);
    Ok(Read {
        told,
        rows: new_runs
            .map(|(run, text)| Row::new(run, source_id, text))
            .collect(),
        text,
        new_bytes,
    })
}

/// A log's row in the ledger.
fn closed(work: &Work, runs: &[Run], text: Option<&(i64, Vec<u8>)>) -> Closed {
    let bytes = &work.bytes;
    let lines = memchr::memchr_iter(b'\n', bytes).count() as u64;
    let unterminated = bytes.last().is_some_and(|&byte| byte != b'\n');
    let last_line = lines + u64::from(unterminated);
    let whole = Closed::whole(
        NAME,
        work.reading.clone(),
        work.path.clone(),
        bytes.len() as u64,
        work.content_hash.clone(),
    );
    Closed {
        compression: work.compression.map(Compression::name),
        line_count: (last_line + 1).saturating_sub(work.reading.first_line),
        records: runs.len().saturating_sub(work.known) as u64,
        about: About {
            text_id: text.map(|(id, _)| *id),
            ..About::default()
        },
        ..whole
    }
}

/// The first hardware that a log configures, else profiles, of which a platform can have the name.
pub(super) fn hardware(log: &Opened, input: &Input) -> Result<Option<String>> {
    let log = log.stream(&Passed::default());
    let (log, _) = log.map_err(Error::io(&input.file))?;
    let mut lines = BufReader::new(log.take(LOG_BYTES));
    let mut line = Vec::new();
    let mut profiled = None;
    loop {
        line.clear();
        let read = (&mut lines)
            .take(LINE_BYTES)
            .read_until(b'\n', &mut line)
            .map_err(Error::io(&input.file))?;
        if read == 0 {
            return Ok(profiled);
        }
        let text = String::from_utf8_lossy(&line);
        if let Some((_, name)) = text.split_once("[Config] hardware:") {
            let name = name.trim();
            if platform::is_name(name) {
                return Ok(Some(name.to_owned()));
            }
        } else if let Some((_, device)) = text.split_once("[Profiling] Using device: ") {
            // `cuda:0 NVIDIA A100-SXM4-40GB, warm up 3, trials 5`
            let device = device.split(", warm up").next().unwrap_or(device);
            let name = device.split_once(' ').map_or("", |(_, name)| name.trim());
            if profiled.is_none() && platform::is_name(name) {
                profiled = Some(name.to_owned());
            }
        }
    }
}

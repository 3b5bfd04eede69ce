//! Reads and parses benchmark logs.

use std::io::{BufRead as _, BufReader, Read as _};

use tsql_codecs::identity::{ContentHasher, text_id};
use tsql_error::{Error, Result};
use tsql_formats::graphnet::log::{LogParser, Run, stated_status};
use tsql_formats::graphnet::{BenchmarkLog, NAME};
use tsql_formats::{ByteCounter, Compression, FileHandle, Format as _, Input};

use super::columns::RunRow;
use super::packed;
use crate::formats::budget;
use crate::formats::format_reader::{ParseSummary, ReadEvent, Sink};
use crate::formats::platform;
use crate::ingest_log::{DocumentAttributes, FilePlan, IngestLog, ReadPlan, Source, SourceSegment};

/// Maximum size of a log in bytes, after decompression.
const LOG_BYTES: u64 = 128 << 20;

/// Maximum number of bytes per line that are searched for the hardware.
const LINE_BYTES: u64 = 1 << 20;

/// A log that was read but not parsed.
pub(crate) struct LogWork {
    reading: ReadPlan,
    path: String,
    bytes: Vec<u8>,
    content_hash: String,
    compression: Option<Compression>,
    /// Number of records that the ingest log already has.
    known: usize,
}

/// A parsed log.
pub(crate) struct ParsedLog {
    /// Summary for the report, and the segment for the ingest log.
    pub(super) told: ParseSummary,
    pub(super) rows: Vec<RunRow>,
    /// Identifier and new text of the log, if the columns of its runs do not restore it.
    pub(super) text: Option<(i64, Vec<u8>)>,
    /// Number of new bytes.
    pub(super) new_bytes: usize,
}

/// Reads a log, unless the store has it.
pub(super) fn read_log(
    input: &Input,
    compression: Option<Compression>,
    platform: &str,
    ledger: &mut IngestLog,
    hand: &mut Sink<'_, LogWork>,
) -> Result<Option<()>> {
    let path = input.path.clone();
    if hand(ReadEvent::Taken(BenchmarkLog.description())).is_none() {
        return Ok(None);
    }
    let opened = match input.open_file() {
        Ok(opened) => opened,
        Err(error) => return report_open_error(error.into(), path, hand),
    };
    let reading = match ledger.plan(NAME, platform, input, &opened, compression) {
        Ok(FilePlan::Unchanged) => return Ok(hand(ReadEvent::Unchanged(1))),
        Ok(FilePlan::Alias(alias)) => return Ok(hand(ReadEvent::Alias(alias, path))),
        Ok(FilePlan::Read(reading)) => reading,
        Err(error) => return report_open_error(error, path, hand),
    };
    let passed = ByteCounter::default();
    let (stream, compression) = match opened.stream(&passed) {
        Ok(stream) => stream,
        Err(error) => return Ok(hand(ReadEvent::Failed(path, error.to_string()))),
    };
    let bytes = match budget::read_limited(stream, LOG_BYTES) {
        Ok(bytes) => bytes,
        Err(why) => {
            let reason = why.describe("of a benchmark log", LOG_BYTES);
            return Ok(hand(ReadEvent::Failed(path, reason)));
        }
    };
    if hand(ReadEvent::Bytes(passed.take().unwrap_or_default())).is_none() {
        return Ok(None);
    }
    let content_hash = ContentHasher::hash_bytes(&bytes);
    let source_id = reading.source_id;
    let known = ledger.records_of.get(&source_id).copied().unwrap_or(0);
    ledger.add(Source::new_uncommitted(
        &reading,
        bytes.len() as u64,
        content_hash.clone(),
    ));
    let work = LogWork {
        reading,
        path: path.clone(),
        bytes,
        content_hash,
        compression,
        known: usize::try_from(known).unwrap_or(usize::MAX),
    };
    Ok(hand(ReadEvent::Work(path, Some(source_id), work)))
}

/// Passes the reason why a log could not be opened to `hand`.
fn report_open_error(
    error: Error,
    path: String,
    hand: &mut Sink<'_, LogWork>,
) -> Result<Option<()>> {
    match error {
        Error::Io { source, .. } => Ok(hand(ReadEvent::Failed(path, source.to_string()))),
        other => Err(other),
    }
}

/// Parses the runs of a log.
///
/// # Errors
///
/// A log without runs.
pub(crate) fn parse(work: LogWork) -> std::result::Result<ParsedLog, String> {
    let LogWork { reading, bytes, .. } = &work;
    let mut parser = LogParser::new();
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        parser.push_line(line);
    }
    let (runs, stray) = (parser.finish(), parser.stray_lines());
    if runs.is_empty() {
        return Err(format!(
            "the benchmark log has no records: {stray} tagged lines, but no `[Processing]` or \
             `[Config] model`"
        ));
    }
    let mut told = ParseSummary {
        bytes: bytes.len() as u64 - reading.first_byte,
        ..ParseSummary::default()
    };
    if stray > 0 && reading.segment == 0 {
        let reason = format!("{stray} tagged lines before the first record are ignored");
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
    let packed = packed::pack_runs(&runs, work.known, bytes, start, reading.first_line);
    let new = bytes.get(start..).unwrap_or(&[]);
    let text = packed.is_none().then(|| (text_id(new), new.to_vec()));
    let new_bytes = new.len();
    told.closed.push(log_segment(&work, &runs, text.as_ref()));
    let source_id = reading.source_id;
    let packed = packed.unwrap_or_default().into_iter().map(Some);
    let packed = packed.chain(std::iter::repeat(None));
    let new_runs = runs.into_iter().skip(work.known).zip(packed);
    Ok(ParsedLog {
        told,
        rows: new_runs
            .map(|(run, text)| RunRow::new(run, source_id, text))
            .collect(),
        text,
        new_bytes,
    })
}

/// Creates the segment of a log for the ingest log.
fn log_segment(work: &LogWork, runs: &[Run], text: Option<&(i64, Vec<u8>)>) -> SourceSegment {
    let bytes = &work.bytes;
    let lines = memchr::memchr_iter(b'\n', bytes).count() as u64;
    let unterminated = bytes.last().is_some_and(|&byte| byte != b'\n');
    let last_line = lines + u64::from(unterminated);
    let whole = SourceSegment::for_document(
        NAME,
        work.reading.clone(),
        work.path.clone(),
        bytes.len() as u64,
        work.content_hash.clone(),
    );
    SourceSegment {
        compression: work.compression.map(Compression::name),
        line_count: (last_line + 1).saturating_sub(work.reading.first_line),
        records: runs.len().saturating_sub(work.known) as u64,
        about: DocumentAttributes {
            text_id: text.map(|(id, _)| *id),
            ..DocumentAttributes::default()
        },
        ..whole
    }
}

/// Finds the hardware that a log configures first, else profiles first, and that is a valid platform name.
pub(super) fn find_hardware(log: &FileHandle, input: &Input) -> Result<Option<String>> {
    let log = log.stream(&ByteCounter::default());
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
            if platform::is_valid_name(name) {
                return Ok(Some(name.to_owned()));
            }
        } else if let Some((_, device)) = text.split_once("[Profiling] Using device: ") {
            // `cuda:0 NVIDIA A100-SXM4-40GB, warm up 3, trials 5`
            let device = device.split(", warm up").next().unwrap_or(device);
            let name = device.split_once(' ').map_or("", |(_, name)| name.trim());
            if profiled.is_none() && platform::is_valid_name(name) {
                profiled = Some(name.to_owned());
            }
        }
    }
}

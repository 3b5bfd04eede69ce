//! Reads logs and parses them in chunks.
//!
//! The reader thread plans each file with the ingest log and cuts it into chunks. Other threads parse them.
//! A panic of any of them ends its file at that point, with a message.

use std::io::Read;
use std::sync::Arc;

use tsql_adapters::catch_panic;
use tsql_adapters::ingest_log::{
    Alias, EarlierVersions, FilePlan, IngestLog, PIECE_BYTES, ReadPlan, Source,
};
use tsql_codecs::identity::ContentHasher;
use tsql_error::Result;
use tsql_formats::lines::{Chunks, LineChunk, StreamPosition};
use tsql_formats::log_context::LogContext;
use tsql_formats::rows::LogRows;
use tsql_formats::{ByteCounter, Compression, Dialect, FileHandle, Input, Stream};

use super::super::workers::{OrderedMessages, ParserPool, WorkSender};
use super::super::{Event, Progress};
use super::position::Position;

/// Maximum number of parsed chunks that wait while rows are written. Parsing then continues, even for files
/// of a quarter of a chunk.
const READY_CHUNKS: usize = 192;

/// An event of the files being read, in file order.
#[derive(Debug)]
pub(in crate::ingest) enum Message {
    /// A file starts. Its chunks follow, then its end.
    Start {
        reading: ReadPlan,
        path: String,
        dialect: Dialect,
        compression: Option<Compression>,
        crlf: bool,
    },
    /// Rows of some lines, and the position after them.
    Rows {
        rows: Box<LogRows>,
        after: StreamPosition,
    },
    /// A part of a line that is too long.
    Long {
        part: i32,
        text: Vec<u8>,
        last: bool,
        after: StreamPosition,
    },
    /// The reader panicked this many lines after the previous message. The rest of the file is ignored.
    /// With a path, the file may not have started.
    Broken {
        path: Option<String>,
        line: u64,
        reason: String,
    },
    /// A file ends.
    End(End),
    /// Position of a stream that was already stored.
    Known(Position),
    /// The store already has the file.
    Unchanged,
    /// The store has the same bytes under another name.
    Alias { alias: Box<Alias>, path: String },
    /// The store has earlier versions of the file.
    Versions(EarlierVersions),
    /// The file could not be read.
    Failed { path: String, reason: String },
}

/// State of the reader at the end of a file.
#[derive(Debug)]
pub(in crate::ingest) struct End {
    pub(in crate::ingest) mark: StreamPosition,
    /// Reason if the file ended early: damaged compression, or a disk error.
    pub(in crate::ingest) failure: Option<String>,
}

/// A file to read and the platform of its records.
#[derive(Clone, Debug)]
pub(in crate::ingest) struct Job {
    pub(in crate::ingest) input: Input,
    pub(in crate::ingest) platform: String,
    pub(in crate::ingest) dialect: Dialect,
    pub(in crate::ingest) compression: Option<Compression>,
    /// File with the graphs of its records, if its lines refer to one.
    pub(in crate::ingest) beside: Option<Input>,
}

impl Job {
    /// Dataset, platform and name: the identity of its source.
    pub(in crate::ingest) fn identity(&self) -> (&'static str, &str, &str) {
        let dataset = self.dialect.dataset();
        (dataset, &self.platform, &self.input.name)
    }

    /// Loads the companion file.
    fn load_companion(&self, source_id: i64) -> Result<LogContext> {
        let graphs = match &self.beside {
            Some(input) => tsql_formats::read_companion_graphs(self.dialect, input)?,
            None => None,
        };
        Ok(LogContext {
            source_id,
            folder: self.input.folder(),
            graphs,
        })
    }
}

/// A chunk that is not yet parsed.
struct Chunk {
    bytes: Vec<u8>,
    crlf: bool,
    dialect: Dialect,
    beside: Arc<LogContext>,
    after: StreamPosition,
}

fn parse(chunk: Chunk) -> Message {
    let rows_of = |bytes| {
        #[cfg(test)]
        super::injected_panic::panic_on_marker(bytes);
        chunk.dialect.parse(bytes, chunk.crlf, &chunk.beside)
    };
    let reason = match catch_panic(|| Box::new(rows_of(&chunk.bytes))) {
        Ok(rows) => {
            let after = chunk.after;
            return Message::Rows { rows, after };
        }
        Err(reason) => reason,
    };
    let mut lines = chunk.bytes.split_inclusive(|&byte| byte == b'\n');
    let line = lines.position(|line| catch_panic(|| rows_of(line)).is_err());
    Message::Broken {
        path: None,
        line: line.unwrap_or(0) as u64,
        reason,
    }
}

/// Starts reading and parsing. Dropping the result stops both.
pub(in crate::ingest) fn start(
    ledger: IngestLog,
    threads: usize,
    progress: Progress,
    read: impl FnOnce(&mut Reader<'_>) + Send + 'static,
) -> OrderedMessages<Message> {
    let pool = ParserPool {
        threads,
        waiting: 2,
        ready: READY_CHUNKS.div_ceil(threads),
    };
    pool.start(progress, parse, move |desk| {
        let mut reader = Reader {
            ledger,
            desk,
            path: String::new(),
        };
        if let Err(reason) = catch_panic(|| read(&mut reader)) {
            // The send fails if the receiver is gone.
            let _ = reader.send_panic(reason);
        }
    })
}

pub(in crate::ingest) struct Reader<'a> {
    pub(in crate::ingest) ledger: IngestLog,
    desk: &'a mut WorkSender<Chunk, Message>,
    /// Path of the current file.
    path: String,
}

impl Reader<'_> {
    /// Sends all messages of the files.
    pub(in crate::ingest) fn read_files(&mut self, jobs: &[Job]) {
        for job in jobs {
            if self.desk.is_stopped() {
                break;
            }
            let listened = catch_panic(|| self.read_file(job));
            if listened
                .unwrap_or_else(|reason| self.send_panic(reason))
                .is_none()
            {
                break;
            }
        }
    }

    /// Sends all messages of a file. Returns `None` if the receiver is gone.
    fn read_file(&mut self, job: &Job) -> Option<()> {
        let path = &job.input.path;
        self.desk.report_progress(Event::File(path));
        self.path.clone_from(path);
        let opened = match job.input.open_file() {
            Ok(opened) => opened,
            Err(error) => return self.fail(path, error.to_string()),
        };
        let (dataset, platform) = (job.dialect.dataset(), job.platform.as_str());
        let plan = self
            .ledger
            .plan(dataset, platform, &job.input, &opened, job.compression);
        for versions in self.ledger.take_versions() {
            self.send(Message::Versions(versions))?;
        }
        match plan {
            Ok(FilePlan::Unchanged) => self.send(Message::Unchanged),
            Ok(FilePlan::Alias(alias)) => {
                let path = path.clone();
                self.send(Message::Alias { alias, path })
            }
            Ok(FilePlan::Read(reading)) => {
                let beside = job.load_companion(reading.source_id);
                match beside.and_then(|beside| Ok((open_chunks(job, &opened, &reading)?, beside))) {
                    Ok((chunks, beside)) => {
                        let beside = Arc::new(beside);
                        let end = self.read_chunks(job, reading, &beside, chunks);
                        end.map(|_| ())
                    }
                    Err(error) => self.fail(path, error.to_string()),
                }
            }
            Err(error) => self.fail(path, error.to_string()),
        }
    }

    pub(in crate::ingest) fn fail(&mut self, path: &str, reason: String) -> Option<()> {
        self.send(Message::Failed {
            path: path.to_owned(),
            reason,
        })
    }

    /// Reports a panic of the reader, within or before a file.
    fn send_panic(&mut self, reason: String) -> Option<()> {
        self.send(Message::Broken {
            path: Some(self.path.clone()),
            line: 0,
            reason,
        })
    }

    pub(in crate::ingest) fn send(&mut self, message: Message) -> Option<()> {
        self.desk.send_message(message)
    }

    /// Sends the chunks of a file, or of a segment of it. Returns the end position.
    pub(in crate::ingest) fn read_chunks<R: Read>(
        &mut self,
        job: &Job,
        reading: ReadPlan,
        beside: &Arc<LogContext>,
        (mut chunks, compression, passed): ChunkedInput<R>,
    ) -> Option<SegmentEnd> {
        let mut piece = chunks.next_chunk();
        let crlf = reading.crlf.unwrap_or_else(|| match &piece {
            Some(LineChunk::Lines(lines)) => memchr::memchr(b'\n', lines)
                .and_then(|end| end.checked_sub(1))
                .is_some_and(|before| lines.get(before) == Some(&b'\r')),
            _ => false,
        });
        let read = reading.clone();
        let mut seen = reading.first_byte;
        let path = job.input.path.clone();
        self.send(Message::Start {
            reading,
            path,
            dialect: job.dialect,
            compression,
            crlf,
        })?;
        self.path.clone_from(&job.input.path);
        while let Some(found) = piece {
            if self.desk.is_stopped() {
                return None;
            }
            let after = chunks.mark();
            let bytes = after.end_byte - seen;
            seen = after.end_byte;
            match found {
                LineChunk::Lines(bytes) => {
                    let chunk = Chunk {
                        bytes,
                        crlf,
                        dialect: job.dialect,
                        beside: Arc::clone(beside),
                        after,
                    };
                    self.desk.send_work(chunk)?;
                }
                LineChunk::Long { part, text, last } => {
                    self.send(Message::Long {
                        part,
                        text,
                        last,
                        after,
                    })?;
                }
            }
            let bytes = passed.take().unwrap_or(bytes);
            self.desk.report_progress(Event::Bytes(bytes));
            piece = chunks.next_chunk();
        }
        let end = End {
            mark: chunks.mark(),
            failure: chunks.failure().map(str::to_owned),
        };
        let end_byte = end.mark.end_byte;
        let hash = end.mark.content_hash.clone();
        self.ledger.add(Source {
            crlf: Some(crlf),
            ..Source::new_uncommitted(&read, end_byte, hash)
        });
        let failed = end.failure.is_some();
        self.send(Message::End(end))?;
        Some(SegmentEnd {
            end_byte,
            hasher: chunks.into_hasher(),
            crlf,
            failed,
        })
    }
}

/// Opens a file in chunks from the start of the read plan. Hashes the bytes before it.
fn open_chunks(job: &Job, opened: &FileHandle, reading: &ReadPlan) -> Result<ChunkedInput<Stream>> {
    let passed = ByteCounter::default();
    let stream = opened.stream(&passed);
    let (mut input, compression) = stream.map_err(tsql_error::Error::io(&job.input.file))?;
    let mut hasher = ContentHasher::new();
    let mut left = reading.first_byte;
    let most = usize::try_from(left).unwrap_or(usize::MAX);
    let mut buffer = vec![0; most.min(PIECE_BYTES)];
    while left > 0 {
        let wanted = usize::try_from(left)
            .unwrap_or(usize::MAX)
            .min(buffer.len());
        let target = buffer.get_mut(..wanted).unwrap_or(&mut []);
        let read = input
            .read(target)
            .map_err(tsql_error::Error::io(&job.input.file))?;
        if read == 0 {
            break;
        }
        hasher.update(target.get(..read).unwrap_or(&[]));
        left -= read as u64;
    }
    let chunks = Chunks::new(input, hasher, reading.first_byte);
    Ok((chunks, compression, passed))
}

/// End of a segment.
pub(in crate::ingest) struct SegmentEnd {
    pub(in crate::ingest) end_byte: u64,
    /// Hash state up to the end.
    pub(in crate::ingest) hasher: ContentHasher,
    pub(in crate::ingest) crlf: bool,
    /// The input ended early.
    pub(in crate::ingest) failed: bool,
}

/// Chunks, compression, and counter of the bytes read.
type ChunkedInput<R> = (Chunks<R>, Option<Compression>, ByteCounter);

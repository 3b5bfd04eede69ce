//! Logs to parsed chunks.
//!
//! The thread that reads plans each file against the ledger and cuts it into chunks, which others parse. A panic
//! of any of them ends its file where it was, with a message.

use std::io::Read;
use std::sync::Arc;

use tsql_codecs::identity::ContentHasher;
use tsql_formats::beside::Beside;
use tsql_formats::lines::{Chunks, Mark, Piece};
use tsql_formats::rows::Rows;
use tsql_formats::{Compression, Dialect, Input, Opened, Passed, Stream};

use super::super::workers::{Desk, Ordered, Pool, caught};
use super::super::{Event, Progress};
use super::position::Position;
use crate::error::Result;
use crate::ledger::{Alias, Ledger, PIECE_BYTES, Plan, Reading, Source, Versions};

/// Parsed chunks that may wait while rows are written: so parsing goes on, also of files of a quarter of a chunk.
const READY: usize = 192;

/// Something about the files being read, in their order.
#[derive(Debug)]
pub(in crate::ingest) enum Message {
    /// A file begins; its chunks follow, then its end.
    Start {
        reading: Reading,
        path: String,
        dialect: Dialect,
        compression: Option<Compression>,
        crlf: bool,
    },
    /// Some of its lines, and how far they go.
    Rows { rows: Box<Rows>, after: Mark },
    /// A part of a line that is too long.
    Long {
        part: i32,
        text: Vec<u8>,
        last: bool,
        after: Mark,
    },
    /// Reading panicked so many lines after those before, and nothing more of the file counts. With
    /// a path: maybe before the file began.
    Broken {
        path: Option<String>,
        line: u64,
        reason: String,
    },
    /// The file ends.
    End(End),
    /// So much of a stream was there already.
    Known(Position),
    /// The store has it already.
    Unchanged,
    /// The store has its bytes under another name.
    Alias {
        alias: Box<Alias>,
        path: String,
        dialect: Dialect,
    },
    /// The store has earlier versions of it.
    Versions(Versions),
    /// It could not be read.
    Failed { path: String, reason: String },
}

/// What the reader knows of a file at its end.
#[derive(Debug)]
pub(in crate::ingest) struct End {
    pub(in crate::ingest) mark: Mark,
    /// The file broke off here: damaged compression, a failing disk.
    pub(in crate::ingest) failure: Option<String>,
}

/// One file to read and the platform of its records.
#[derive(Clone, Debug)]
pub(in crate::ingest) struct Job {
    pub(in crate::ingest) input: Input,
    pub(in crate::ingest) platform: String,
    pub(in crate::ingest) dialect: Dialect,
    pub(in crate::ingest) compression: Option<Compression>,
    /// The file with the graphs of its records, where its lines refer to one.
    pub(in crate::ingest) beside: Option<Input>,
}

impl Job {
    /// Dataset, platform and name: what its source is known by.
    pub(in crate::ingest) fn identity(&self) -> (&'static str, &str, &str) {
        let dataset = self.dialect.dataset();
        (dataset, &self.platform, &self.input.name)
    }

    /// What its lines refer to.
    fn beside(&self, source_id: i64) -> Result<Beside> {
        let graphs = match &self.beside {
            Some(input) => tsql_formats::graphs(self.dialect, input)?,
            None => None,
        };
        Ok(Beside {
            source_id,
            folder: self.input.folder(),
            graphs,
        })
    }
}

/// A chunk on its way to a parser.
struct Chunk {
    bytes: Vec<u8>,
    crlf: bool,
    dialect: Dialect,
    beside: Arc<Beside>,
    after: Mark,
}

fn parse(chunk: Chunk) -> Message {
    let rows_of = |bytes| {
        #[cfg(test)]
        super::failing::look(bytes);
        chunk.dialect.parse(bytes, chunk.crlf, &chunk.beside)
    };
    let reason = match caught(|| Box::new(rows_of(&chunk.bytes))) {
        Ok(rows) => {
            let after = chunk.after;
            return Message::Rows { rows, after };
        }
        Err(reason) => reason,
    };
    let mut lines = chunk.bytes.split_inclusive(|&byte| byte == b'\n');
    let line = lines.position(|line| caught(|| rows_of(line)).is_err());
    Message::Broken {
        path: None,
        line: line.unwrap_or(0) as u64,
        reason,
    }
}

/// Starts to read and parse. Dropping the result ends that.
pub(in crate::ingest) fn start(
    ledger: Ledger,
    threads: usize,
    progress: Progress,
    read: impl FnOnce(&mut Reader<'_>) + Send + 'static,
) -> Ordered<Message> {
    let pool = Pool {
        threads,
        waiting: 2,
        ready: READY.div_ceil(threads),
    };
    pool.start(progress, parse, move |desk| {
        let mut reader = Reader {
            ledger,
            desk,
            path: String::new(),
        };
        if let Err(reason) = caught(|| read(&mut reader)) {
            // Nobody listens any more where this is not taken.
            let _ = reader.broken(reason);
        }
    })
}

pub(in crate::ingest) struct Reader<'a> {
    pub(in crate::ingest) ledger: Ledger,
    desk: &'a mut Desk<Chunk, Message>,
    /// What is being read.
    path: String,
}

impl Reader<'_> {
    /// Hands on everything of the files.
    pub(in crate::ingest) fn files(&mut self, jobs: &[Job]) {
        for job in jobs {
            if self.desk.is_stopped() {
                break;
            }
            let listened = caught(|| self.file(job));
            if listened
                .unwrap_or_else(|reason| self.broken(reason))
                .is_none()
            {
                break;
            }
        }
    }

    /// Hands on everything of a file; `None` where nobody listens any more.
    fn file(&mut self, job: &Job) -> Option<()> {
        let path = &job.input.path;
        self.desk.show(Event::File(path));
        self.path.clone_from(path);
        let opened = match job.input.opened() {
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
            Ok(Plan::Unchanged) => self.send(Message::Unchanged),
            Ok(Plan::Alias(alias)) => {
                let (path, dialect) = (path.clone(), job.dialect);
                self.send(Message::Alias {
                    alias,
                    path,
                    dialect,
                })
            }
            Ok(Plan::Read(reading)) => {
                let beside = job.beside(reading.source_id);
                match beside.and_then(|beside| Ok((chunks(job, &opened, &reading)?, beside))) {
                    Ok((chunks, beside)) => {
                        let beside = Arc::new(beside);
                        let end = self.read(job, reading, &beside, chunks);
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

    /// Tells that reading panicked within a file, or before one.
    fn broken(&mut self, reason: String) -> Option<()> {
        self.send(Message::Broken {
            path: Some(self.path.clone()),
            line: 0,
            reason,
        })
    }

    pub(in crate::ingest) fn send(&mut self, message: Message) -> Option<()> {
        self.desk.tell(message)
    }

    /// Hands on what `chunks` give of a file, or of a segment of it; returns where that ends.
    pub(in crate::ingest) fn read<R: Read>(
        &mut self,
        job: &Job,
        reading: Reading,
        beside: &Arc<Beside>,
        (mut chunks, compression, passed): Cut<R>,
    ) -> Option<SegmentEnd> {
        let mut piece = chunks.next_piece();
        let crlf = reading.crlf.unwrap_or_else(|| match &piece {
            Some(Piece::Lines(lines)) => memchr::memchr(b'\n', lines)
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
                Piece::Lines(bytes) => {
                    let chunk = Chunk {
                        bytes,
                        crlf,
                        dialect: job.dialect,
                        beside: Arc::clone(beside),
                        after,
                    };
                    self.desk.work(chunk)?;
                }
                Piece::Long { part, text, last } => {
                    self.send(Message::Long {
                        part,
                        text,
                        last,
                        after,
                    })?;
                }
            }
            let bytes = passed.take().unwrap_or(bytes);
            self.desk.show(Event::Bytes(bytes));
            piece = chunks.next_piece();
        }
        let end = End {
            mark: chunks.mark(),
            failure: chunks.failure().map(str::to_owned),
        };
        let end_byte = end.mark.end_byte;
        let hash = end.mark.content_hash.clone();
        self.ledger.add(Source {
            crlf: Some(crlf),
            ..Source::being_read(&read, end_byte, hash)
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

/// A file in chunks from where the reading starts; hashes its way there.
fn chunks(job: &Job, opened: &Opened, reading: &Reading) -> Result<Cut<Stream>> {
    let passed = Passed::default();
    let stream = opened.stream(&passed);
    let (mut input, compression) = stream.map_err(crate::Error::io(&job.input.file))?;
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
            .map_err(crate::Error::io(&job.input.file))?;
        if read == 0 {
            break;
        }
        hasher.update(target.get(..read).unwrap_or(&[]));
        left -= read as u64;
    }
    let chunks = Chunks::new(input, hasher, reading.first_byte);
    Ok((chunks, compression, passed))
}

/// Where the reading of a segment ended.
pub(in crate::ingest) struct SegmentEnd {
    pub(in crate::ingest) end_byte: u64,
    /// Has seen the file up to there.
    pub(in crate::ingest) hasher: ContentHasher,
    pub(in crate::ingest) crlf: bool,
    /// The input broke off.
    pub(in crate::ingest) failed: bool,
}

/// What is read, what it was compressed with, and how much of the file was read.
type Cut<R> = (Chunks<R>, Option<Compression>, Passed);

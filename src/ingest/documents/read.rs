//! Files, and files in archives, to documents: one thread looks at all of them in order, the
//! others parse.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;

use tokio::sync::mpsc;
use tsql_codecs::identity::ContentHasher;
use tsql_formats::exported::ExportedFile;
use tsql_formats::naming::readable_path;
use tsql_formats::tpugraphs::{self, Document, Place};
use tsql_formats::{Format, Head, Input, Looks};

use super::super::ledger::{Alias, Ledger, Plan, Reading, Source, UNCOMMITTED};
use super::super::workers::{Numbered, Ordered, caught, workers};
use super::super::{Event, Progress, SkippedFile};
use crate::error::{Error, Result};

/// A member of a compressed archive is kept in memory up to this size, else in a temporary file.
const SPOOL_BYTES: usize = 8 << 20;

/// What became of a file, in the order of the files.
pub(super) enum Message {
    /// It was read.
    Document(Box<Found>),
    /// The store has it already.
    Unchanged,
    /// The store has its bytes under another name.
    Alias { alias: Box<Alias>, path: String },
    /// A file in an archive that no reader takes there.
    Skipped(SkippedFile),
    /// It was refused.
    Failed {
        path: String,
        reason: String,
        source_id: Option<i64>,
    },
}

/// A document and where it was found.
pub(super) struct Found {
    pub(super) reading: Reading,
    pub(super) path: String,
    pub(super) place: Place,
    pub(super) bytes: u64,
    pub(super) content_hash: String,
    pub(super) document: Document,
}

trait Bytes: Read + Seek + Send {}

impl<T: Read + Seek + Send> Bytes for T {}

/// A file on its way to a parser.
struct Work {
    reading: Reading,
    path: String,
    place: Place,
    bytes: u64,
    content_hash: String,
    input: Box<dyn Bytes>,
}

/// Starts reading `inputs` with `parsers` parsing threads. Dropping the result, or setting `stop`,
/// ends the threads.
pub(super) fn start(
    inputs: Vec<(Input, Format)>,
    platform: Option<String>,
    ledger: Ledger,
    parsers: usize,
    progress: Progress,
    stop: Arc<AtomicBool>,
) -> Ordered<Message> {
    let (work, results, messages) = workers(parsers, 1, 1, parse);
    std::thread::spawn(move || {
        let mut reader = Reader {
            platform,
            ledger,
            work,
            results,
            number: 0,
            progress,
            stop,
        };
        for (input, format) in inputs {
            let listened = caught(|| reader.input(&input, &format));
            let failed = |reason| reader.fail(input.path.clone(), reason);
            if listened.unwrap_or_else(failed).is_none() {
                break;
            }
        }
    });
    messages
}

fn parse(work: Work) -> Message {
    let buffered = BufReader::with_capacity(1 << 16, work.input);
    match caught(|| tpugraphs::read(buffered)).and_then(|document| document) {
        Ok(document) => Message::Document(Box::new(Found {
            reading: work.reading,
            path: work.path,
            place: work.place,
            bytes: work.bytes,
            content_hash: work.content_hash,
            document,
        })),
        Err(reason) => Message::Failed {
            path: work.path,
            reason,
            source_id: Some(work.reading.source_id),
        },
    }
}

struct Reader {
    /// What was asked for.
    platform: Option<String>,
    ledger: Ledger,
    work: SyncSender<Numbered<Work>>,
    results: mpsc::Sender<Numbered<Message>>,
    number: u64,
    progress: Progress,
    stop: Arc<AtomicBool>,
}

impl Reader {
    /// Hands on all documents of an input; `None` where nobody listens any more.
    fn input(&mut self, input: &Input, format: &Format) -> Option<()> {
        (self.progress)(Event::File(&input.path));
        let located = input.file.to_string_lossy();
        let taken = match format {
            Format::Npz => File::open(&input.file)
                .map_err(Error::io(&input.file))
                .and_then(|file| {
                    let was = input.was(tpugraphs::NAME);
                    let place = was.map_or_else(|| Place::of(&located), recalled);
                    let platform = was.map(|file| file.platform.as_str());
                    let (name, path) = (&input.name, input.path.clone());
                    self.document(Box::new(file), name, path, place, platform)
                }),
            _ => self.archive(input, &located),
        };
        match taken {
            Ok(listened) => listened,
            Err(error) => self.fail(input.path.clone(), error.to_string()),
        }
    }

    /// Every npz file in a tar.
    fn archive(&mut self, input: &Input, located: &str) -> Result<Option<()>> {
        let (stream, compression) = tsql_formats::open(&input.file)?;
        if compression.is_some() {
            return self.members(input, located, tar::Archive::new(stream), |mut entry| {
                let mut spooled = tempfile::spooled_tempfile(SPOOL_BYTES);
                io::copy(&mut entry, &mut spooled)?;
                Ok(Box::new(spooled) as Box<dyn Bytes>)
            });
        }
        let file = File::open(&input.file).map_err(Error::io(&input.file))?;
        self.members(input, located, tar::Archive::new(file), |entry| {
            let section = Section {
                file: File::open(&input.file)?,
                start: entry.raw_file_position(),
                length: entry.size(),
                at: 0,
            };
            Ok(Box::new(section) as Box<dyn Bytes>)
        })
    }

    fn members<R: Read>(
        &mut self,
        input: &Input,
        located: &str,
        mut archive: tar::Archive<R>,
        open: impl Fn(tar::Entry<'_, R>) -> io::Result<Box<dyn Bytes>>,
    ) -> Result<Option<()>> {
        let broken = |error: io::Error| Error::Source {
            location: input.path.clone(),
            reason: error.to_string(),
        };
        for entry in archive.entries().map_err(broken)? {
            let mut entry = entry.map_err(broken)?;
            if !entry.header().entry_type().is_file() {
                continue;
            }
            let name = readable_path(&entry.path().map_err(broken)?);
            let name = name.trim_start_matches("./").to_owned();
            let path = format!("{}/{name}", input.path);
            let listened = if name.ends_with(".npz") {
                let place = Place::of(&format!("{located}/{name}"));
                self.document(open(entry).map_err(broken)?, &name, path, place, None)?
            } else {
                let looks = match Head::new(&mut entry).tell().map_err(broken)? {
                    Format::Unknown(looks) => looks,
                    _ => Looks::new("a log beside npz files"),
                };
                self.send(Message::Skipped(SkippedFile::found(path, &looks)))
            };
            if listened.is_none() {
                return Ok(None);
            }
        }
        Ok(Some(()))
    }

    /// Plans a document and hands it to the parsers, unless the store has it.
    fn document(
        &mut self,
        mut input: Box<dyn Bytes>,
        name: &str,
        path: String,
        place: Place,
        recalled_platform: Option<&str>,
    ) -> Result<Option<()>> {
        if self.stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let (bytes, content_hash) = hashed(&mut input).map_err(Error::io(&path))?;
        (self.progress)(Event::Bytes(bytes));
        let alike = |source: &Source| {
            let other = Place::of(&source.name);
            source.collection == place.collection
                && source.split == place.split
                && other.stem == place.stem
        };
        let platform = self.platform.as_deref().or(recalled_platform);
        let (dataset, platform) = (tpugraphs::NAME, platform.unwrap_or(tpugraphs::PLATFORM));
        let plan = self
            .ledger
            .plan_document(dataset, platform, name, bytes, &content_hash, alike);
        let reading = match plan {
            Plan::Unchanged => return Ok(self.send(Message::Unchanged)),
            Plan::Alias(alias) => return Ok(self.send(Message::Alias { alias, path })),
            Plan::Read(reading) => reading,
        };
        self.ledger.add(Source {
            source_id: reading.source_id,
            platform: reading.platform.clone(),
            name: reading.name.clone(),
            segments: UNCOMMITTED,
            end_byte: bytes,
            last_line: 0,
            open_line: None,
            content_hash: content_hash.clone(),
            crlf: None,
            same_as: None,
            collection: place.collection.clone(),
            split: place.split.clone(),
            sample_id: None,
            arrays: None,
        });
        let work = Work {
            reading,
            path,
            place,
            bytes,
            content_hash,
            input,
        };
        let number = self.number;
        self.number += 1;
        Ok(self.work.send((number, work)).ok())
    }

    fn fail(&mut self, path: String, reason: String) -> Option<()> {
        self.send(Message::Failed {
            path,
            reason,
            source_id: None,
        })
    }

    fn send(&mut self, message: Message) -> Option<()> {
        let number = self.number;
        self.number += 1;
        self.results.blocking_send((number, message)).ok()
    }
}

/// Where a file of an export stood.
fn recalled(file: &ExportedFile) -> Place {
    Place {
        collection: file.collection.clone(),
        split: file.split.clone(),
        ..Place::of(&file.name)
    }
}

/// Size and hash of all bytes; back at the start afterwards.
fn hashed(input: &mut Box<dyn Bytes>) -> io::Result<(u64, String)> {
    let mut hasher = ContentHasher::new();
    let mut buffer = vec![0; 1 << 18];
    let mut bytes = 0;
    input.seek(SeekFrom::Start(0))?;
    loop {
        let read = input.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        hasher.update(buffer.get(..read).unwrap_or(&[]));
        bytes += read as u64;
    }
    input.seek(SeekFrom::Start(0))?;
    Ok((bytes, hasher.hex()))
}

/// A part of a file as if it were all of it.
struct Section {
    file: File,
    start: u64,
    length: u64,
    at: u64,
}

impl Read for Section {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.seek(SeekFrom::Start(self.start + self.at))?;
        let left = self.length.saturating_sub(self.at);
        let read = (&mut self.file).take(left).read(buffer)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Seek for Section {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let target = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(step) => self.length.checked_add_signed(step),
            SeekFrom::Current(step) => self.at.checked_add_signed(step),
        };
        self.at = target.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

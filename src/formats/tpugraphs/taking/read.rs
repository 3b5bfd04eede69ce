//! Files, and files in archives, on their way to a parser.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};

use tsql_codecs::identity::ContentHasher;
use tsql_formats::exported::ExportedFile;
use tsql_formats::tpugraphs::{Arrays, Document, NAME, Place};
use tsql_formats::{Format as _, Head, Input, Kind, Looks, Passed, open_counted};

use crate::error::{Error, Result};
use crate::formats::archive::{self, broken};
use crate::formats::taking::{Hand, Piece, What};
use crate::ledger::{Ledger, Plan, Reading, Source};

/// A member of a compressed archive is kept in memory up to this size, else in a temporary file.
const SPOOL_BYTES: usize = 8 << 20;

/// A document and where it was found.
pub(crate) struct Read {
    pub(super) reading: Reading,
    pub(super) path: String,
    pub(super) place: Place,
    pub(super) bytes: u64,
    pub(super) content_hash: String,
    /// See [`Work`].
    pub(super) known_arrays: Vec<(String, String)>,
    pub(super) document: Document,
}

pub(super) trait Bytes: io::Read + Seek + Send {}

impl<T: io::Read + Seek + Send> Bytes for T {}

/// A file on its way to a parser.
pub(crate) struct Work {
    pub(super) reading: Reading,
    pub(super) path: String,
    pub(super) place: Place,
    pub(super) bytes: u64,
    pub(super) content_hash: String,
    /// The arrays of the files that the store has under its name.
    pub(super) known_arrays: Vec<(String, String)>,
    pub(super) input: Box<dyn Bytes>,
}

/// Looks at files in order.
pub(super) struct Reader<'a, 'h> {
    platform: &'a str,
    ledger: &'a mut Ledger,
    hand: &'a mut Hand<'h, Work>,
    /// What was read of a compressed archive.
    passed: Passed,
}

impl<'a, 'h> Reader<'a, 'h> {
    pub(super) fn new(
        platform: &'a str,
        ledger: &'a mut Ledger,
        hand: &'a mut Hand<'h, Work>,
    ) -> Self {
        Self {
            platform,
            ledger,
            hand,
            passed: Passed::default(),
        }
    }

    /// Hands on all documents of an input; `None` where nobody wants more.
    pub(super) fn read(&mut self, what: &What) -> Result<Option<()>> {
        self.passed = Passed::default();
        match what {
            What::File(input, _) => {
                let file = File::open(&input.file).map_err(Error::io(&input.file))?;
                let was = input.was(NAME);
                let place = was.map_or_else(|| Place::of(&input.file.to_string_lossy()), recalled);
                self.document(Box::new(file), &input.name, input.path.clone(), place)
            }
            What::Archive(input, _) => self.archive(input),
            What::Folder(..) => Ok(Some(())),
        }
    }

    /// Every npz file in a tar.
    fn archive(&mut self, input: &Input) -> Result<Option<()>> {
        let (stream, compression) = open_counted(&input.file, &self.passed)?;
        if compression.is_some() {
            return self.members(input, tar::Archive::new(stream), |mut entry| {
                let mut spooled = tempfile::spooled_tempfile(SPOOL_BYTES);
                io::copy(&mut entry, &mut spooled)?;
                Ok(Box::new(spooled) as Box<dyn Bytes>)
            });
        }
        // Its npz files are read where they lie, each by itself.
        self.passed = Passed::default();
        let file = File::open(&input.file).map_err(Error::io(&input.file))?;
        self.members(input, tar::Archive::new(file), |entry| {
            let section = Section {
                file: File::open(&input.file)?,
                start: entry.raw_file_position(),
                length: entry.size(),
                at: 0,
            };
            Ok(Box::new(section) as Box<dyn Bytes>)
        })
    }

    fn members<R: io::Read>(
        &mut self,
        input: &Input,
        archive: tar::Archive<R>,
        open: impl Fn(tar::Entry<'_, R>) -> io::Result<Box<dyn Bytes>>,
    ) -> Result<Option<()>> {
        let located = input.file.to_string_lossy();
        archive::each(input, archive, |name, mut entry| {
            let path = format!("{}/{name}", input.path);
            if name.ends_with(".npz") {
                let place = Place::of(&format!("{located}/{name}"));
                let opened = open(entry).map_err(broken(input))?;
                return self.document(opened, &name, path, place);
            }
            let looks = match Head::new(&mut entry).tell().map_err(broken(input))? {
                Kind::Unknown(looks) => looks,
                Kind::Blank(_) => Looks::blank(),
                _ => Looks::new("a log beside npz files"),
            };
            Ok((self.hand)(Piece::Skipped(path, looks)))
        })
    }

    /// Plans a document and hands it to the parsers, unless the store has it.
    fn document(
        &mut self,
        mut input: Box<dyn Bytes>,
        name: &str,
        path: String,
        place: Place,
    ) -> Result<Option<()>> {
        if (self.hand)(Piece::Taken(Arrays.described())).is_none() {
            return Ok(None);
        }
        let (bytes, content_hash) = hashed(&mut input).map_err(Error::io(&path))?;
        if (self.hand)(Piece::Bytes(self.passed.take().unwrap_or(bytes))).is_none() {
            return Ok(None);
        }
        let alike = |source: &Source| {
            let other = Place::of(&source.name);
            source.collection == place.collection
                && source.split == place.split
                && other.stem == place.stem
        };
        let plan =
            self.ledger
                .plan_document(NAME, self.platform, name, bytes, &content_hash, alike);
        let reading = match plan {
            Plan::Unchanged => return Ok((self.hand)(Piece::Unchanged(1))),
            Plan::Alias(alias) => return Ok((self.hand)(Piece::Alias(alias, path))),
            Plan::Read(reading) => reading,
        };
        let given = reading.given.as_deref();
        let known_arrays = given.map(|name| self.ledger.arrays_of(&reading.platform, name));
        self.ledger.add(Source {
            collection: place.collection.clone(),
            split: place.split.clone(),
            ..Source::being_read(&reading, bytes, content_hash.clone())
        });
        let work = Work {
            known_arrays: known_arrays.unwrap_or_default(),
            reading,
            path: path.clone(),
            place,
            bytes,
            content_hash,
            input,
        };
        let source_id = Some(work.reading.source_id);
        Ok((self.hand)(Piece::Work(path, source_id, work)))
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
        let read = io::Read::read(input, &mut buffer)?;
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

impl io::Read for Section {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.seek(SeekFrom::Start(self.start + self.at))?;
        let left = self.length.saturating_sub(self.at);
        let read = io::Read::read(&mut io::Read::take(&mut self.file, left), buffer)?;
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

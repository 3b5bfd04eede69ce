//! Files that are opened once: whoever reads one begins where he likes.

use std::fs::{File, FileType};
use std::io::{self, BufRead as _, BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use crate::compression::Compression;
use crate::error::{Error, Result};
use crate::head::{Head, Kind};
use crate::passed::Passed;

/// What a file says, after decompression.
pub type Stream = Box<dyn Read + Send>;

/// Opens a file and undoes its compression.
///
/// # Errors
/// [`Error::Io`] where it cannot be opened or read.
pub fn open(file: &Path) -> Result<(Stream, Option<Compression>)> {
    let opened = Opened::of(file)?;
    opened.stream(&Passed::default()).map_err(Error::io(file))
}

/// A file that was opened, or a part of one, as it lies on the disk. All copies of this value read through the same
/// handle, each from a place of its own.
#[derive(Clone, Debug)]
pub struct Opened {
    file: Arc<File>,
    /// Where in the file it begins, and its bytes; all of the file without that.
    part: Option<(u64, u64)>,
    /// It is a copy of something that cannot be opened, or read, again.
    is_copy: bool,
    /// Its bytes were told to whoever looks at progress when it was copied.
    is_told: bool,
}

impl Opened {
    /// Opens a file. A pipe is read to its end, into a temporary file: it can be opened once, and read once.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn of(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(Error::io(path))?;
        let kind = file.metadata().map_err(Error::io(path))?.file_type();
        if is_pipe(kind) {
            return Self::copied(file).map_err(Error::io(path));
        }
        Ok(Self {
            file: Arc::new(file),
            part: None,
            is_copy: false,
            is_told: false,
        })
    }

    /// All that a stream gives, in a temporary file.
    ///
    /// # Errors
    /// What fails to be read or written.
    pub fn copied(mut stream: impl Read) -> io::Result<Self> {
        let mut spool = Spool::new()?;
        spool.copy(&mut stream)?;
        Ok(Self {
            part: None,
            is_told: false,
            ..spool.part((0, 0))
        })
    }

    /// A part of it, from a byte on, of so many bytes.
    #[must_use]
    pub fn part(&self, start: u64, bytes: u64) -> Self {
        let before = self.part.map_or(0, |(start, _)| start);
        Self {
            part: Some((before.saturating_add(start), bytes)),
            ..self.clone()
        }
    }

    /// Can it be opened again, by the path that it was opened by?
    #[must_use]
    pub fn has_path(&self) -> bool {
        self.part.is_none() && !self.is_copy
    }

    /// Is it a part of a file?
    #[must_use]
    pub fn is_part(&self) -> bool {
        self.part.is_some()
    }

    /// Its bytes.
    ///
    /// # Errors
    /// The system does not say.
    pub fn size(&self) -> io::Result<u64> {
        match self.part {
            Some((_, bytes)) => Ok(bytes),
            None => Ok(self.file.metadata()?.len()),
        }
    }

    /// Of a part: why it is not there as a whole, if the file ends before it does.
    ///
    /// # Errors
    /// The system does not say how long the file is.
    pub fn cut(&self) -> io::Result<Option<String>> {
        let Some((start, bytes)) = self.part else {
            return Ok(None);
        };
        let there = self.file.metadata()?.len().saturating_sub(start);
        Ok((there < bytes).then(|| ends_after(there, bytes)))
    }

    /// How many of so many bytes that were read are still to be told to whoever looks at progress.
    #[must_use]
    pub fn untold(&self, read: u64) -> u64 {
        if self.is_told { 0 } else { read }
    }

    /// Its bytes as they are, from the first on.
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        Bytes {
            opened: self.clone(),
            at: 0,
        }
    }

    /// Its bytes after decompression, from the first on; `passed` says how much of the file, as it lies on the disk,
    /// has been read.
    ///
    /// # Errors
    /// What fails to be read.
    pub fn stream(&self, passed: &Passed) -> io::Result<(Stream, Option<Compression>)> {
        let counted = passed.of(self.bytes(), !self.is_told);
        let mut buffered = BufReader::with_capacity(1 << 16, counted);
        let compression = Compression::of(buffered.fill_buf()?);
        Ok((
            match compression {
                Some(Compression::Gzip) => {
                    Box::new(flate2::bufread::MultiGzDecoder::new(buffered)) as Stream
                }
                Some(Compression::Zstd) => {
                    Box::new(zstd::stream::read::Decoder::with_buffer(buffered)?)
                }
                None => Box::new(buffered),
            },
            compression,
        ))
    }

    /// Tells what it is, and what its bytes are compressed with.
    ///
    /// # Errors
    /// What fails to be read, before it was told.
    pub fn tell(&self) -> io::Result<(Kind, Option<Compression>)> {
        let (stream, compression) = self.stream(&Passed::default())?;
        Ok((Head::new(stream).tell()?, compression))
    }
}

/// The bytes of an [`Opened`].
#[derive(Clone, Debug)]
pub struct Bytes {
    opened: Opened,
    at: u64,
}

impl Read for Bytes {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some((start, bytes)) = self.opened.part else {
            let read = read_at(&self.opened.file, buffer, self.at)?;
            self.at += read as u64;
            return Ok(read);
        };
        let left = usize::try_from(bytes.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let wanted = left.min(buffer.len());
        let buffer = buffer.get_mut(..wanted).unwrap_or(&mut []);
        let read = read_at(&self.opened.file, buffer, start.saturating_add(self.at))?;
        self.at += read as u64;
        if read == 0 && wanted > 0 {
            let reason = ends_after(self.at, bytes);
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, reason));
        }
        Ok(read)
    }
}

impl Seek for Bytes {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let target = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(step) => self.opened.size()?.checked_add_signed(step),
            SeekFrom::Current(step) => self.at.checked_add_signed(step),
        };
        self.at = target.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

/// Why a part is not there as a whole.
fn ends_after(there: u64, bytes: u64) -> String {
    format!("the archive ends after {there} of its {bytes} bytes")
}

/// A temporary file without a name, to which streams are copied one after the other.
#[derive(Debug)]
pub struct Spool {
    file: Arc<File>,
    bytes: u64,
}

impl Spool {
    /// An empty one.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn new() -> io::Result<Self> {
        let file = tsql_folders::nameless().map_err(unwritten)?;
        let (file, bytes) = (Arc::new(file), 0);
        Ok(Self { file, bytes })
    }

    /// Bytes that it has.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Appends a stream to its end: where it begins here, and its bytes. What came before damage is here, too.
    ///
    /// # Errors
    /// What fails to be read or written.
    pub fn copy(&mut self, from: &mut dyn Read) -> io::Result<(u64, u64)> {
        let start = self.bytes;
        let mut buffer = vec![0; 1 << 16];
        loop {
            let read = match from.read(&mut buffer) {
                Ok(0) => return Ok((start, self.bytes - start)),
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let new = buffer.get(..read).unwrap_or(&[]);
            io::Write::write_all(&mut &*self.file, new).map_err(unwritten)?;
            self.bytes += read as u64;
        }
    }

    /// A part of it: where it begins, and its bytes. Whoever copies has told people that its bytes were read.
    #[must_use]
    pub fn part(&self, part: (u64, u64)) -> Opened {
        Opened {
            file: Arc::clone(&self.file),
            part: Some(part),
            is_copy: true,
            is_told: true,
        }
    }
}

fn unwritten(error: io::Error) -> io::Error {
    let hint = "hint: TMPDIR says where temporary files go";
    let reason = format!("it cannot be copied to a temporary file: {error}\n{hint}");
    io::Error::new(error.kind(), reason)
}

#[cfg(unix)]
pub(crate) fn is_pipe(kind: FileType) -> bool {
    std::os::unix::fs::FileTypeExt::is_fifo(&kind)
}

#[cfg(not(unix))]
pub(crate) fn is_pipe(_: FileType) -> bool {
    false
}

#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, at)
}

#[cfg(windows)]
fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, at)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn what_passed_are_bytes_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let content = "the same words again and again\n".repeat(100_000);
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(content.as_bytes()).unwrap();
        let zstd = zstd::encode_all(content.as_bytes(), 1).unwrap();
        for (name, bytes) in [
            ("plain", content.clone().into_bytes()),
            ("gzip", gzip.finish().unwrap()),
            ("zstd", zstd),
        ] {
            let file = folder.path().join(name);
            std::fs::write(&file, &bytes).unwrap();
            let passed = Passed::default();
            assert_eq!(passed.take(), None);
            let opened = Opened::of(&file).unwrap();
            let (mut stream, _) = opened.stream(&passed).unwrap();
            let mut half = vec![0; content.len() / 2];
            stream.read_exact(&mut half).unwrap();
            let first = passed.take().unwrap();
            let rest = io::read_to_string(stream).unwrap();
            assert_eq!(half.len() + rest.len(), content.len());
            let last = passed.take().unwrap();
            assert_eq!(first + last, bytes.len() as u64, "{name}");
            assert!(first > 0, "{name}");
        }
    }

    #[test]
    fn all_read_one_handle_each_from_its_own_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, "0123456789").unwrap();
        let opened = Opened::of(&path).unwrap();
        // Whatever lies there now: the handle is that of the file that was opened.
        std::fs::remove_file(&path).unwrap();
        let (mut one, mut two) = (opened.bytes(), opened.part(3, 4).bytes());
        let mut begin = [0; 5];
        one.read_exact(&mut begin).unwrap();
        assert_eq!(io::read_to_string(&mut two).unwrap(), "3456");
        assert_eq!(io::read_to_string(&mut one).unwrap(), "56789");
        two.seek(SeekFrom::End(-1)).unwrap();
        assert_eq!(io::read_to_string(&mut two).unwrap(), "6");
        assert_eq!(
            io::read_to_string(opened.part(3, 4).part(1, 2).bytes()).unwrap(),
            "45"
        );
        assert!(opened.has_path() && !opened.part(3, 4).has_path());
    }

    #[test]
    fn a_part_behind_the_end_of_its_file_is_no_shorter_one() {
        let mut spool = Spool::new().unwrap();
        assert_eq!(spool.copy(&mut b"abc".as_slice()).unwrap(), (0, 3));
        assert_eq!(spool.copy(&mut b"de".as_slice()).unwrap(), (3, 2));
        assert_eq!(spool.part((0, 3)).cut().unwrap(), None);
        let cut = spool.part((3, 5));
        assert_eq!(cut.size().unwrap(), 5);
        let reason = "the archive ends after 2 of its 5 bytes";
        assert_eq!(cut.cut().unwrap().as_deref(), Some(reason));
        let error = io::read_to_string(cut.bytes()).unwrap_err();
        assert_eq!(error.to_string(), reason);
    }

    #[test]
    fn what_is_copied_is_there_after_its_stream() {
        let opened = Opened::copied(b"words".as_slice()).unwrap();
        assert_eq!(opened.size().unwrap(), 5);
        assert!(!opened.has_path() && !opened.is_part());
        assert_eq!(io::read_to_string(opened.bytes()).unwrap(), "words");
        assert_eq!(opened.untold(7), 7);
    }
}

//! Files that are opened once and read from any position.

use std::fs::{File, FileType};
use std::io::{self, BufRead as _, BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use crate::byte_counter::ByteCounter;
use crate::compression::Compression;
use crate::detect::{DetectedFormat, Head};
use crate::error::{Error, Result};

/// Decompressed content of a file.
pub type Stream = Box<dyn Read + Send>;

/// Opens a file and decompresses it.
///
/// # Errors
/// [`Error::Io`] if it cannot be opened or read.
pub fn open(file: &Path) -> Result<(Stream, Option<Compression>)> {
    let handle = FileHandle::open(file)?;
    handle
        .stream(&ByteCounter::default())
        .map_err(Error::io(file))
}

/// Open file, or a section of one, in its stored (compressed) form. All clones use the same handle but read from their
/// own positions.
#[derive(Clone, Debug)]
pub struct FileHandle {
    file: Arc<File>,
    /// Offset and length of the section in bytes; `None` for the complete file.
    bounds: Option<(u64, u64)>,
    /// Whether it is a copy of something that cannot be opened or read again.
    is_copy: bool,
    /// Whether its bytes were already reported as progress when it was copied.
    is_counted: bool,
}

impl FileHandle {
    /// Opens a file. A pipe is copied to a temporary file because it can be opened and read only once.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(Error::io(path))?;
        let kind = file.metadata().map_err(Error::io(path))?.file_type();
        if is_pipe(kind) {
            return Self::from_stream(file).map_err(Error::io(path));
        }
        Ok(Self {
            file: Arc::new(file),
            bounds: None,
            is_copy: false,
            is_counted: false,
        })
    }

    /// Copies a stream to a temporary file.
    ///
    /// # Errors
    /// Returns an error if reading or writing fails.
    pub fn from_stream(mut stream: impl Read) -> io::Result<Self> {
        let mut spool = Spool::new()?;
        spool.copy(&mut stream)?;
        Ok(Self {
            bounds: None,
            is_counted: false,
            ..spool.section((0, 0))
        })
    }

    /// Returns a section that starts at `start` and has `bytes` bytes.
    #[must_use]
    pub fn section(&self, start: u64, bytes: u64) -> Self {
        let section_start = self.bounds.map_or(0, |(start, _)| start);
        Self {
            bounds: Some((section_start.saturating_add(start), bytes)),
            ..self.clone()
        }
    }

    /// Whether it can be opened again by its path.
    #[must_use]
    pub fn has_path(&self) -> bool {
        self.bounds.is_none() && !self.is_copy
    }

    /// Whether it is a section of a file.
    #[must_use]
    pub fn is_section(&self) -> bool {
        self.bounds.is_some()
    }

    /// Size in bytes.
    ///
    /// # Errors
    /// Returns an error if the metadata cannot be read.
    pub fn size(&self) -> io::Result<u64> {
        match self.bounds {
            Some((_, bytes)) => Ok(bytes),
            None => Ok(self.file.metadata()?.len()),
        }
    }

    /// Returns the reason why a section is incomplete, if the file ends before the section does.
    ///
    /// # Errors
    /// Returns an error if the length of the file cannot be read.
    pub fn truncation(&self) -> io::Result<Option<String>> {
        let Some((start, bytes)) = self.bounds else {
            return Ok(None);
        };
        let available_bytes = self.file.metadata()?.len().saturating_sub(start);
        Ok((available_bytes < bytes).then(|| truncation_reason(available_bytes, bytes)))
    }

    /// Returns how many of these bytes are still to be reported as progress.
    #[must_use]
    pub fn uncounted_bytes(&self, byte_count: u64) -> u64 {
        if self.is_counted { 0 } else { byte_count }
    }

    /// Returns a reader of the stored bytes from the start.
    #[must_use]
    pub fn reader(&self) -> FileReader {
        FileReader {
            handle: self.clone(),
            position: 0,
        }
    }

    /// Returns the decompressed bytes from the start. `counter` counts the stored bytes read.
    ///
    /// # Errors
    /// Returns an error if reading fails.
    pub fn stream(&self, counter: &ByteCounter) -> io::Result<(Stream, Option<Compression>)> {
        let counted = counter.wrap(self.reader(), !self.is_counted);
        let mut buffered = BufReader::with_capacity(1 << 16, counted);
        let compression = Compression::detect(buffered.fill_buf()?);
        Ok((
            match compression {
                Some(Compression::Gzip) => {
                    Box::new(flate2::bufread::MultiGzDecoder::new(buffered)) as Stream
                }
                Some(Compression::Zstd) => {
                    Box::new(zstd::stream::read::Decoder::with_buffer(buffered)?)
                }
                Some(Compression::Bzip2) => Box::new(bzip2::bufread::MultiBzDecoder::new(buffered)),
                Some(Compression::Xz) => {
                    Box::new(liblzma::bufread::XzDecoder::new_multi_decoder(buffered))
                }
                None => Box::new(buffered),
            },
            compression,
        ))
    }

    /// Detects the format and the compression.
    ///
    /// # Errors
    /// Returns an error if reading fails before the format is known.
    pub fn detect_format(&self) -> io::Result<(DetectedFormat, Option<Compression>)> {
        let (stream, compression) = self.stream(&ByteCounter::default())?;
        Ok((Head::new(stream).detect()?, compression))
    }
}

/// Reader of the stored bytes of a [`FileHandle`].
#[derive(Clone, Debug)]
pub struct FileReader {
    handle: FileHandle,
    position: u64,
}

impl Read for FileReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some((start, bytes)) = self.handle.bounds else {
            let length = read_at(&self.handle.file, buffer, self.position)?;
            self.position += length as u64;
            return Ok(length);
        };
        let remaining = usize::try_from(bytes.saturating_sub(self.position)).unwrap_or(usize::MAX);
        let requested = remaining.min(buffer.len());
        let buffer = buffer.get_mut(..requested).unwrap_or(&mut []);
        let length = read_at(
            &self.handle.file,
            buffer,
            start.saturating_add(self.position),
        )?;
        self.position += length as u64;
        if length == 0 && requested > 0 {
            let reason = truncation_reason(self.position, bytes);
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, reason));
        }
        Ok(length)
    }
}

impl Seek for FileReader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let target = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::End(offset) => self.handle.size()?.checked_add_signed(offset),
            SeekFrom::Current(offset) => self.position.checked_add_signed(offset),
        };
        self.position = target.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}

/// Returns the reason why a section is incomplete.
fn truncation_reason(available_bytes: u64, bytes: u64) -> String {
    format!("the archive ends after {available_bytes} of its {bytes} bytes")
}

/// Unnamed temporary file to which streams are appended.
#[derive(Debug)]
pub struct Spool {
    file: Arc<File>,
    bytes: u64,
}

impl Spool {
    /// Creates an empty file.
    ///
    /// # Errors
    /// Returns an error if it cannot be created.
    pub fn new() -> io::Result<Self> {
        let file = tsql_folders::unnamed_file().map_err(spool_error)?;
        let (file, bytes) = (Arc::new(file), 0);
        Ok(Self { file, bytes })
    }

    /// Size in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Appends a stream and returns its offset and length. Data before a failure of the stream is appended, too.
    ///
    /// # Errors
    /// Returns an error if reading or writing fails.
    pub fn copy(&mut self, stream: &mut dyn Read) -> io::Result<(u64, u64)> {
        let start = self.bytes;
        let mut buffer = vec![0; 1 << 16];
        loop {
            let length = match stream.read(&mut buffer) {
                Ok(0) => return Ok((start, self.bytes - start)),
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let chunk = buffer.get(..length).unwrap_or(&[]);
            io::Write::write_all(&mut &*self.file, chunk).map_err(spool_error)?;
            self.bytes += length as u64;
        }
    }

    /// Returns a section by offset and length. The caller has already reported its bytes as progress.
    #[must_use]
    pub fn section(&self, bounds: (u64, u64)) -> FileHandle {
        FileHandle {
            file: Arc::clone(&self.file),
            bounds: Some(bounds),
            is_copy: true,
            is_counted: true,
        }
    }
}

fn spool_error(error: io::Error) -> io::Error {
    let hint = "hint: TMPDIR selects the folder of temporary files";
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
fn read_at(file: &File, buffer: &mut [u8], position: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, position)
}

#[cfg(windows)]
fn read_at(file: &File, buffer: &mut [u8], position: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, position)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn the_counter_counts_bytes_of_the_file() {
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
            let counter = ByteCounter::default();
            assert_eq!(counter.take(), None);
            let handle = FileHandle::open(&file).unwrap();
            let (mut stream, _) = handle.stream(&counter).unwrap();
            let mut first_half = vec![0; content.len() / 2];
            stream.read_exact(&mut first_half).unwrap();
            let first_bytes = counter.take().unwrap();
            let rest = io::read_to_string(stream).unwrap();
            assert_eq!(first_half.len() + rest.len(), content.len());
            let rest_bytes = counter.take().unwrap();
            assert_eq!(first_bytes + rest_bytes, bytes.len() as u64, "{name}");
            assert!(first_bytes > 0, "{name}");
        }
    }

    #[test]
    fn readers_of_one_handle_have_their_own_positions() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, "0123456789").unwrap();
        let handle = FileHandle::open(&path).unwrap();
        // The path may refer to another file by now; the handle still refers to the opened file.
        std::fs::remove_file(&path).unwrap();
        let (mut reader, mut section_reader) = (handle.reader(), handle.section(3, 4).reader());
        let mut first_bytes = [0; 5];
        reader.read_exact(&mut first_bytes).unwrap();
        assert_eq!(io::read_to_string(&mut section_reader).unwrap(), "3456");
        assert_eq!(io::read_to_string(&mut reader).unwrap(), "56789");
        section_reader.seek(SeekFrom::End(-1)).unwrap();
        assert_eq!(io::read_to_string(&mut section_reader).unwrap(), "6");
        assert_eq!(
            io::read_to_string(handle.section(3, 4).section(1, 2).reader()).unwrap(),
            "45"
        );
        assert!(handle.has_path() && !handle.section(3, 4).has_path());
    }

    #[test]
    fn a_section_beyond_the_end_of_its_file_is_truncated() {
        let mut spool = Spool::new().unwrap();
        assert_eq!(spool.copy(&mut b"abc".as_slice()).unwrap(), (0, 3));
        assert_eq!(spool.copy(&mut b"de".as_slice()).unwrap(), (3, 2));
        assert_eq!(spool.section((0, 3)).truncation().unwrap(), None);
        let truncated = spool.section((3, 5));
        assert_eq!(truncated.size().unwrap(), 5);
        let reason = "the archive ends after 2 of its 5 bytes";
        assert_eq!(truncated.truncation().unwrap().as_deref(), Some(reason));
        let error = io::read_to_string(truncated.reader()).unwrap_err();
        assert_eq!(error.to_string(), reason);
    }

    #[test]
    fn a_copied_stream_can_be_read_again() {
        let handle = FileHandle::from_stream(b"words".as_slice()).unwrap();
        assert_eq!(handle.size().unwrap(), 5);
        assert!(!handle.has_path() && !handle.is_section());
        assert_eq!(io::read_to_string(handle.reader()).unwrap(), "words");
        assert_eq!(handle.uncounted_bytes(7), 7);
    }
}

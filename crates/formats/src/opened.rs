//! A file that was opened, its compression undone.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read};
use std::path::Path;

use crate::compression::Compression;
use crate::error::{Error, Result};
use crate::head::{Head, Kind};
use crate::named::Named;
use crate::passed::Passed;

/// What a file says, after decompression.
pub type Stream = Box<dyn Read + Send>;

/// Opens a file and undoes its compression.
///
/// # Errors
/// [`Error::Io`] where it cannot be opened or read.
pub fn open(file: &Path) -> Result<(Stream, Option<Compression>)> {
    open_counted(file, &Passed::default())
}

/// As [`open`]; `passed` says how much of the file, as it lies on the disk, has been read.
///
/// # Errors
/// As [`open`].
pub fn open_counted(file: &Path, passed: &Passed) -> Result<(Stream, Option<Compression>)> {
    let opened = passed.of(File::open(file).map_err(Error::io(file))?);
    let mut buffered = BufReader::with_capacity(1 << 16, opened);
    let head = buffered.fill_buf().map_err(Error::io(file))?;
    let compression = Compression::of(head);
    Ok((
        match compression {
            Some(Compression::Gzip) => {
                Box::new(flate2::bufread::MultiGzDecoder::new(buffered)) as Stream
            }
            Some(Compression::Zstd) => {
                let reader = zstd::stream::read::Decoder::with_buffer(buffered);
                Box::new(reader.map_err(Error::io(file))?)
            }
            None => Box::new(buffered),
        },
        compression,
    ))
}

/// A file whose beginning was read: what it is, and how it goes on.
pub struct Opened {
    /// What it is.
    pub kind: Kind,
    /// What its bytes are compressed with.
    pub compression: Option<Compression>,
    head: Head<Stream>,
}

impl Opened {
    /// Opens a file and tells what it is.
    pub fn of(file: &Path) -> Result<Self> {
        let (stream, compression) = open(file)?;
        let mut head = Head::new(stream);
        let kind = head.tell().map_err(Error::io(file))?;
        Ok(Self {
            kind,
            compression,
            head,
        })
    }

    /// A file that is known to be this, whatever it looks like.
    pub fn known(file: &Path, kind: Kind) -> Result<Self> {
        let (stream, compression) = open(file)?;
        let head = Head::new(stream);
        Ok(Self {
            kind,
            compression,
            head,
        })
    }

    /// The same file as what somebody says it is. An archive stays one: what is said is said of its files.
    #[must_use]
    pub fn taken_as(mut self, format: Option<Named>) -> Self {
        if let Some(format) = format
            && !matches!(self.kind, Kind::Archive)
        {
            self.kind = format.kind();
        }
        self
    }

    /// All of the file, from its beginning on.
    pub fn into_reader(self) -> impl Read {
        self.head.into_reader()
    }
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
            let (mut stream, _) = open_counted(&file, &passed).unwrap();
            let mut half = vec![0; content.len() / 2];
            stream.read_exact(&mut half).unwrap();
            let first = passed.take().unwrap();
            let rest = std::io::read_to_string(stream).unwrap();
            assert_eq!(half.len() + rest.len(), content.len());
            let last = passed.take().unwrap();
            assert_eq!(first + last, bytes.len() as u64, "{name}");
            assert!(first > 0, "{name}");
        }
    }
}

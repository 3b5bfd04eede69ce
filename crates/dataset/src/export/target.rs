//! Output file of a source. It appears when it is complete, and replaces a file only on request.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::write::GzEncoder;
use tempfile::NamedTempFile;
use tsql_adapters::formats::Seekable;
use tsql_codecs::identity::ContentHasher;
use tsql_error::{Error, Result};
use tsql_folders::{Scratch, named_temp_file_in};
use tsql_formats::Compression;

/// Compression level of zstd, the default of its command.
const ZSTD_LEVEL: i32 = 3;

/// Level of exported xz files.
const XZ_LEVEL: u32 = 6;

/// An output file.
pub struct ExportTarget {
    /// `None`: the bytes are only verified.
    out: Option<OutputEncoder>,
    /// The folder of the temporary file. Dropping the last reference removes it.
    _scratch: Option<Arc<Scratch>>,
    path: PathBuf,
    compression: Option<Compression>,
    overwrite: bool,
}

type Plain = BufWriter<NamedTempFile>;

enum OutputEncoder {
    Plain(Plain),
    Gzip(GzEncoder<Plain>),
    Zstd(zstd::stream::write::Encoder<'static, Plain>),
    Bzip2(bzip2::write::BzEncoder<Plain>),
    Xz(liblzma::write::XzEncoder<Plain>),
}

/// Result of an output file.
pub enum ExportOutcome {
    /// The file was written.
    Written,
    /// It existed with the same content (in any container).
    AsItWas,
    /// Another file exists.
    Refused(String),
}

#[cfg(unix)]
fn is_one_file_system(left: &Path, right: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let device = |path: &Path| fs::metadata(path).map(|found| found.dev()).ok();
    device(left) == device(right)
}

#[cfg(not(unix))]
fn is_one_file_system(_: &Path, _: &Path) -> bool {
    true
}

impl ExportTarget {
    /// Creates a target that discards the bytes.
    pub(crate) fn discard() -> Self {
        Self {
            out: None,
            _scratch: None,
            path: PathBuf::new(),
            compression: None,
            overwrite: false,
        }
    }

    /// Creates a temporary file on the same file system, which is renamed to `path` later.
    pub fn open(
        scratch: &Arc<Scratch>,
        path: PathBuf,
        compression: Option<Compression>,
        overwrite: bool,
    ) -> Result<Self> {
        let parent = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(parent).map_err(Error::io(parent))?;
        // Renaming works only within a file system.
        let staged = if is_one_file_system(scratch.path(), parent) {
            named_temp_file_in(scratch.path())
        } else {
            named_temp_file_in(parent)
        };
        let plain = BufWriter::new(staged.map_err(Error::io(parent))?);
        let out = match compression {
            None => OutputEncoder::Plain(plain),
            Some(Compression::Gzip) => {
                OutputEncoder::Gzip(GzEncoder::new(plain, flate2::Compression::default()))
            }
            Some(Compression::Zstd) => {
                let encoder = zstd::stream::write::Encoder::new(plain, ZSTD_LEVEL);
                OutputEncoder::Zstd(encoder.map_err(Error::io(&path))?)
            }
            Some(Compression::Bzip2) => {
                let level = bzip2::Compression::default();
                OutputEncoder::Bzip2(bzip2::write::BzEncoder::new(plain, level))
            }
            Some(Compression::Xz) => {
                OutputEncoder::Xz(liblzma::write::XzEncoder::new(plain, XZ_LEVEL))
            }
        };
        Ok(Self {
            out: Some(out),
            _scratch: Some(Arc::clone(scratch)),
            path,
            compression,
            overwrite,
        })
    }

    /// Writes bytes of the file.
    ///
    /// # Errors
    /// Failures of the disk.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let written = match &mut self.out {
            None => Ok(()),
            Some(OutputEncoder::Plain(out)) => out.write_all(bytes),
            Some(OutputEncoder::Gzip(out)) => out.write_all(bytes),
            Some(OutputEncoder::Zstd(out)) => out.write_all(bytes),
            Some(OutputEncoder::Bzip2(out)) => out.write_all(bytes),
            Some(OutputEncoder::Xz(out)) => out.write_all(bytes),
        };
        written.map_err(Error::io(&self.path))
    }

    /// Returns the file and its path, for seeking. `None` if the bytes are discarded.
    pub(crate) fn file(&mut self) -> Option<(&mut dyn Seekable, &Path)> {
        match &mut self.out {
            Some(OutputEncoder::Plain(plain)) => Some((plain, &self.path)),
            _ => None,
        }
    }

    /// Renames the finished file to its path. An existing file stays; it is accepted if its content has this hash, or
    /// the same bytes.
    pub fn persist(self, hash: &str) -> Result<ExportOutcome> {
        let path = self.path;
        let plain = match self.out {
            None => return Ok(ExportOutcome::Written),
            Some(OutputEncoder::Plain(out)) => Ok(out),
            Some(OutputEncoder::Gzip(out)) => out.finish(),
            Some(OutputEncoder::Zstd(out)) => out.finish(),
            Some(OutputEncoder::Bzip2(out)) => out.finish(),
            Some(OutputEncoder::Xz(out)) => out.finish(),
        };
        let file =
            plain.and_then(|plain| plain.into_inner().map_err(io::IntoInnerError::into_error));
        let file = file.map_err(Error::io(&path))?;
        if !self.overwrite && fs::symlink_metadata(&path).is_ok() {
            return Ok(compare_existing(&path, file.path(), self.compression, hash));
        }
        if self.overwrite {
            let persisted = file.persist(&path).map_err(|error| error.error);
            persisted.map_err(Error::io(&path))?;
            return Ok(ExportOutcome::Written);
        }
        match file.persist_noclobber(&path) {
            Ok(_) => Ok(ExportOutcome::Written),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
                let new = error.file.path();
                Ok(compare_existing(&path, new, self.compression, hash))
            }
            Err(error) => Err(Error::io(&path)(error.error)),
        }
    }
}

/// Compares an existing file with the new one.
fn compare_existing(
    there: &Path,
    new: &Path,
    compression: Option<Compression>,
    hash: &str,
) -> ExportOutcome {
    let content = match compression {
        Some(_) => tsql_formats::open(there)
            .map(|(opened, _)| opened)
            .map_err(Error::from),
        None => File::open(there)
            .map(|file| Box::new(file) as Box<dyn Read + Send>)
            .map_err(Error::io(there)),
    };
    let same = content.is_ok_and(|opened| {
        let found = ContentHasher::hash_stream(opened).ok();
        let bytes = || File::open(new).and_then(ContentHasher::hash_stream).ok();
        found.is_some_and(|found| found.1 == hash || Some(found) == bytes())
    });
    if same {
        return ExportOutcome::AsItWas;
    }
    let what = if there.is_dir() {
        "a folder"
    } else {
        "another file"
    };
    ExportOutcome::Refused(format!("{what} already exists at {}", there.display()))
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_file_has_the_permissions_that_new_files_have() {
        let folder = tempfile::tempdir().unwrap();
        let mode = |name: &str| {
            let path = folder.path().join(name);
            fs::metadata(path).unwrap().permissions().mode() & 0o777
        };
        fs::write(folder.path().join("plain"), "").unwrap();
        let scratch = Arc::new(Scratch::new_in(folder.path()).unwrap());
        for overwrite in [false, true] {
            let path = folder.path().join("x.json");
            let mut target = ExportTarget::open(&scratch, path, None, overwrite).unwrap();
            target.write(b"x").unwrap();
            assert!(matches!(
                target.persist("").unwrap(),
                ExportOutcome::Written
            ));
            assert_eq!(mode("x.json"), mode("plain"));
        }
    }
}

//! Where the bytes of a source go: a file that appears when it is finished, and replaces none unasked.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::write::GzEncoder;
use tempfile::NamedTempFile;
use tsql_codecs::identity::ContentHasher;
use tsql_folders::{Scratch, staged_in};
use tsql_formats::Compression;

use crate::error::{Error, Result};
use crate::formats::Seekable;

/// Level of zstd where something is compressed anew: what its command takes.
const ZSTD_LEVEL: i32 = 3;

/// A file that is being written.
pub(crate) struct Target {
    /// `None`: the bytes are only looked at.
    out: Option<Out>,
    /// The folder of the temporary file. Dropping the last reference removes it.
    _scratch: Option<Arc<Scratch>>,
    path: PathBuf,
    compression: Option<Compression>,
    overwrite: bool,
}

type Plain = BufWriter<NamedTempFile>;

enum Out {
    Plain(Plain),
    Gzip(GzEncoder<Plain>),
    Zstd(zstd::stream::write::Encoder<'static, Plain>),
}

/// What became of a file.
pub(crate) enum Outcome {
    Written,
    /// It was there, with these bytes (in whatever container).
    AsItWas,
    /// Something else is there.
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

impl Target {
    /// The bytes are not wanted.
    pub(crate) fn nowhere() -> Self {
        Self {
            out: None,
            _scratch: None,
            path: PathBuf::new(),
            compression: None,
            overwrite: false,
        }
    }

    /// A file that is written into a temporary folder on the same file system, and then gets its path.
    pub(crate) fn open(
        scratch: &Arc<Scratch>,
        path: PathBuf,
        compression: Option<Compression>,
        overwrite: bool,
    ) -> Result<Self> {
        let parent = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(parent).map_err(Error::io(parent))?;
        // A file is renamed within a file system only.
        let staged = if is_one_file_system(scratch.path(), parent) {
            staged_in(scratch.path())
        } else {
            staged_in(parent)
        };
        let plain = BufWriter::new(staged.map_err(Error::io(parent))?);
        let out = match compression {
            None => Out::Plain(plain),
            Some(Compression::Gzip) => {
                Out::Gzip(GzEncoder::new(plain, flate2::Compression::default()))
            }
            Some(Compression::Zstd) => {
                let encoder = zstd::stream::write::Encoder::new(plain, ZSTD_LEVEL);
                Out::Zstd(encoder.map_err(Error::io(&path))?)
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

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let written = match &mut self.out {
            None => Ok(()),
            Some(Out::Plain(out)) => out.write_all(bytes),
            Some(Out::Gzip(out)) => out.write_all(bytes),
            Some(Out::Zstd(out)) => out.write_all(bytes),
        };
        written.map_err(Error::io(&self.path))
    }

    /// The file itself and its path, for who seeks in it; `None` where the bytes are not wanted.
    pub(crate) fn file(&mut self) -> Option<(&mut dyn Seekable, &Path)> {
        match &mut self.out {
            Some(Out::Plain(plain)) => Some((plain, &self.path)),
            _ => None,
        }
    }

    /// Gives the finished file its name. A file that is there already stays; it is as good if its content
    /// has this hash, or the same bytes.
    pub(crate) fn keep(self, hash: &str) -> Result<Outcome> {
        let path = self.path;
        let plain = match self.out {
            None => return Ok(Outcome::Written),
            Some(Out::Plain(out)) => Ok(out),
            Some(Out::Gzip(out)) => out.finish(),
            Some(Out::Zstd(out)) => out.finish(),
        };
        let file =
            plain.and_then(|plain| plain.into_inner().map_err(io::IntoInnerError::into_error));
        let file = file.map_err(Error::io(&path))?;
        if !self.overwrite && fs::symlink_metadata(&path).is_ok() {
            return Ok(compared(&path, file.path(), self.compression, hash));
        }
        if self.overwrite {
            let persisted = file.persist(&path).map_err(|error| error.error);
            persisted.map_err(Error::io(&path))?;
            return Ok(Outcome::Written);
        }
        match file.persist_noclobber(&path) {
            Ok(_) => Ok(Outcome::Written),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
                let new = error.file.path();
                Ok(compared(&path, new, self.compression, hash))
            }
            Err(error) => Err(Error::io(&path)(error.error)),
        }
    }
}

/// Is what is there as good as the new file?
fn compared(there: &Path, new: &Path, compression: Option<Compression>, hash: &str) -> Outcome {
    let content = match compression {
        Some(_) => tsql_formats::open(there)
            .map(|(opened, _)| opened)
            .map_err(Error::from),
        None => File::open(there)
            .map(|file| Box::new(file) as Box<dyn Read + Send>)
            .map_err(Error::io(there)),
    };
    let same = content.is_ok_and(|opened| {
        let found = ContentHasher::of_stream(opened).ok();
        let bytes = || File::open(new).and_then(ContentHasher::of_stream).ok();
        found.is_some_and(|found| found.1 == hash || Some(found) == bytes())
    });
    if same {
        return Outcome::AsItWas;
    }
    let what = if there.is_dir() {
        "a folder"
    } else {
        "another file"
    };
    Outcome::Refused(format!("{what} is at {} already", there.display()))
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
        let scratch = Arc::new(Scratch::within(folder.path()).unwrap());
        for overwrite in [false, true] {
            let path = folder.path().join("x.json");
            let mut target = Target::open(&scratch, path, None, overwrite).unwrap();
            target.write(b"x").unwrap();
            assert!(matches!(target.keep("").unwrap(), Outcome::Written));
            assert_eq!(mode("x.json"), mode("plain"));
        }
    }
}

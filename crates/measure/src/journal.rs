//! Journal of finished measurements on the local disk, one line each, until they are stored.
//!
//! With it, a lost connection or a crash loses no timing. The contents of lines are defined by the caller;
//! the journal treats them as text without line breaks.
//!
//! ```text
//! <folder>/<name>.journal    line \n line \n ... [torn line]
//! <folder>/<name>.starting   a journal that is being created, not yet visible to others
//! <folder>/<name>.damaged    a journal with unreadable lines, whose other lines are stored
//! ```
//!
//! * A line whose `append` (or the `sync` after its `push`) has returned survives any crash, complete and once.
//! * An incomplete line left by a crash is not read, and is truncated before the next write.
//! * A damaged line (a zero byte, invalid UTF-8) does not affect other lines. It is reported, and the journal
//!   is renamed for inspection.
//! * Two processes never write the same journal: the writer holds a file lock.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{Error, Result};

const EXTENSION: &str = "journal";

/// Extension of a quarantined journal.
const DAMAGED_EXTENSION: &str = "damaged";

/// A journal, written exclusively by this process.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// Bytes of complete lines: the offset of the next line.
    length: u64,
    /// Whether an incomplete line follows, left by a crash.
    torn: bool,
    /// Whether the last line is damaged and has no line feed, so that the next line needs one before it.
    unended: bool,
    /// Whether a write or sync failed, after which the contents on disk are unknown.
    broken: bool,
}

impl Journal {
    /// Creates an empty journal `<name>.journal` in a folder, and the folder if it is missing.
    ///
    /// # Errors
    /// If the journal exists, or the folder is not writable.
    pub fn create(folder: &Path, name: &str) -> Result<Self> {
        if name.is_empty() || name.starts_with('.') || name.contains(['/', '\\', '\0']) {
            let reason = format!("`{name}` is not a valid journal name");
            return Err(Error::argument("name", reason));
        }
        std::fs::create_dir_all(folder).map_err(Error::io(folder))?;
        let path = folder.join(format!("{name}.{EXTENSION}"));
        let starting = folder.join(format!("{name}.starting"));
        // Created under another name until it is locked. Otherwise it would look like an abandoned journal.
        let file = open_locked(&starting, true)?;
        if path.exists() {
            // The lock is held, so this file belongs to this call.
            std::fs::remove_file(&starting).map_err(Error::io(&starting))?;
            return Err(Error::Source {
                location: path.display().to_string(),
                reason:
                    "a journal of this name exists already\nhint: resume it, or choose another name"
                        .to_owned(),
            });
        }
        file.set_len(0).map_err(Error::io(&starting))?;
        std::fs::rename(&starting, &path).map_err(Error::io(&path))?;
        sync_folder(&path)?;
        Ok(Self {
            path,
            file,
            length: 0,
            torn: false,
            unended: false,
            broken: false,
        })
    }

    /// Opens an existing journal.
    ///
    /// # Errors
    /// If another process is writing it, or it does not exist.
    pub fn open(path: &Path) -> Result<Self> {
        let file = open_locked(path, false)?;
        let mut journal = Self {
            path: path.to_owned(),
            file,
            length: 0,
            torn: false,
            unended: false,
            broken: false,
        };
        let bytes = journal.read_all()?;
        let complete = complete_length(&bytes);
        journal.length = as_offset(complete);
        journal.torn = complete < bytes.len();
        journal.unended = bytes
            .get(..complete)
            .is_some_and(|lines| !lines.is_empty() && !lines.ends_with(b"\n"));
        Ok(journal)
    }

    /// Path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends a line and syncs it to disk.
    ///
    /// # Errors
    /// [`Error::Argument`] for text with line breaks, [`Error::Io`] if the disk fails.
    pub fn append(&mut self, line: &str) -> Result<()> {
        self.push(line)?;
        self.sync()
    }

    /// Appends a line, which is durable after the next [`Self::sync`].
    pub(crate) fn push(&mut self, line: &str) -> Result<()> {
        if line.contains(['\n', '\0']) {
            let reason = "a journal line cannot contain a line break";
            return Err(Error::argument("line", reason));
        }
        self.check_usable()?;
        if std::mem::take(&mut self.torn) {
            self.truncate()?;
        }
        let end = if self.unended { "\n" } else { "" };
        let text = format!("{end}{line}\n");
        let written = self
            .file
            .seek(SeekFrom::Start(self.length))
            .and_then(|_| self.file.write_all(text.as_bytes()));
        if let Err(error) = written {
            // On a full disk, the journal stays valid without the incomplete line.
            self.broken = self.truncate().is_err();
            return Err(Error::io(&self.path)(error));
        }
        self.unended = false;
        self.length += as_offset(text.len());
        Ok(())
    }

    /// Syncs all lines to disk.
    pub(crate) fn sync(&mut self) -> Result<()> {
        self.check_usable()?;
        let synced = self.file.sync_data();
        // A second sync would succeed without writing: the kernel has dropped the pages.
        self.broken = synced.is_err();
        synced.map_err(Error::io(&self.path))
    }

    /// Reads all lines, oldest first; `None` is a damaged line.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be read.
    pub fn lines(&mut self) -> Result<Vec<Option<String>>> {
        let mut bytes = self.read_all()?;
        bytes.truncate(complete_length(&bytes));
        let line = |line: &[u8]| {
            let text = String::from_utf8(line.to_vec()).ok();
            text.filter(|line| !line.contains('\0'))
        };
        let mut lines: Vec<_> = bytes.split(|&byte| byte == b'\n').map(line).collect();
        if bytes.is_empty() || bytes.ends_with(b"\n") {
            lines.pop();
        }
        Ok(lines)
    }

    /// Renames a partly unreadable journal, for inspection. Returns its new path.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be renamed.
    pub fn quarantine(self) -> Result<PathBuf> {
        let damaged_path = self.path.with_extension(DAMAGED_EXTENSION);
        std::fs::rename(&self.path, &damaged_path).map_err(Error::io(&self.path))?;
        sync_folder(&damaged_path)?;
        Ok(damaged_path)
    }

    /// Removes the journal after all its lines were stored.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be removed.
    pub fn finish(self) -> Result<()> {
        std::fs::remove_file(&self.path).map_err(Error::io(&self.path))?;
        // Otherwise a crash could restore the file, and its lines would be stored twice.
        sync_folder(&self.path)
    }

    /// Finds journals in a folder that no process is writing, sorted. Empty if the folder does not exist.
    ///
    /// # Errors
    /// [`Error::Io`] if the folder or a journal cannot be read.
    pub fn find_abandoned(folder: &Path) -> Result<Vec<PathBuf>> {
        let entries = match std::fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Error::io(folder)(error)),
        };
        let mut abandoned = Vec::new();
        for entry in entries {
            let path = entry.map_err(Error::io(folder))?.path();
            if path.extension().is_some_and(|ending| ending == EXTENSION) && is_unlocked(&path)? {
                abandoned.push(path);
            }
        }
        abandoned.sort_unstable();
        Ok(abandoned)
    }

    /// Reads the whole file.
    fn read_all(&mut self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.file
            .seek(SeekFrom::Start(0))
            .and_then(|_| self.file.read_to_end(&mut bytes))
            .map_err(Error::io(&self.path))?;
        Ok(bytes)
    }

    /// Truncates the file to its complete lines.
    fn truncate(&self) -> Result<()> {
        self.file
            .set_len(self.length)
            .and_then(|()| self.file.sync_data())
            .map_err(Error::io(&self.path))
    }

    fn check_usable(&self) -> Result<()> {
        if self.broken {
            return Err(Error::Source {
                location: self.path.display().to_string(),
                reason: "an earlier write failed, and the content of the journal on disk is unknown\nhint: check the disk, then resume".to_owned(),
            });
        }
        Ok(())
    }
}

/// Length of the complete lines in `bytes`.
///
/// Text after the last line feed was being written when the machine stopped, and is cut off. So are
/// trailing zero bytes, with which file systems fill blocks lost in a power failure. A mix of zero and
/// other bytes may have been a line and is retained.
fn complete_length(bytes: &[u8]) -> usize {
    let lines_end = memchr::memrchr(b'\n', bytes).map_or(0, |last| last + 1);
    let rest = bytes.get(lines_end..).unwrap_or_default();
    let zeros = rest.iter().filter(|&&byte| byte == 0).count();
    if zeros == 0 || zeros == rest.len() {
        lines_end
    } else {
        bytes.len()
    }
}

fn as_offset(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

/// Opens and locks a file, and verifies that its path still refers to it.
fn open_locked(path: &Path, create: bool) -> Result<File> {
    /// `find_abandoned` holds the lock of a journal briefly.
    const TRIES: u32 = 5;
    const PAUSE: Duration = Duration::from_millis(20);
    let in_use = || Error::Source {
        location: path.display().to_string(),
        reason: "another process writes this journal".to_owned(),
    };
    for _ in 0..TRIES {
        let options = OpenOptions::new()
            .read(true)
            .write(true)
            .create(create)
            .truncate(false)
            .to_owned();
        let file = tsql_folders::open_own(path, &options).map_err(Error::io(path))?;
        match file.try_lock() {
            // The previous holder of the lock may have renamed or removed the file.
            Ok(()) if has_path(&file, path) => return Ok(file),
            Ok(()) | Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
            Err(TryLockError::Error(error)) => return Err(Error::io(path)(error)),
        }
    }
    Err(in_use())
}

/// Returns whether `path` refers to this open file.
#[cfg(unix)]
fn has_path(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let identity = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
    let (Ok(opened), Ok(current)) = (file.metadata(), std::fs::metadata(path)) else {
        return false;
    };
    identity(opened) == identity(current)
}

#[cfg(not(unix))]
fn has_path(_file: &File, path: &Path) -> bool {
    path.exists()
}

/// Returns whether the file is unlocked; a removed file is not.
fn is_unlocked(path: &Path) -> Result<bool> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(Error::io(path)(error)),
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(has_path(&file, path)),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(Error::io(path)(error)),
    }
}

/// Syncs the folder of `path`, so that renames and removals are durable.
fn sync_folder(path: &Path) -> Result<()> {
    if !cfg!(unix) {
        return Ok(());
    }
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(Error::io(folder))
}

#[cfg(test)]
mod tests;

//! Finished measurements on the local disk until the store has them: one line each, appended.
//!
//! A lost connection or a crash thus loses no timing. What the lines hold is the caller's affair; here
//! they are text without line breaks.
//!
//! ```text
//! <folder>/<name>.journal    line \n line \n ... [torn line]
//! <folder>/<name>.starting   a journal that is being created, not yet visible to others
//! <folder>/<name>.damaged    one that was read, but for lines that nobody can read
//! ```
//!
//! * A line whose `append` (or the `sync` after its `push`) has returned is read back after any crash,
//!   whole and once.
//! * What a crash left of a line that was being written is not read, and is cut off before the next one.
//! * A line in the midst that is damaged (a zero byte, bytes that are no text) takes no other with it: it is
//!   told, and the journal stays, under another name, until somebody has looked at it.
//! * Two processes never write the same journal: its writer holds the lock of the file.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{Error, Result};

const ENDING: &str = "journal";

/// Ending of a journal that was put aside.
const DAMAGED: &str = "damaged";

/// A journal that this process writes, and nobody else.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// Bytes of whole lines: where the next one begins.
    length: u64,
    /// Behind them is what a crash left of another one.
    torn: bool,
    /// The last of them is a damaged one without its end: the next one must not go on with it.
    unended: bool,
    /// The system failed to write or to sync, after which nobody knows what is on the disk.
    broken: bool,
}

impl Journal {
    /// Makes an empty journal `<name>.journal` in a folder, which is made where it is missing.
    ///
    /// # Errors
    /// Where there is one of this name already, or the folder cannot be written.
    pub fn create(folder: &Path, name: &str) -> Result<Self> {
        if name.is_empty() || name.starts_with('.') || name.contains(['/', '\\', '\0']) {
            let reason = format!("`{name}` cannot be the name of a journal");
            return Err(Error::argument("name", reason));
        }
        std::fs::create_dir_all(folder).map_err(Error::io(folder))?;
        let path = folder.join(format!("{name}.{ENDING}"));
        let starting = folder.join(format!("{name}.starting"));
        // Under another name until it is locked: else it would look like one that was left over.
        let file = open_locked(&starting, true)?;
        if path.exists() {
            // What is here is this call's own: the lock is held.
            std::fs::remove_file(&starting).map_err(Error::io(&starting))?;
            return Err(Error::Source {
                location: path.display().to_string(),
                reason:
                    "there is a journal of this name already\nhint: resume it, or take another name"
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

    /// Opens a journal that an earlier run left.
    ///
    /// # Errors
    /// Where another process writes it, or it is not there.
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
        let bytes = journal.read()?;
        let whole = whole_bytes(&bytes);
        journal.length = as_offset(whole);
        journal.torn = whole < bytes.len();
        journal.unended = bytes
            .get(..whole)
            .is_some_and(|lines| !lines.is_empty() && !lines.ends_with(b"\n"));
        Ok(journal)
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends a line, and returns when it is on the disk.
    ///
    /// # Errors
    /// [`Error::Argument`] for a text of several lines, [`Error::Io`] where the disk fails.
    pub fn append(&mut self, line: &str) -> Result<()> {
        self.push(line)?;
        self.sync()
    }

    /// Appends a line, which is on the disk after the next [`Self::sync`].
    pub(crate) fn push(&mut self, line: &str) -> Result<()> {
        if line.contains(['\n', '\0']) {
            let reason = "a line of a journal cannot have a line break in it";
            return Err(Error::argument("line", reason));
        }
        self.refuse_if_broken()?;
        if std::mem::take(&mut self.torn) {
            self.cut()?;
        }
        let end = if self.unended { "\n" } else { "" };
        let text = format!("{end}{line}\n");
        let written = self
            .file
            .seek(SeekFrom::Start(self.length))
            .and_then(|_| self.file.write_all(text.as_bytes()));
        if let Err(error) = written {
            // A full disk: without the half line the journal stays good.
            self.broken = self.cut().is_err();
            return Err(Error::io(&self.path)(error));
        }
        self.unended = false;
        self.length += as_offset(text.len());
        Ok(())
    }

    /// Returns when all lines are on the disk.
    pub(crate) fn sync(&mut self) -> Result<()> {
        self.refuse_if_broken()?;
        let synced = self.file.sync_data();
        // A second sync would succeed without having written: the kernel has dropped the pages.
        self.broken = synced.is_err();
        synced.map_err(Error::io(&self.path))
    }

    /// All lines, oldest first; `None` stands for one that is damaged.
    ///
    /// # Errors
    /// [`Error::Io`] where it cannot be read.
    pub fn lines(&mut self) -> Result<Vec<Option<String>>> {
        let mut bytes = self.read()?;
        bytes.truncate(whole_bytes(&bytes));
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

    /// Puts the journal aside, for somebody to look at: not all of it could be read. Gives its new place.
    ///
    /// # Errors
    /// [`Error::Io`] where it cannot be renamed.
    pub fn put_aside(self) -> Result<PathBuf> {
        let aside = self.path.with_extension(DAMAGED);
        std::fs::rename(&self.path, &aside).map_err(Error::io(&self.path))?;
        sync_folder(&aside)?;
        Ok(aside)
    }

    /// Removes the journal: everything in it is in the store.
    ///
    /// # Errors
    /// [`Error::Io`] where it cannot be removed.
    pub fn finish(self) -> Result<()> {
        std::fs::remove_file(&self.path).map_err(Error::io(&self.path))?;
        // Without this a crash could bring it back, and its lines would be stored twice.
        sync_folder(&self.path)
    }

    /// Journals in a folder that no process writes, sorted; none where there is no such folder.
    ///
    /// # Errors
    /// [`Error::Io`] where the folder or a journal cannot be read.
    pub fn left_over(folder: &Path) -> Result<Vec<PathBuf>> {
        let entries = match std::fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Error::io(folder)(error)),
        };
        let mut found = Vec::new();
        for entry in entries {
            let path = entry.map_err(Error::io(folder))?.path();
            if path.extension().is_some_and(|ending| ending == ENDING) && is_free(&path)? {
                found.push(path);
            }
        }
        found.sort_unstable();
        Ok(found)
    }

    /// All bytes.
    fn read(&mut self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.file
            .seek(SeekFrom::Start(0))
            .and_then(|_| self.file.read_to_end(&mut bytes))
            .map_err(Error::io(&self.path))?;
        Ok(bytes)
    }

    /// Shortens the file to its whole lines.
    fn cut(&self) -> Result<()> {
        self.file
            .set_len(self.length)
            .and_then(|()| self.file.sync_data())
            .map_err(Error::io(&self.path))
    }

    fn refuse_if_broken(&self) -> Result<()> {
        if self.broken {
            return Err(Error::Source {
                location: self.path.display().to_string(),
                reason: "the journal could not be written before, what it holds on the disk is not known\nhint: see to the disk, then resume".to_owned(),
            });
        }
        Ok(())
    }
}

/// Length of the lines in `bytes`. What follows the last line feed was being written when the machine
/// stopped: it is cut off, and so are zero bytes, with which file systems fill what a power failure kept them
/// from writing. Only where zero bytes stand beside others may it have been a line.
fn whole_bytes(bytes: &[u8]) -> usize {
    let ended = memchr::memrchr(b'\n', bytes).map_or(0, |last| last + 1);
    let rest = bytes.get(ended..).unwrap_or_default();
    let zeros = rest.iter().filter(|&&byte| byte == 0).count();
    if zeros == 0 || zeros == rest.len() {
        ended
    } else {
        bytes.len()
    }
}

fn as_offset(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

/// Opens a file and takes its lock, and makes sure that the file still has this name.
fn open_locked(path: &Path, create: bool) -> Result<File> {
    /// `left_over` holds the lock of a journal for a moment.
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
            // Whoever held the lock may have renamed or removed the file meanwhile.
            Ok(()) if is_named(&file, path) => return Ok(file),
            Ok(()) | Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
            Err(TryLockError::Error(error)) => return Err(Error::io(path)(error)),
        }
    }
    Err(in_use())
}

/// Whether `path` is the name of this open file.
#[cfg(unix)]
fn is_named(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let identity = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
    let (Ok(open), Ok(named)) = (file.metadata(), std::fs::metadata(path)) else {
        return false;
    };
    identity(open) == identity(named)
}

#[cfg(not(unix))]
fn is_named(_file: &File, path: &Path) -> bool {
    path.exists()
}

/// Whether nobody holds the lock; a file that has gone meanwhile is not free.
fn is_free(path: &Path) -> Result<bool> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(Error::io(path)(error)),
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(is_named(&file, path)),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(Error::io(path)(error)),
    }
}

/// Makes the names in the folder of `path` as durable as the files.
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

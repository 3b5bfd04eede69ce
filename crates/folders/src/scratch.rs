//! Temporary folders: for their user only, and gone when nobody needs them any more.
//!
//! ```text
//! <temporary folder>/tsql-<random>/lock     held as long as the process lives
//!                                 /files/   what they are for
//! ```
//!
//! * A folder goes with its value, with [`remove_all`] at a signal, or, where its process was killed, with
//!   the next folder that this user makes: the lock says that its process is gone.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use tempfile::TempDir;

use super::Error;

const PREFIX: &str = "tsql-";
const LOCK: &str = "lock";
const FILES: &str = "files";

/// Folders of this process.
static LIVING: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Where this process has its temporary folders, if not among the system's.
static CHOSEN: OnceLock<PathBuf> = OnceLock::new();

/// Has the temporary folders of this process made in another folder; only the first call counts.
pub fn use_temporary(folder: PathBuf) {
    let _ = CHOSEN.set(folder);
}

/// A temporary folder.
#[derive(Debug)]
pub struct Scratch {
    folder: TempDir,
    files: PathBuf,
    /// Held, never read.
    _lock: File,
}

impl Scratch {
    /// A new folder in that of [`use_temporary`], or else among the system's temporary ones (`TMPDIR`).
    ///
    /// # Errors
    /// [`Error::Io`] where it cannot be made.
    pub fn new() -> Result<Self, Error> {
        match CHOSEN.get() {
            Some(folder) => Self::within(folder),
            None => Self::within(&std::env::temp_dir()),
        }
    }

    /// A new folder in another one, which is made where it is missing.
    ///
    /// # Errors
    /// [`Error::Io`] where one of them cannot be made.
    pub fn within(parent: &Path) -> Result<Self, Error> {
        fs::create_dir_all(parent).map_err(Error::io(parent))?;
        let parent = parent.canonicalize().map_err(Error::io(parent))?;
        sweep(&parent);
        let mut builder = tempfile::Builder::new();
        builder.prefix(PREFIX);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            builder.permissions(fs::Permissions::from_mode(0o700));
        }
        let folder = builder.tempdir_in(&parent).map_err(Error::io(&parent))?;
        living(|folders| folders.insert(folder.path().to_owned()));
        let failed = Error::io(folder.path());
        let files = folder.path().join(FILES);
        let locked = fs::create_dir(&files).and_then(|()| lock(folder.path()));
        Ok(Self {
            files,
            _lock: locked.map_err(failed)?,
            folder,
        })
    }

    /// Where files go.
    pub fn path(&self) -> &Path {
        &self.files
    }
}

/// A temporary file without a name, where [`Scratch::new`] has its folders: it goes with its last handle, however the
/// process ends.
///
/// # Errors
/// Where it cannot be made.
pub fn nameless() -> std::io::Result<File> {
    match CHOSEN.get() {
        Some(folder) => {
            fs::create_dir_all(folder)?;
            tempfile::tempfile_in(folder)
        }
        None => tempfile::tempfile(),
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // The folder itself goes after this.
        living(|folders| folders.remove(self.folder.path()));
    }
}

fn living<T>(change: impl FnOnce(&mut BTreeSet<PathBuf>) -> T) -> T {
    change(&mut LIVING.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Under its name only once it is held: a lock that is free is that of a dead process.
fn lock(folder: &Path) -> std::io::Result<File> {
    let new = folder.join("new");
    let file = File::create_new(&new)?;
    file.try_lock()?;
    fs::rename(&new, folder.join(LOCK))?;
    Ok(file)
}

/// Removes all folders of this process, which is about to end.
pub fn remove_all() {
    /// Other threads may still write into a folder that is being removed.
    const TRIES: usize = 3;
    for folder in living(std::mem::take) {
        // What cannot be removed now is swept another time.
        let _ = (0..TRIES).any(|_| fs::remove_dir_all(&folder).is_ok());
    }
}

/// Removes what processes have left that were killed. Folders of others are left alone.
fn sweep(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else {
        return;
    };
    for entry in entries.filter_map(std::result::Result::ok) {
        let name = entry.file_name();
        let named = name.to_str().is_some_and(|name| name.starts_with(PREFIX));
        // Not what a link leads to.
        let own = |folder: &fs::Metadata| folder.is_dir() && super::is_own(folder);
        if !named || !entry.metadata().is_ok_and(|folder| own(&folder)) {
            continue;
        }
        let held = File::open(entry.path().join(LOCK));
        if held.is_ok_and(|lock| lock.try_lock().is_ok()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn a_folder_is_private_and_goes_with_its_value() {
        use std::os::unix::fs::PermissionsExt as _;
        let parent = tempfile::tempdir().unwrap();
        let scratch = Scratch::within(parent.path()).unwrap();
        fs::write(scratch.path().join("x"), "y").unwrap();
        let folder = scratch.path().parent().unwrap().to_owned();
        let mode = folder.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        drop(scratch);
        assert!(!folder.exists());
    }

    #[test]
    fn what_dead_processes_left_is_swept_and_nothing_else() {
        let parent = tempfile::tempdir().unwrap();
        let living = Scratch::within(parent.path()).unwrap();
        let make = |name: &str, locked: bool| {
            let folder = parent.path().join(name);
            fs::create_dir_all(folder.join(FILES)).unwrap();
            fs::write(folder.join("files/spilled"), "x").unwrap();
            if locked {
                fs::write(folder.join(LOCK), "").unwrap();
            }
            folder
        };
        let dead = make("tsql-dead", true);
        let kept = [make("tsql-of-somebody", false), make("other", true)];
        let next = Scratch::within(parent.path()).unwrap();
        assert!(!dead.exists());
        assert!(kept.iter().all(|folder| folder.exists()));
        assert!(living.path().exists() && next.path().exists());
    }
}

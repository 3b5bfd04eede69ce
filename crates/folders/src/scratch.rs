//! Temporary folders that only the user can access and that are removed automatically.
//!
//! ```text
//! <temporary folder>/tsql-<random>/lock     held as long as the process lives; holds the name of its folder
//!                                 /files/   the temporary files
//! ```
//!
//! * A folder is removed when its value is dropped and by [`remove_all`] at a signal. If its process was killed, the
//!   next folder that this user creates removes it: a free lock shows that the process has ended.
//! * A process that is killed before it holds the lock leaves an empty folder, which is removed after an hour.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use tempfile::TempDir;

use super::Error;

const PREFIX: &str = "tsql-";

/// Number of random letters and digits after the prefix.
const RANDOM_LENGTH: usize = 12;

const LOCK: &str = "lock";
const FILES: &str = "files";

/// Name of the lock file until the lock is held.
const NEW: &str = "new";

/// Age at which a folder without a lock counts as abandoned and no longer as being created.
const ABANDONED_AGE: Duration = Duration::from_secs(3600);

/// Temporary folders of this process.
static LIVE_FOLDERS: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Parent of this process's temporary folders, if it is not the system's temporary folder.
static TEMPORARY_FOLDER: OnceLock<PathBuf> = OnceLock::new();

/// Sets the parent of this process's temporary folders. Only the first call has an effect.
pub fn set_temporary_folder(folder: PathBuf) {
    let _ = TEMPORARY_FOLDER.set(folder);
}

/// A temporary folder.
#[derive(Debug)]
pub struct Scratch {
    folder: TempDir,
    files: PathBuf,
    /// Held until drop, never read.
    _lock: File,
}

impl Scratch {
    /// Creates a folder in the parent set by [`set_temporary_folder`], or else in the system's temporary folder
    /// (`TMPDIR`).
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be created.
    pub fn new() -> Result<Self, Error> {
        match TEMPORARY_FOLDER.get() {
            Some(folder) => Self::new_in(folder),
            None => Self::new_in(&std::env::temp_dir()),
        }
    }

    /// Creates a folder in `parent`, which is created if it is missing.
    ///
    /// # Errors
    /// [`Error::Io`] if one of them cannot be created.
    pub fn new_in(parent: &Path) -> Result<Self, Error> {
        fs::create_dir_all(parent).map_err(Error::io(parent))?;
        let parent = parent.canonicalize().map_err(Error::io(parent))?;
        sweep(&parent);
        let mut builder = tempfile::Builder::new();
        builder.prefix(PREFIX).rand_bytes(RANDOM_LENGTH);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            builder.permissions(fs::Permissions::from_mode(0o700));
        }
        let folder = builder.tempdir_in(&parent).map_err(Error::io(&parent))?;
        with_live_folders(|folders| folders.insert(folder.path().to_owned()));
        let failed = Error::io(folder.path());
        let files = folder.path().join(FILES);
        let locked = fs::create_dir(&files).and_then(|()| lock(folder.path()));
        Ok(Self {
            files,
            _lock: locked.map_err(failed)?,
            folder,
        })
    }

    /// Folder for the files.
    pub fn path(&self) -> &Path {
        &self.files
    }
}

/// Creates a temporary file without a name in the same parent as [`Scratch::new`]. It is removed with its last handle,
/// however the process ends.
///
/// # Errors
/// If it cannot be created.
pub fn unnamed_file() -> std::io::Result<File> {
    match TEMPORARY_FOLDER.get() {
        Some(folder) => {
            fs::create_dir_all(folder)?;
            tempfile::tempfile_in(folder)
        }
        None => tempfile::tempfile(),
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Dropping the `TempDir` field removes the folder afterwards.
        with_live_folders(|folders| folders.remove(self.folder.path()));
    }
}

fn with_live_folders<T>(change: impl FnOnce(&mut BTreeSet<PathBuf>) -> T) -> T {
    change(&mut LIVE_FOLDERS.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Creates a lock and renames it only once it is held: a free lock under the final name means that its process has
/// ended.
fn lock(folder: &Path) -> std::io::Result<File> {
    let new = folder.join(NEW);
    let mut file = File::create_new(&new)?;
    file.try_lock()?;
    file.write_all(marker(folder).as_bytes())?;
    fs::rename(&new, folder.join(LOCK))?;
    Ok(file)
}

/// Content of the lock of a folder. A folder with other content, or a copy under another name, is not a temporary
/// folder of tsql.
fn marker(folder: &Path) -> String {
    let name = folder.file_name().unwrap_or_default();
    format!("temporary folder {} of tsql\n", name.to_string_lossy())
}

/// Removes all temporary folders of this process, before it ends.
pub fn remove_all() {
    /// Other threads may still write into a folder that is being removed.
    const TRIES: usize = 3;
    for folder in with_live_folders(std::mem::take) {
        // A folder that cannot be removed here is removed by a later sweep.
        let _ = (0..TRIES).any(|_| fs::remove_dir_all(&folder).is_ok());
    }
}

/// Removes the folders of killed processes. All other folders are left alone, whatever their names.
fn sweep(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else {
        return;
    };
    for entry in entries.filter_map(std::result::Result::ok) {
        let name = entry.file_name();
        if name.to_str().is_some_and(has_scratch_name)
            && is_abandoned(&entry.path()).unwrap_or(false)
        {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn has_scratch_name(name: &str) -> bool {
    let random = name.strip_prefix(PREFIX).unwrap_or_default();
    random.len() == RANDOM_LENGTH && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Returns whether a folder was created by [`Scratch::new_in`] in a process that has ended.
fn is_abandoned(folder: &Path) -> std::io::Result<bool> {
    // The link itself, not its target.
    let metadata = folder.symlink_metadata()?;
    if !metadata.is_dir() || !super::is_own(&metadata) || !is_private(&metadata) {
        return Ok(false);
    }
    let entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name()));
    let names = entries.collect::<std::io::Result<BTreeSet<_>>>()?;
    let lock = if names.contains(OsStr::new(LOCK)) {
        LOCK
    } else {
        NEW
    };
    if names.iter().any(|name| name != lock && name != FILES) {
        return Ok(false);
    }
    if lock == NEW {
        return is_unfinished(folder, &metadata);
    }
    let mut lock = super::open_own(&folder.join(LOCK), File::options().read(true))?;
    let expected = marker(folder);
    let mut content = Vec::new();
    let max_length = expected.len() as u64 + 1;
    std::io::Read::by_ref(&mut lock)
        .take(max_length)
        .read_to_end(&mut content)?;
    Ok(content == expected.as_bytes() && lock.try_lock().is_ok())
}

/// Returns whether a folder was created long ago and never got its lock or any file.
fn is_unfinished(folder: &Path, metadata: &fs::Metadata) -> std::io::Result<bool> {
    let age = metadata.modified()?.elapsed().unwrap_or_default();
    let has_files = match fs::read_dir(folder.join(FILES)) {
        Ok(mut files) => files.next().is_some(),
        Err(error) if error.kind() == ErrorKind::NotFound => false,
        Err(error) => return Err(error),
    };
    let new = match folder.join(NEW).symlink_metadata() {
        Ok(new) => new.len(),
        Err(error) if error.kind() == ErrorKind::NotFound => 0,
        Err(error) => return Err(error),
    };
    Ok(age > ABANDONED_AGE && !has_files && new <= marker(folder).len() as u64)
}

#[cfg(unix)]
fn is_private(folder: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    folder.permissions().mode() & 0o7777 == 0o700
}

#[cfg(not(unix))]
fn is_private(_: &fs::Metadata) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn a_folder_is_private_and_goes_with_its_value() {
        use std::os::unix::fs::PermissionsExt as _;
        let parent = tempfile::tempdir().unwrap();
        let scratch = Scratch::new_in(parent.path()).unwrap();
        fs::write(scratch.path().join("x"), "y").unwrap();
        let folder = scratch.path().parent().unwrap().to_owned();
        let mode = folder.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        drop(scratch);
        assert!(!folder.exists());
    }

    #[test]
    #[cfg(unix)]
    fn sweep_removes_folders_of_killed_processes_only() {
        use std::os::unix::fs::PermissionsExt as _;
        let parent = tempfile::tempdir().unwrap();
        let living = Scratch::new_in(parent.path()).unwrap();
        let private = fs::Permissions::from_mode(0o700);
        let make = |name: &str, lock: Option<&str>| {
            let folder = parent.path().join(name);
            fs::create_dir_all(folder.join(FILES)).unwrap();
            fs::set_permissions(&folder, private.clone()).unwrap();
            fs::write(folder.join("files/spilled"), "x").unwrap();
            if let Some(lock) = lock {
                fs::write(folder.join(LOCK), lock).unwrap();
            }
            folder
        };
        let marked = |name: &str| {
            let lock = marker(&parent.path().join(name));
            make(name, Some(&lock))
        };
        let dead = marked("tsql-abcdefABC123");
        let others = [
            // A user's own folders, with a file of the lock's name.
            make("tsql-mine", Some("")),
            make("tsql-abcdefABC124", Some("")),
            make("tsql-abcdefABC125", None),
            // A copy of an abandoned folder.
            make("tsql-abcdefABC126", Some(&marker(&dead))),
            marked("tsql-abcdef-BC127"),
            marked("tsql-abcdefABC1289"),
            marked("other"),
        ];
        let opened = marked("tsql-abcdefABC129");
        fs::set_permissions(&opened, fs::Permissions::from_mode(0o755)).unwrap();
        let used = marked("tsql-abcdefABC12a");
        fs::write(used.join("thesis"), "x").unwrap();
        let linked = marked("tsql-abcdefABC12b");
        fs::rename(linked.join(LOCK), parent.path().join("elsewhere")).unwrap();
        std::os::unix::fs::symlink(parent.path().join("elsewhere"), linked.join(LOCK)).unwrap();
        let link = parent.path().join("tsql-abcdefABC12c");
        std::os::unix::fs::symlink(&opened, &link).unwrap();
        let next = Scratch::new_in(parent.path()).unwrap();
        assert!(!dead.exists());
        let untouched = others.iter().chain([&opened, &used, &linked, &link]);
        for folder in untouched {
            assert!(folder.join("files/spilled").exists(), "{folder:?}");
        }
        assert!(living.path().exists() && next.path().exists());
    }

    #[test]
    #[cfg(unix)]
    fn folders_without_a_lock_are_swept_once_they_are_old_and_empty() {
        use std::os::unix::fs::PermissionsExt as _;
        let parent = tempfile::tempdir().unwrap();
        let make = |name: &str, entries: &[&str], age: Duration| {
            let folder = parent.path().join(name);
            fs::create_dir(&folder).unwrap();
            fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
            for entry in entries {
                match *entry {
                    FILES => fs::create_dir(folder.join(entry)).unwrap(),
                    _ => fs::write(folder.join(entry), "").unwrap(),
                }
            }
            let modified = std::time::SystemTime::now() - age;
            File::open(&folder).unwrap().set_modified(modified).unwrap();
            folder
        };
        let old = ABANDONED_AGE * 2;
        let unfinished = [
            make("tsql-abcdefABC123", &[], old),
            make("tsql-abcdefABC124", &[FILES], old),
            make("tsql-abcdefABC125", &[FILES, NEW], old),
        ];
        let others = [
            make("tsql-abcdefABC126", &[FILES, NEW], Duration::ZERO),
            make("tsql-abcdefABC127", &[FILES, "files/x"], old),
            make("tsql-abcdefABC128", &["thesis"], old),
            make("tsql-mine", &[], old),
        ];
        fs::write(
            make("tsql-abcdefABC129", &[], old).join(NEW),
            "x".repeat(99),
        )
        .unwrap();
        let _next = Scratch::new_in(parent.path()).unwrap();
        assert!(unfinished.iter().all(|folder| !folder.exists()));
        assert!(others.iter().all(|folder| folder.exists()));
        assert!(parent.path().join("tsql-abcdefABC129").exists());
    }

    /// Folders of killed processes, which a sweep removes.
    #[test]
    fn a_scratch_folder_is_abandoned_once_its_lock_is_free() {
        let parent = tempfile::tempdir().unwrap();
        let scratch = Scratch::new_in(parent.path()).unwrap();
        let folder = scratch.path().parent().unwrap().to_owned();
        assert!(has_scratch_name(
            folder.file_name().unwrap().to_str().unwrap()
        ));
        assert!(!is_abandoned(&folder).unwrap(), "its lock is held");
        let Scratch {
            folder: scratch_folder,
            _lock,
            ..
        } = &scratch;
        _lock.unlock().unwrap();
        assert!(is_abandoned(scratch_folder.path()).unwrap());
    }
}

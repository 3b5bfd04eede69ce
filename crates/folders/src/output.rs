//! Output files that appear under their name only when complete.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::{Error, Scratch};

/// A file that is being written.
///
/// * The data is written in a temporary folder near_target the target. The folder is removed on drop, at the signals that
///   end the process, and, if the process was killed, with the next file that is written there.
/// * A new file has the permissions that the umask gives. A replaced file keeps its permissions.
/// * A symbolic link is preserved; its target is replaced.
/// * If the folder accepts no new files, an existing file is overwritten when the new content is complete.
/// * A device or a pipe is written directly.
#[derive(Debug)]
pub struct OutputFile {
    staged: Option<StagedFile>,
    path: PathBuf,
}

#[derive(Debug)]
struct StagedFile {
    file: PathBuf,
    /// Permissions of the file that is replaced.
    permissions: Option<fs::Permissions>,
    /// Whether the staged file is on the same file system, so that it can be renamed.
    is_near_target: bool,
    /// Held until drop, never read.
    _scratch: Scratch,
}

impl OutputFile {
    /// Opens a file for writing. Missing folders are not created.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be written.
    pub fn create(path: &Path) -> Result<(Self, File), Error> {
        let existing = fs::metadata(path);
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let is_new = matches!(&existing, Err(error) if error.kind() == io::ErrorKind::NotFound);
        let is_replaced = existing.as_ref().is_ok_and(fs::Metadata::is_file);
        let folder = folder_of(&path);
        let near_target = match (is_new || is_replaced) && folder.is_dir() {
            true => Scratch::new_in(folder).ok(),
            false => None,
        };
        let (scratch, is_near_target) = match near_target {
            Some(scratch) => (scratch, true),
            None if is_replaced => {
                File::options()
                    .write(true)
                    .open(&path)
                    .map_err(Error::io(&path))?;
                (Scratch::new()?, false)
            }
            None => {
                let file = File::create(&path).map_err(Error::io(&path))?;
                let staged = None;
                return Ok((Self { staged, path }, file));
            }
        };
        let staged = scratch.path().join("output");
        let file = File::create(&staged).map_err(Error::io(&staged))?;
        let staged = StagedFile {
            file: staged,
            permissions: existing.ok().map(|existing| existing.permissions()),
            is_near_target,
            _scratch: scratch,
        };
        let staged = Some(staged);
        Ok((Self { staged, path }, file))
    }

    /// Path of the file while it is written; `None` for a device or a pipe.
    #[must_use]
    pub fn staged_path(&self) -> Option<&Path> {
        self.staged.as_ref().map(|staged| staged.file.as_path())
    }

    /// Moves the file to its final path.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be moved.
    pub fn finish(self) -> Result<(), Error> {
        let Self { staged, path } = self;
        let Some(staged) = staged else {
            return Ok(());
        };
        let moved = match staged.is_near_target {
            true => rename_staged(&staged, &path),
            false => overwrite(&staged.file, &path),
        };
        moved.map_err(Error::io(&path))
    }
}

fn rename_staged(staged: &StagedFile, path: &Path) -> io::Result<()> {
    if let Some(permissions) = &staged.permissions {
        fs::set_permissions(&staged.file, permissions.clone())?;
    }
    fs::rename(&staged.file, path)
}

fn overwrite(from: &Path, to: &Path) -> io::Result<()> {
    let mut from = File::open(from)?;
    let mut to = File::options().write(true).truncate(true).open(to)?;
    io::copy(&mut from, &mut to).map(|_| ())
}

/// Parent folder of a path.
#[must_use]
pub fn folder_of(path: &Path) -> &Path {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// Writes a file from memory, as [`OutputFile`] does.
///
/// # Errors
/// [`Error::Io`] if it cannot be written.
pub fn write_file(path: &Path, bytes: impl AsRef<[u8]>) -> Result<(), Error> {
    let (output, mut file) = OutputFile::create(path)?;
    file.write_all(bytes.as_ref()).map_err(Error::io(path))?;
    output.finish()
}

/// Creates a temporary file in a folder, for a file that will be moved into place. It has the permissions that the
/// umask gives.
///
/// # Errors
/// If it cannot be created.
pub fn named_temp_file_in(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        // The umask restricts these permissions.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_appears_complete_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.csv");
        let names = || fs::read_dir(folder.path()).unwrap().count();
        let (unfinished, mut file) = OutputFile::create(&path).unwrap();
        file.write_all(b"a\n1").unwrap();
        assert!(!path.exists());
        drop(unfinished);
        assert_eq!(names(), 0);
        let (complete, mut file) = OutputFile::create(&path).unwrap();
        file.write_all(b"a\n1\n").unwrap();
        complete.finish().unwrap();
        assert_eq!((fs::read(&path).unwrap(), names()), (b"a\n1\n".to_vec(), 1));
        let missing = OutputFile::create(&folder.path().join("no/x.csv"));
        assert!(missing.is_err());
        assert!(!folder.path().join("no").exists());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_and_so_do_permissions() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("x"), folder.path().join("link"));
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        write_file(&link, "new").unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read(&path).unwrap(), b"new");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&path), 0o640);
        // A finished file has the permissions of any new file here.
        let (created, new) = (folder.path().join("plain"), folder.path().join("new"));
        fs::write(&created, "").unwrap();
        write_file(&new, "").unwrap();
        assert_eq!(mode(&new), mode(&created));
        let staged = named_temp_file_in(folder.path()).unwrap();
        assert_eq!(mode(staged.path()), mode(&created));
    }
}

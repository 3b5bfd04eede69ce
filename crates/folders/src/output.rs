//! A file that is written for somebody: it appears under its name when it is whole, or not at all.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::{Error, Scratch};

/// A file that is being written.
///
/// * It is in a temporary folder beside its place, which goes away with this value, at the signals that end the process, and
///   with the next file that is written there if the process was killed.
/// * A new file has the permissions that the umask gives, a replaced one has those of the old one.
/// * A symbolic link stays; the file that it leads to is replaced.
/// * Where the folder takes no new files, a file in it is overwritten when the new one is whole.
/// * A device or a pipe is written as it is.
#[derive(Debug)]
pub struct OutputFile {
    staged: Option<Staged>,
    path: PathBuf,
}

#[derive(Debug)]
struct Staged {
    file: PathBuf,
    /// Those of the file that it replaces.
    permissions: Option<fs::Permissions>,
    /// Is it on the same file system, so that it can be renamed?
    is_beside: bool,
    /// Held, never read.
    _scratch: Scratch,
}

impl OutputFile {
    /// Opens a file for writing; missing folders are not made.
    ///
    /// # Errors
    /// [`Error::Io`] where it cannot be written.
    pub fn create(path: &Path) -> Result<(Self, File), Error> {
        let known = fs::metadata(path);
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let is_new = matches!(&known, Err(error) if error.kind() == io::ErrorKind::NotFound);
        let is_replaced = known.as_ref().is_ok_and(fs::Metadata::is_file);
        let folder = folder_of(&path);
        let beside = match (is_new || is_replaced) && folder.is_dir() {
            true => Scratch::within(folder).ok(),
            false => None,
        };
        let (scratch, is_beside) = match beside {
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
        let staged = Staged {
            file: staged,
            permissions: known.ok().map(|known| known.permissions()),
            is_beside,
            _scratch: scratch,
        };
        let staged = Some(staged);
        Ok((Self { staged, path }, file))
    }

    /// Where it is while it is written; `None` for a device or a pipe.
    #[must_use]
    pub fn staged(&self) -> Option<&Path> {
        self.staged.as_ref().map(|staged| staged.file.as_path())
    }

    /// Gives it its name.
    ///
    /// # Errors
    /// [`Error::Io`] where it cannot have it.
    pub fn finish(self) -> Result<(), Error> {
        let Self { staged, path } = self;
        let Some(staged) = staged else {
            return Ok(());
        };
        let given = match staged.is_beside {
            true => renamed(&staged, &path),
            false => overwrite(&staged.file, &path),
        };
        given.map_err(Error::io(&path))
    }
}

fn renamed(staged: &Staged, path: &Path) -> io::Result<()> {
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

/// The folder that a path's last part is in.
#[must_use]
pub fn folder_of(path: &Path) -> &Path {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// Writes a file that is whole in memory, as [`OutputFile`] does.
///
/// # Errors
/// [`Error::Io`] where it cannot be written.
pub fn write_file(path: &Path, bytes: impl AsRef<[u8]>) -> Result<(), Error> {
    let (output, mut file) = OutputFile::create(path)?;
    file.write_all(bytes.as_ref()).map_err(Error::io(path))?;
    output.finish()
}

/// A temporary file in a folder, for a file of somebody that is to be there: it has the permissions that the umask gives.
///
/// # Errors
/// Where it cannot be made.
pub fn staged_in(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        // What the umask leaves of it.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_appears_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.csv");
        let names = || fs::read_dir(folder.path()).unwrap().count();
        let (half, mut file) = OutputFile::create(&path).unwrap();
        file.write_all(b"a\n1").unwrap();
        assert!(!path.exists());
        drop(half);
        assert_eq!(names(), 0);
        let (whole, mut file) = OutputFile::create(&path).unwrap();
        file.write_all(b"a\n1\n").unwrap();
        whole.finish().unwrap();
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
        // What the system gives a new file here is what a delivered one has.
        let (plain, new) = (folder.path().join("plain"), folder.path().join("new"));
        fs::write(&plain, "").unwrap();
        write_file(&new, "").unwrap();
        assert_eq!(mode(&new), mode(&plain));
        let staged = staged_in(folder.path()).unwrap();
        assert_eq!(mode(staged.path()), mode(&plain));
    }
}

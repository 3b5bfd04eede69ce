//! The file of `--output`: it appears under its name when it is whole, or not at all.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use tsql_folders::Scratch;

use crate::error::Error;

/// A file that is being written.
///
/// It is in a folder beside its place, which goes away with this, at the signals that end the process, and with the next file
/// that is written there if the process was killed. A device or a pipe is written as it is.
pub(super) struct Target {
    beside: Option<(Scratch, PathBuf)>,
    path: PathBuf,
}

impl Target {
    /// Opens it for writing.
    pub(super) fn create(path: &Path) -> Result<(Self, File), Error> {
        let known = fs::metadata(path);
        // The file that a link leads to is replaced, not the link.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let is_new = matches!(&known, Err(error) if error.kind() == io::ErrorKind::NotFound);
        let replaces = known.as_ref().is_ok_and(fs::Metadata::is_file);
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        let beside = if (is_new || replaces) && folder.is_dir() {
            // A folder that only lets its files be changed: the file itself is written.
            Scratch::within(folder).ok()
        } else {
            None
        };
        let Some(scratch) = beside else {
            let file = File::create(&path).map_err(Error::io(&path))?;
            return Ok((Self { beside: None, path }, file));
        };
        let half = scratch.path().join("output");
        let file = File::create(&half).map_err(Error::io(&half))?;
        if let Ok(known) = known {
            let kept = fs::set_permissions(&half, known.permissions());
            kept.map_err(Error::io(&path))?;
        }
        let beside = Some((scratch, half));
        Ok((Self { beside, path }, file))
    }

    /// Gives it its name.
    pub(super) fn finish(self) -> Result<(), Error> {
        let Self { beside, path } = self;
        match beside {
            Some((_scratch, half)) => fs::rename(half, &path).map_err(Error::io(&path)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_file_appears_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.csv");
        let names = || fs::read_dir(folder.path()).unwrap().count();
        let (half, mut file) = Target::create(&path).unwrap();
        file.write_all(b"a\n1").unwrap();
        assert!(!path.exists());
        drop(half);
        assert_eq!(names(), 0);
        let (whole, mut file) = Target::create(&path).unwrap();
        file.write_all(b"a\n1\n").unwrap();
        whole.finish().unwrap();
        assert_eq!((fs::read(&path).unwrap(), names()), (b"a\n1\n".to_vec(), 1));
        let missing = Target::create(&folder.path().join("no/x.csv"));
        assert!(missing.is_err());
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
        let (target, mut file) = Target::create(&link).unwrap();
        file.write_all(b"new").unwrap();
        target.finish().unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read(&path).unwrap(), b"new");
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
    }
}

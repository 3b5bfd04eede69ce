//! Opens existing files for writing safely, in folders that others may have prepared.
//!
//! A name in a store or a cache may be a symbolic link, a pipe, or one of several hard links to an unrelated file.
//! Nothing is written through such a name.

use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Read as _, Result};
use std::path::{Component, Path};

/// Opens a regular file under its own name. Does not follow symbolic links and does not wait for pipes.
///
/// The options must not truncate: the file is checked after it is open.
///
/// # Errors
/// [`ErrorKind::InvalidInput`] if the name is not a regular file, and errors of the system.
pub fn open_regular(path: &Path, options: &OpenOptions) -> Result<File> {
    let mut options = options.clone();
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.custom_flags(nix::libc::O_NOFOLLOW | nix::libc::O_NONBLOCK);
    }
    let file = options
        .open(path)
        .map_err(|error| match path.is_symlink() {
            true => invalid_input("is a symbolic link, expected a regular file"),
            false => error,
        })?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(invalid_input("is not a regular file")),
    }
}

/// Opens a regular file or a folder for reading, also through a symbolic link. Does not wait for the writer of a pipe.
///
/// # Errors
/// [`ErrorKind::InvalidInput`] if the path leads to a pipe or a device, and errors of the system.
pub fn open_nonblocking(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.custom_flags(nix::libc::O_NONBLOCK);
    }
    let file = options.open(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_file() || kind.is_dir() {
        Ok(file)
    } else {
        let path = path.display();
        Err(invalid_input(format!("`{path}` is not a regular file")))
    }
}

/// Reads a regular file; opens it as [`open_nonblocking`] does.
///
/// # Errors
/// As [`open_nonblocking`], and if the path is a folder.
pub fn read_regular(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_nonblocking(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Opens a regular file as [`open_regular`] does, if the user may change it: see [`check_own`].
///
/// # Errors
/// As both functions.
pub fn open_own(path: &Path, options: &OpenOptions) -> Result<File> {
    let file = open_regular(path, options)?;
    check_own(&file)?;
    Ok(file)
}

/// Checks that a file belongs to the user and has only one hard link.
///
/// # Errors
/// [`ErrorKind::PermissionDenied`] if the file belongs to another user, [`ErrorKind::InvalidInput`] if it has several
/// links.
pub fn check_own(file: &File) -> Result<()> {
    let metadata = file.metadata()?;
    if !super::is_own(&metadata) {
        let reason = format!(
            "belongs to {}, expected a file of yours",
            super::owner(&metadata)
        );
        return Err(Error::new(ErrorKind::PermissionDenied, reason));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let names = metadata.nlink();
        if names > 1 {
            let reason = format!("has {names} names (hard links), expected one");
            return Err(invalid_input(reason));
        }
    }
    Ok(())
}

/// Checks that `path` is below `root` and that no folder between them is a symbolic link. Missing folders pass. The
/// last component of the path is not checked.
///
/// # Errors
/// [`ErrorKind::InvalidInput`] if the path leads out of `root` or through a link.
pub fn check_below(root: &Path, path: &Path) -> Result<()> {
    let outside = || invalid_input(format!("is not inside {}", root.display()));
    let below = path.strip_prefix(root).map_err(|_| outside())?;
    let mut parts = below.components().peekable();
    let mut folder = root.to_owned();
    while let Some(part) = parts.next() {
        let Component::Normal(part) = part else {
            return Err(outside());
        };
        if parts.peek().is_none() {
            break;
        }
        folder.push(part);
        match folder.symlink_metadata() {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => {
                let reason = format!(
                    "{} is not a folder (a link?): nothing is written or deleted through it",
                    folder.display()
                );
                return Err(invalid_input(reason));
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Returns whether a name has the form of a cache key: 32 hexadecimal digits.
#[must_use]
pub fn is_hash(name: &std::ffi::OsStr) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    name.len() == 32 && name.as_encoded_bytes().iter().all(|byte| is_digit(*byte))
}

fn invalid_input(reason: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidInput, reason.into())
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn nothing_but_a_regular_file_under_its_only_name_is_opened_for_writing() {
        let folder = tempfile::tempdir().unwrap();
        let path_of = |name: &str| folder.path().join(name);
        let options = File::options().append(true).create(true).clone();
        fs::write(path_of("own"), "precious").unwrap();
        symlink(path_of("own"), path_of("link")).unwrap();
        symlink(path_of("missing"), path_of("dangling")).unwrap();
        fs::create_dir(path_of("folder")).unwrap();
        let pipe = std::process::Command::new("mkfifo")
            .arg(path_of("pipe"))
            .status();
        assert!(pipe.unwrap().success());
        for name in ["link", "dangling", "folder", "pipe"] {
            assert!(open_regular(&path_of(name), &options).is_err(), "{name}");
        }
        for name in ["dangling", "folder", "pipe"] {
            assert!(read_regular(&path_of(name)).is_err(), "{name}");
        }
        assert_eq!(read_regular(&path_of("link")).unwrap(), b"precious");
        assert!(!path_of("missing").exists());
        open_own(&path_of("own"), &options).unwrap();
        open_own(&path_of("new"), &options).unwrap();
        fs::hard_link(path_of("own"), path_of("other")).unwrap();
        let error = open_own(&path_of("own"), &options).unwrap_err().to_string();
        assert!(error.contains("has 2 names"), "{error}");
        assert_eq!(fs::read(path_of("own")).unwrap(), b"precious");
    }

    #[test]
    fn no_path_leads_out_of_its_root() {
        let folder = tempfile::tempdir().unwrap();
        let (root, other) = (folder.path().join("root"), folder.path().join("other"));
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::create_dir(&other).unwrap();
        symlink(&other, root.join("a/link")).unwrap();
        for inside in ["x", "a/x", "a/b/x", "a/new/deep/x", "a/link"] {
            check_below(&root, &root.join(inside)).unwrap();
        }
        for outside in ["../other/x", "a/../../other/x", "a/link/x", "a/link/b/x"] {
            assert!(
                check_below(&root, &root.join(outside)).is_err(),
                "{outside}"
            );
        }
        assert!(check_below(&root, &other.join("x")).is_err());
    }
}

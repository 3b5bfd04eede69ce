#![doc = include_str!("../README.md")]
//!
//! A variable of tsql itself takes precedence over the desktop's variable (XDG Base Directory Specification). The
//! desktop's variable takes precedence over the default below the home folder that the specification names.
#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::string_slice,
        reason = "a test fails by panicking"
    )
)]

use std::path::{Path, PathBuf};

mod error;
mod mmap;
mod output;
mod safe_open;
mod scratch;

pub use error::Error;
pub use mmap::MappedFile;
pub use output::{OutputFile, folder_of, named_temp_file_in, write_file};
pub use safe_open::{
    check_below, check_own, is_hash, open_nonblocking, open_own, open_regular, read_regular,
};
pub use scratch::{Scratch, remove_all, set_temporary_folder, unnamed_file};

/// Folder for data that can be downloaded again: `TSQL_CACHE`, else `~/.cache/tsql`; `None` if neither exists.
pub fn cache() -> Option<PathBuf> {
    own_folder("TSQL_CACHE", "XDG_CACHE_HOME", ".cache")
}

/// Folder for data that must persist: `TSQL_STATE`, else `~/.local/state/tsql`; `None` if neither exists.
pub fn state() -> Option<PathBuf> {
    own_folder("TSQL_STATE", "XDG_STATE_HOME", ".local/state")
}

/// Folder for settings: `~/.config/tsql`; `None` without a home folder.
pub fn settings() -> Option<PathBuf> {
    xdg_folder("XDG_CONFIG_HOME", ".config")
}

fn own_folder(variable: &str, desktop: &str, below_home: &str) -> Option<PathBuf> {
    env_path(variable).or_else(|| xdg_folder(desktop, below_home))
}

fn xdg_folder(desktop: &str, below_home: &str) -> Option<PathBuf> {
    let folder = env_path(desktop).or_else(|| Some(env_path("HOME")?.join(below_home)));
    Some(folder?.join("tsql"))
}

fn env_path(variable: &str) -> Option<PathBuf> {
    let value = std::env::var_os(variable).filter(|value| !value.is_empty());
    value.map(PathBuf::from)
}

/// Returns whether a file belongs to the user or the administrator. Files of other users must not influence decisions.
#[cfg(unix)]
pub fn is_own(file: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    file.uid() == 0 || file.uid() == nix::unistd::geteuid().as_raw()
}

/// Always true: ownership is not checked on this platform.
#[cfg(not(unix))]
pub fn is_own(_: &std::fs::Metadata) -> bool {
    true
}

/// Owner of a file for messages: `alice (uid 1000)`.
#[cfg(unix)]
pub fn owner(file: &std::fs::Metadata) -> String {
    use nix::unistd::{Uid, User};
    use std::os::unix::fs::MetadataExt as _;
    let uid = file.uid();
    match User::from_uid(Uid::from_raw(uid)).ok().flatten() {
        Some(user) => format!("{} (uid {uid})", user.name),
        None => format!("uid {uid}"),
    }
}

/// Owners are not known on this platform.
#[cfg(not(unix))]
pub fn owner(_: &std::fs::Metadata) -> String {
    "another user".to_owned()
}

/// Creates a folder that only the user can access, or restricts the access to an existing folder of the user.
/// `variable` is the variable that selects another folder.
///
/// # Errors
/// If another user created the folder, because its content is not trusted.
#[cfg(unix)]
pub fn create_private(folder: &Path, variable: &str) -> Result<(), Error> {
    use std::os::unix::fs::PermissionsExt as _;
    create_owned(folder, variable)?;
    let existing = std::fs::metadata(folder).map_err(Error::io(folder))?;
    if existing.permissions().mode() & 0o077 != 0 {
        let private = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(folder, private).map_err(Error::io(folder))?;
    }
    Ok(())
}

/// Creates a folder that only the user can access, or checks that the existing folder belongs to the user.
///
/// # Errors
/// As [`create_private`].
#[cfg(unix)]
pub fn create_owned(folder: &Path, variable: &str) -> Result<(), Error> {
    use std::os::unix::fs::DirBuilderExt as _;
    let mut builder = std::fs::DirBuilder::new();
    let created = builder.recursive(true).mode(0o700).create(folder);
    created.map_err(Error::io(folder))?;
    // A symbolic link could lead anywhere.
    let link_metadata = std::fs::symlink_metadata(folder).map_err(Error::io(folder))?;
    let target_metadata = std::fs::metadata(folder).map_err(Error::io(folder))?;
    if let Some(foreign) = [&link_metadata, &target_metadata]
        .into_iter()
        .find(|file| !is_own(file))
    {
        return Err(Error::Refused {
            folder: folder.to_owned(),
            reason: format!(
                "the folder belongs to {}, expected a folder of yours\nhint: {variable} selects another folder",
                owner(foreign)
            ),
        });
    }
    Ok(())
}

/// Creates a folder. Access is not restricted on this platform.
///
/// # Errors
/// [`Error::Io`] if it cannot be created.
#[cfg(not(unix))]
pub fn create_private(folder: &Path, _: &str) -> Result<(), Error> {
    std::fs::create_dir_all(folder).map_err(Error::io(folder))
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_private_folder_is_closed_to_others() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("a/state");
        create_private(&folder, "X").unwrap();
        let mode = |folder: &Path| folder.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&folder), 0o700);
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).unwrap();
        create_private(&folder, "X").unwrap();
        assert_eq!(mode(&folder), 0o700);
        assert!(is_own(&folder.metadata().unwrap()));
        assert!(owner(&folder.metadata().unwrap()).contains("uid "));
    }

    /// Only root can give a folder to another user.
    #[test]
    fn folders_of_other_users_are_rejected() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("state");
        std::fs::create_dir(&folder).unwrap();
        if std::os::unix::fs::chown(&folder, Some(54_321), None).is_err() {
            return;
        }
        let link = parent.path().join("link");
        std::os::unix::fs::symlink(&folder, &link).unwrap();
        for folder in [folder, link] {
            let message = create_private(&folder, "TSQL_STATE")
                .unwrap_err()
                .to_string();
            assert!(message.contains("belongs to uid 54321"), "{message}");
            assert!(
                message.contains("hint: TSQL_STATE selects another folder"),
                "{message}"
            );
        }
    }
}

#![doc = include_str!("../README.md")]
//!
//! A variable of tsql's own goes before the desktop's (XDG Base Directory Specification), that before
//! the place below the home folder which the specification names.
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

mod checked;
mod error;
mod mapped;
mod output;
mod scratch;

pub use checked::{
    check_below, check_own, is_hash, open_at_once, open_own, open_regular, read_regular,
};
pub use error::Error;
pub use mapped::Mapped;
pub use output::{OutputFile, folder_of, staged_in, write_file};
pub use scratch::{Scratch, nameless, remove_all, use_temporary};

/// For what can be fetched again: `TSQL_CACHE`, else `~/.cache/tsql`; `None` where there is neither.
pub fn cache() -> Option<PathBuf> {
    own("TSQL_CACHE", "XDG_CACHE_HOME", ".cache")
}

/// For what must survive: `TSQL_STATE`, else `~/.local/state/tsql`; `None` where there is neither.
pub fn state() -> Option<PathBuf> {
    own("TSQL_STATE", "XDG_STATE_HOME", ".local/state")
}

/// For settings: `~/.config/tsql`; `None` where there is no home.
pub fn settings() -> Option<PathBuf> {
    below("XDG_CONFIG_HOME", ".config")
}

fn own(ours: &str, desktop: &str, below_home: &str) -> Option<PathBuf> {
    set(ours).or_else(|| below(desktop, below_home))
}

fn below(desktop: &str, below_home: &str) -> Option<PathBuf> {
    let folder = set(desktop).or_else(|| Some(set("HOME")?.join(below_home)));
    Some(folder?.join("tsql"))
}

fn set(variable: &str) -> Option<PathBuf> {
    let value = std::env::var_os(variable).filter(|value| !value.is_empty());
    value.map(PathBuf::from)
}

/// Does a file belong to the user or the administrator? What somebody else has put into a folder
/// decides nothing unasked.
#[cfg(unix)]
pub fn is_own(file: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    file.uid() == 0 || file.uid() == nix::unistd::geteuid().as_raw()
}

/// Owners are not asked for here.
#[cfg(not(unix))]
pub fn is_own(_: &std::fs::Metadata) -> bool {
    true
}

/// Whose a file is, for a reader: `alice (uid 1000)`.
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

/// Owners are not asked for here.
#[cfg(not(unix))]
pub fn owner(_: &std::fs::Metadata) -> String {
    "somebody else".to_owned()
}

/// Makes a folder that only the user can look into, or closes one of the user's to others. `variable`
/// names another.
///
/// # Errors
/// Where somebody else has made it: what lies in it is not the user's.
#[cfg(unix)]
pub fn private(folder: &Path, variable: &str) -> Result<(), Error> {
    use std::os::unix::fs::PermissionsExt as _;
    owned(folder, variable)?;
    let there = std::fs::metadata(folder).map_err(Error::io(folder))?;
    if there.permissions().mode() & 0o077 != 0 {
        let closed = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(folder, closed).map_err(Error::io(folder))?;
    }
    Ok(())
}

/// Makes a folder that only the user can look into, or makes sure that the one there is the user's.
///
/// # Errors
/// As [`private`].
#[cfg(unix)]
pub fn owned(folder: &Path, variable: &str) -> Result<(), Error> {
    use std::os::unix::fs::DirBuilderExt as _;
    let mut maker = std::fs::DirBuilder::new();
    let made = maker.recursive(true).mode(0o700).create(folder);
    made.map_err(Error::io(folder))?;
    // A link would be followed to wherever its maker wants.
    let there = std::fs::symlink_metadata(folder).map_err(Error::io(folder))?;
    let named = std::fs::metadata(folder).map_err(Error::io(folder))?;
    if let Some(foreign) = [&there, &named].into_iter().find(|file| !is_own(file)) {
        return Err(Error::Refused {
            folder: folder.to_owned(),
            reason: format!(
                "the folder belongs to {}, so what lies in it is not yours\nhint: {variable} names another one",
                owner(foreign)
            ),
        });
    }
    Ok(())
}

/// Makes a folder. Who may look into it is not asked for here.
///
/// # Errors
/// [`Error::Io`] where it cannot be made.
#[cfg(not(unix))]
pub fn private(folder: &Path, _: &str) -> Result<(), Error> {
    std::fs::create_dir_all(folder).map_err(Error::io(folder))
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_private_folder_is_closed_to_others() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("a/state");
        private(&folder, "X").unwrap();
        let mode = |folder: &Path| folder.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&folder), 0o700);
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).unwrap();
        private(&folder, "X").unwrap();
        assert_eq!(mode(&folder), 0o700);
        assert!(is_own(&folder.metadata().unwrap()));
        assert!(owner(&folder.metadata().unwrap()).contains("uid "));
    }

    /// Only root can make a folder somebody else's.
    #[test]
    fn what_somebody_else_made_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("state");
        std::fs::create_dir(&folder).unwrap();
        if std::os::unix::fs::chown(&folder, Some(54_321), None).is_err() {
            return;
        }
        let link = place.path().join("link");
        std::os::unix::fs::symlink(&folder, &link).unwrap();
        for folder in [folder, link] {
            let told = private(&folder, "TSQL_STATE").unwrap_err().to_string();
            assert!(told.contains("belongs to uid 54321"), "{told}");
            assert!(
                told.contains("hint: TSQL_STATE names another one"),
                "{told}"
            );
        }
    }
}

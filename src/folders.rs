//! The user's own folders (for settings, for what can be fetched again, for what must survive a crash),
//! and what belongs to the user.
//!
//! A variable of tsql's own goes before the desktop's (XDG Base Directory Specification), that before
//! the place below the home folder which the specification names.

use std::path::PathBuf;

/// For what can be fetched again: `TSQL_CACHE`, else `~/.cache/tsql`; `None` where there is neither.
pub(crate) fn cache() -> Option<PathBuf> {
    own("TSQL_CACHE", "XDG_CACHE_HOME", ".cache")
}

/// For what must survive: `TSQL_STATE`, else `~/.local/state/tsql`; `None` where there is neither.
#[cfg(target_os = "linux")]
pub(crate) fn state() -> Option<PathBuf> {
    own("TSQL_STATE", "XDG_STATE_HOME", ".local/state")
}

/// For settings: `~/.config/tsql`; `None` where there is no home.
pub(crate) fn settings() -> Option<PathBuf> {
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
pub(crate) fn is_own(file: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    static USER: std::sync::OnceLock<Option<u32>> = std::sync::OnceLock::new();
    // A file that is made belongs to whoever makes it.
    let user = USER.get_or_init(|| Some(tempfile::tempfile().ok()?.metadata().ok()?.uid()));
    file.uid() == 0 || Some(file.uid()) == *user
}

/// Owners are not asked for here.
#[cfg(not(unix))]
pub(crate) fn is_own(_: &std::fs::Metadata) -> bool {
    true
}

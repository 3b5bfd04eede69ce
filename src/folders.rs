//! The user's own folders: one for what can be fetched again, one for what must survive a crash.
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

fn own(ours: &str, desktop: &str, below_home: &str) -> Option<PathBuf> {
    let set = |variable: &str| {
        let value = std::env::var_os(variable).filter(|value| !value.is_empty());
        value.map(PathBuf::from)
    };
    let user = || Some(set(desktop)?.join("tsql"));
    let home = || Some(set("HOME")?.join(below_home).join("tsql"));
    set(ours).or_else(user).or_else(home)
}

//! The user's folder for what can be fetched again.

use std::path::PathBuf;

/// Variable that names the folder.
const VARIABLE: &str = "TSQL_CACHE";

/// A folder of the cache: in `TSQL_CACHE`, else in the user's own (`~/.cache/tsql`); `None` where
/// there is neither.
pub(super) fn folder(name: &str) -> Option<PathBuf> {
    let set = |variable: &str| std::env::var_os(variable).filter(|value| !value.is_empty());
    let own = set(VARIABLE).map(PathBuf::from);
    let user = || Some(PathBuf::from(set("XDG_CACHE_HOME")?).join("tsql"));
    let home = || Some(PathBuf::from(set("HOME")?).join(".cache/tsql"));
    Some(own.or_else(user).or_else(home)?.join(name))
}

/// A file name for what `key` says.
pub(super) fn hash(key: &str) -> String {
    format!("{:032x}", twox_hash::XxHash3_128::oneshot(key.as_bytes()))
}

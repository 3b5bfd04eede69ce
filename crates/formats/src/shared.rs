//! Finds real files for tests that are not part of the project.

#![allow(clippy::print_stderr, reason = "a test prints why it was skipped")]

use std::fs;
use std::path::{Path, PathBuf};

const SHARED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared");

/// Returns the path of a shared file or folder; `None` if it is missing, unless it is required.
pub(crate) fn path(name: &str) -> Option<PathBuf> {
    let path = Path::new(SHARED).join(name);
    if path.exists() {
        return Some(path);
    }
    let required = std::env::var_os("TSQL_REQUIRE_SHARED").is_some();
    assert!(!required, "no {}", path.display());
    eprintln!("skipped: no {}", path.display());
    None
}

/// Reads a shared file.
pub(crate) fn bytes(name: &str) -> Option<Vec<u8>> {
    Some(fs::read(path(name)?).unwrap())
}

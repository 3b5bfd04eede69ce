//! The program that the command is: what it starts as itself.

use std::path::PathBuf;
use std::sync::OnceLock;

#[cfg(all(feature = "measure", target_os = "linux"))]
use crate::error::{Error, Result};

static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Says which program is the command, where the one that runs is the interpreter of another language.
pub(super) fn set(program: PathBuf) {
    // A process has one command line.
    let _ = PROGRAM.set(program);
}

/// What the command starts as itself.
#[cfg(all(feature = "measure", target_os = "linux"))]
pub(super) fn own() -> Result<PathBuf> {
    match PROGRAM.get() {
        Some(program) => Ok(program.clone()),
        None => std::env::current_exe().map_err(Error::io("tsql")),
    }
}

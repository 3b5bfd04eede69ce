//! The program that the command is: what it starts as itself.

use std::ffi::OsString;
use std::sync::OnceLock;

#[cfg(all(feature = "measure", target_os = "linux"))]
use crate::error::{Error, Result};

/// What is started where the command starts itself, if it is not the program that runs: a script of another language's, say.
static OWN: OnceLock<Vec<OsString>> = OnceLock::new();

/// Says which command line starts the command, before any arguments.
pub(super) fn set(own: Vec<OsString>) {
    // A process has one command line.
    let _ = OWN.set(own);
}

/// What the command starts as itself.
#[cfg(all(feature = "measure", target_os = "linux"))]
pub(super) fn own() -> Result<Vec<OsString>> {
    match OWN.get() {
        Some(own) => Ok(own.clone()),
        None => {
            let own = std::env::current_exe().map_err(Error::io("tsql"))?;
            Ok(vec![own.into_os_string()])
        }
    }
}

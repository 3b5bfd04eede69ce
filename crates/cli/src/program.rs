//! Command line with which the command starts itself.

use std::ffi::OsString;
use std::sync::OnceLock;

#[cfg(all(feature = "measure", target_os = "linux"))]
use tsql_error::{Error, Result};

/// Command line that starts the command, if it is not the running program but, for example, a Python script.
static OWN: OnceLock<Vec<OsString>> = OnceLock::new();

/// Sets the command line that starts the command, without arguments.
pub(super) fn set(own: Vec<OsString>) {
    // A process has one command line.
    let _ = OWN.set(own);
}

/// Returns the command line that starts the command.
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

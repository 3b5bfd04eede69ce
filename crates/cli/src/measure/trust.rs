//! Consent to build and run the programs of a store.
//!
//! A store may come from anybody, and can be copied: its location does not show the author of its programs. So each
//! command that measures its records again shows the programs, and needs the consent of the user.

use std::io::{BufRead as _, IsTerminal as _};

use tsql_dataset::trials::RepeatableRecords;
use tsql_error::{Error, Result};

use crate::stderr::print_message;

/// Checks that the user trusts the programs of these records, by an option or by a confirmation on the terminal.
///
/// # Errors
/// Fails if the user does not confirm. Without a terminal it fails too, and the error lists the programs.
pub(super) fn confirm(records: &RepeatableRecords, trusted: bool) -> Result<()> {
    if trusted {
        return Ok(());
    }
    let list = records.programs()?;
    if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
        print_message(&format!("{list}\nbuild and run them? [y/N]"));
        let mut reply = String::new();
        let read = std::io::stdin().lock().read_line(&mut reply);
        read.map_err(Error::io("standard input"))?;
        if ["y", "yes"].contains(&reply.trim().to_ascii_lowercase().as_str()) {
            return Ok(());
        }
        return Err(distrust("nothing was built or run".to_owned()));
    }
    Err(distrust(format!(
        "{list}\n\
         hint: --trust builds and runs them; tsql \"SELECT program FROM environments\" shows \
         their sources"
    )))
}

fn distrust(reason: String) -> Error {
    Error::Argument {
        name: "trust",
        reason,
    }
}

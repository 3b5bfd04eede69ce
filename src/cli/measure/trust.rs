//! Programs that a store names are shown before they are built and run.
//!
//! A store may come from anybody, and can be copied: that it lies here does not say who wrote what is in
//! it. So whoever measures its records again says that he trusts them, each time.

use std::io::{BufRead as _, IsTerminal as _};

use crate::cli::stderr::print_message;
use crate::error::{Error, Result};
use crate::trials::RepeatableRecords;

/// Returns where the user trusts the programs of these records: he said so before, or says so now.
///
/// # Errors
/// Where he does not, or nobody is there to be asked; the error shows what would be run.
pub(super) fn ask(records: &RepeatableRecords, trusted: bool) -> Result<()> {
    if trusted {
        return Ok(());
    }
    let list = records.programs()?;
    if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
        print_message(&format!("{list}\nbuild and run them? [y/N]"));
        let mut answer = String::new();
        let read = std::io::stdin().lock().read_line(&mut answer);
        read.map_err(Error::io("standard input"))?;
        if ["y", "yes"].contains(&answer.trim().to_ascii_lowercase().as_str()) {
            return Ok(());
        }
        return Err(distrust("nothing was built or run".to_owned()));
    }
    Err(distrust(format!(
        "{list}\nhint: --trust builds and runs them; tsql \"SELECT program FROM environments\" shows their texts"
    )))
}

fn distrust(reason: String) -> Error {
    Error::Argument {
        name: "trust",
        reason,
    }
}

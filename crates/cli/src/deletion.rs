//! Options and the confirmation of commands that delete something.

use std::io::{IsTerminal as _, Write as _};

use clap::Args;
use tsql_error::Error;

use super::outcome::Failure;
use super::stderr::print_message;

/// Options of commands that delete something.
#[derive(Args, Clone, Copy, Debug)]
pub(super) struct Deletion {
    /// Print what would be deleted, and delete nothing
    #[arg(long)]
    dry_run: bool,
    /// Delete without confirmation; only terminals require one
    #[arg(short, long, conflicts_with = "dry_run")]
    yes: bool,
}

impl Deletion {
    /// Returns whether nothing shall be deleted.
    pub(super) fn is_dry_run(self) -> bool {
        self.dry_run
    }

    /// Returns whether `what` shall be deleted. On a terminal, the user has to confirm, unless `--yes` is set.
    pub(super) fn is_confirmed(self, what: &str) -> Result<bool, Failure> {
        if self.dry_run {
            print_message(&format!("would delete {what}"));
            return Ok(false);
        }
        let is_terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
        if self.yes || !is_terminal {
            return Ok(true);
        }
        let mut err = std::io::stderr().lock();
        let _ = write!(err, "delete {what}? [y/N] ").and_then(|()| err.flush());
        let mut line = String::new();
        let read = std::io::stdin().read_line(&mut line);
        read.map_err(Error::io("standard input"))?;
        let is_confirmed = ["y", "yes"].contains(&line.trim().to_lowercase().as_str());
        if !is_confirmed {
            print_message("nothing was deleted");
        }
        Ok(is_confirmed)
    }
}

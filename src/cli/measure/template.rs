//! `tsql measure template`: programs that come with tsql.

use std::io::Write as _;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use tsql_measure::templates;

use crate::cli::outcome::DONE;
use crate::cli::talk::talk;
use crate::error::Result;

/// Programs that come with tsql, to measure or to begin with
#[derive(Args, Debug)]
pub(super) struct Template {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Which there are
    List,
    /// Print the manifest of one
    Show {
        /// Its name
        name: String,
    },
    /// Write manifest and sources of one into a folder, to change them
    Init {
        /// Its name
        name: String,
        /// The folder, which must not have files of these names
        folder: PathBuf,
    },
}

pub(super) fn run(command: Template) -> Result<u8> {
    let mut out = std::io::stdout().lock();
    match command.command {
        Command::List => {
            for template in templates::list() {
                let _ = writeln!(out, "{:<22} {}", template.name, template.about);
            }
        }
        Command::Show { name } => {
            let _ = write!(out, "{}", templates::find(&name)?.manifest);
        }
        Command::Init { name, folder } => {
            let path = templates::find(&name)?.write(&folder)?;
            talk(&format!("hint: tsql measure run {}", path.display()));
        }
    }
    Ok(DONE)
}

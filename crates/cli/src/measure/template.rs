//! `tsql measure template`: built-in programs.

use std::io::Write as _;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use tsql_error::Result;
use tsql_measure::templates;
use tsql_store::atomic_output::check_output;

use crate::outcome::DONE;
use crate::stderr::print_message;

/// List or copy the built-in programs
#[derive(Args, Debug)]
pub(super) struct Template {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// List the templates
    List,
    /// Print the manifest of a template
    Show {
        /// Name of the template
        name: String,
    },
    /// Write the manifest and sources of a template to a folder, for changes
    #[command(alias = "init")]
    Create {
        /// Name of the template
        name: String,
        /// Folder, which must not contain files with these names
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
        Command::Create { name, folder } => {
            check_output(&folder)?;
            let path = templates::find(&name)?.write(&folder)?;
            print_message(&format!("hint: tsql measure run {}", path.display()));
        }
    }
    Ok(DONE)
}

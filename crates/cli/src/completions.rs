//! `tsql completions SHELL`: prints the script with which a shell completes the words of this command.
//!
//! The scripts for all shells but nushell call the command itself, which reads the tables, tags and platforms of the
//! selected store.

use std::io::Write as _;

use clap::{Args, CommandFactory, ValueEnum};
use clap_complete::CompleteEnv;
use clap_complete::env::{Bash, Elvish, EnvCompleter, Fish, Powershell, Zsh};
use clap_complete_nushell::Nushell;
use tsql_error::Error;

use super::outcome::{DONE, FAILED, Failure};

/// Variable with which a script requests completions.
const VARIABLE: &str = "TSQL_COMPLETE";

/// Name of the command.
const NAME: &str = "tsql";

/// Print the shell script that completes commands, options, tables, tags and queries
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql completions bash >> ~/.bashrc\n  \
    tsql completions zsh >> ~/.zshrc\n  \
    tsql completions fish > ~/.config/fish/completions/tsql.fish\n  \
    tsql completions nushell > ~/.config/nushell/autoload/tsql.nu")]
pub(super) struct Completions {
    /// Shell
    #[arg(value_enum)]
    shell: Shell,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Shell {
    Bash,
    Elvish,
    Fish,
    Nushell,
    Powershell,
    Zsh,
}

pub(super) fn run(command: &Completions, mut cli: clap::Command) -> Result<u8, Failure> {
    let mut script = Vec::new();
    let dynamic: &dyn EnvCompleter = match command.shell {
        Shell::Bash => &Bash,
        Shell::Elvish => &Elvish,
        Shell::Fish => &Fish,
        Shell::Powershell => &Powershell,
        Shell::Zsh => &Zsh,
        Shell::Nushell => {
            clap_complete::generate(Nushell, &mut cli, NAME, &mut script);
            return print(&script);
        }
    };
    let written = dynamic.write_registration(VARIABLE, NAME, NAME, NAME, &mut script);
    written.map_err(Error::io("standard output"))?;
    print(&script)
}

fn print(script: &[u8]) -> Result<u8, Failure> {
    match std::io::stdout().lock().write_all(script) {
        // The reader has closed the pipe.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(DONE),
        printed => {
            printed.map_err(Error::io("standard output"))?;
            Ok(DONE)
        }
    }
}

/// Prints completions if a script requests them, and returns the exit code; `None` without a request.
pub(super) fn serve<Cli: CommandFactory>(args: &[std::ffi::OsString]) -> Option<u8> {
    std::env::var_os(VARIABLE)?;
    let folder = std::env::current_dir().ok();
    let completing = CompleteEnv::with_factory(Cli::command).var(VARIABLE);
    match completing.try_complete(args, folder.as_deref()) {
        Ok(true) => Some(DONE),
        Ok(false) => None,
        Err(error) => {
            let _ = error.print();
            Some(FAILED)
        }
    }
}

//! `tsql man DIR`: pages for `man`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::outcome::{DONE, Failure};
use super::talk::talk;
use crate::error::Error;

/// Write a page of the manual for each command
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  tsql man ~/.local/share/man/man1 && man tsql-ingest")]
pub(super) struct Man {
    /// The folder, made where it is missing
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    folder: PathBuf,
}

pub(super) fn run(command: &Man, cli: clap::Command) -> Result<u8, Failure> {
    let folder = &command.folder;
    std::fs::create_dir_all(folder).map_err(Error::io(folder))?;
    clap_mangen::generate_to(cli, folder).map_err(Error::io(folder))?;
    talk(&format!("wrote pages to {}", folder.display()));
    Ok(DONE)
}

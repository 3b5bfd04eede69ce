//! `tsql man DIR`: writes manual pages.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use tsql_error::Error;
use tsql_folders::Scratch;
use tsql_store::atomic_output::check_output;

use super::outcome::{DONE, Failure};
use super::stderr::print_message;

/// Write a manual page for each command
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  tsql man ~/.local/share/man/man1 && man tsql-ingest")]
pub(super) struct Man {
    /// Folder for the pages; a missing folder is created
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    folder: PathBuf,
}

pub(super) fn run(command: &Man, cli: clap::Command) -> Result<u8, Failure> {
    let folder = &command.folder;
    check_output(folder)?;
    std::fs::create_dir_all(folder).map_err(Error::io(folder))?;
    let scratch = Scratch::new_in(folder).map_err(Error::from)?;
    clap_mangen::generate_to(cli, scratch.path()).map_err(Error::io(folder))?;
    let pages = std::fs::read_dir(scratch.path()).map_err(Error::io(folder))?;
    for page in pages {
        let page = page.map_err(Error::io(folder))?;
        let path = folder.join(page.file_name());
        std::fs::rename(page.path(), &path).map_err(Error::io(&path))?;
    }
    print_message(&format!("wrote pages to {}", folder.display()));
    Ok(DONE)
}

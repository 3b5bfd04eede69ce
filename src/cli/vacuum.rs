//! `tsql vacuum`: files that no version needs.

use std::io::Write as _;
use std::time::Duration;

use bytesize::ByteSize;
use clap::Args;

use super::outcome::{DONE, Failure};
use super::place::Place;
use super::talk::{counted, talk};
use crate::error::Error;
use crate::store::VacuumOptions;

/// Delete files that no recent version and no tag needs
///
/// Queries that have run for longer than --retain may lose their files. Left-overs of broken runs
/// go too, when they are an hour old (and older than --retain): a younger file that no log names may
/// belong to a writer that is about to commit it.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  tsql vacuum --dry-run\n  tsql vacuum --retain 1h")]
pub(super) struct Vacuum {
    /// Keep what versions of this last while need: `30min`, `12h`, `7d`
    #[arg(long, value_name = "DURATION", default_value = "7d", value_parser = humantime::parse_duration)]
    retain: Duration,
    /// Delete files that no log names whatever their age. DANGER: they may be what running writers are
    /// about to commit, which fail then. Only while nobody writes
    #[arg(long)]
    force_unlisted: bool,
    /// Only list the files
    #[arg(long)]
    dry_run: bool,
}

pub(super) async fn run(place: &Place, command: Vacuum) -> Result<u8, Failure> {
    let options = VacuumOptions::default()
        .retain(command.retain)
        .force_unlisted(command.force_unlisted)
        .dry_run(command.dry_run);
    let store = place.open().await?;
    let files = store.vacuum(&options).await?;
    if command.dry_run {
        let mut out = super::stdout::stdout();
        for file in &files {
            writeln!(out, "{file}").map_err(Error::io("standard output"))?;
        }
    }
    let done = if command.dry_run {
        "would go"
    } else {
        "deleted"
    };
    talk(&format!("{} {done}", counted(files.len() as u64, "file")));
    let tags = store.tags().await?;
    for (tag, held) in tags.iter().zip(store.held(&tags).await?) {
        if let Some(held) = held.filter(|held| held.own_file_count > 0) {
            let (files, bytes) = (
                counted(held.own_file_count, "file"),
                ByteSize(held.own_bytes),
            );
            talk(&format!("the tag {} keeps {files} of {bytes}", tag.name));
        }
    }
    Ok(DONE)
}

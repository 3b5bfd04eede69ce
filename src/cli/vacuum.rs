//! `tsql vacuum`: deletes files that no version needs.

use std::io::Write as _;
use std::time::Duration;

use bytesize::ByteSize;
use clap::Args;

use super::outcome::{DONE, Failure};
use super::stderr::{count_noun, print_message};
use super::store_options::StoreOptions;
use crate::error::Error;
use crate::store::VacuumOptions;

/// Delete files that no recent version and no tag needs
///
/// Queries that have run for longer than --retain may lose their files. Files that no log lists are deleted after an
/// hour (and after --retain): a newer one may belong to a writer that is about to commit it.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  tsql vacuum --dry-run\n  tsql vacuum --retain 1h")]
pub(super) struct Vacuum {
    /// Keep files of versions that were current within this time: `30min`, `12h`, `7d`
    #[arg(long, value_name = "DURATION", default_value = "7d", value_parser = humantime::parse_duration)]
    retain: Duration,
    /// Delete files that no log lists, whatever their age. DANGER: running writers may be about to commit them, and
    /// fail. Use it only if no writer is running
    #[arg(long)]
    force_unlisted: bool,
    /// List the files, and delete nothing
    #[arg(long)]
    dry_run: bool,
}

pub(super) async fn run(place: &StoreOptions, command: Vacuum) -> Result<u8, Failure> {
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
        "would be deleted"
    } else {
        "deleted"
    };
    print_message(&format!(
        "{} {done}",
        count_noun(files.len() as u64, "file")
    ));
    let tags = store.tags().await?;
    for (tag, held) in tags.iter().zip(store.tag_files(&tags).await?) {
        if let Some(held) = held.filter(|held| held.own_file_count > 0) {
            let (files, bytes) = (
                count_noun(held.own_file_count, "file"),
                ByteSize(held.own_bytes),
            );
            print_message(&format!(
                "the tag {} preserves {files} of {bytes}",
                tag.name
            ));
        }
    }
    Ok(DONE)
}

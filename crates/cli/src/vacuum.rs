//! `tsql vacuum`: deletes files that no version needs.

use std::io::Write as _;
use std::time::Duration;

use bytesize::ByteSize;
use clap::Args;
use tsql_error::Error;
use tsql_store::VacuumOptions;

use super::deletion::Deletion;
use super::outcome::{DONE, Failure};
use super::stderr::{count_noun, print_message};
use super::store_options::StoreOptions;

/// Files that `--force-unlisted` deletes, in the request for confirmation.
const UNLISTED: &str = "all files that no log lists, also those of running writers";

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
    /// fail. Use it only if no writer is running. On a terminal, it needs confirmation
    #[arg(long)]
    force_unlisted: bool,
    #[command(flatten)]
    deletion: Deletion,
}

pub(super) async fn run(place: &StoreOptions, command: Vacuum) -> Result<u8, Failure> {
    let dry_run = command.deletion.is_dry_run();
    let options = VacuumOptions::default()
        .retain(command.retain)
        .force_unlisted(command.force_unlisted)
        .dry_run(dry_run);
    let store = place.open().await?;
    let is_forced = command.force_unlisted && !dry_run;
    if is_forced && !command.deletion.is_confirmed(UNLISTED)? {
        return Ok(DONE);
    }
    let files = store.vacuum(&options).await?;
    if dry_run {
        let mut out = super::stdout::stdout();
        for file in &files {
            writeln!(out, "{file}").map_err(Error::io("standard output"))?;
        }
    }
    let done = if dry_run {
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

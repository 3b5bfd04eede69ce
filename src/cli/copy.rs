//! `tsql copy`: a store, or a part of it, into another one.

use std::io::IsTerminal as _;

use clap::Args;

use super::bar;
use super::outcome::{DONE, Failure, PARTLY};
use super::place::Place;
use super::talk::{counted, talk};
use crate::copy::{Copied, CopyOptions};
use crate::error::Error;
use crate::store::{At, Store};

/// Names of each kind that are told.
const SHOWN: usize = 20;

/// Copy a store, or a part of it, into another one
///
/// Folders and buckets alike; the other store is made where there is none. What both have becomes one: graphs,
/// configurations, samples, environments, whole sources, and copying twice changes nothing. A copy that was broken off is finished
/// by the same command again. Retracted records stay retracted; tags stay behind, since they name versions of one store.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql copy lab-a/.tsql all/ && tsql copy lab-b/.tsql all/\n  \
    tsql copy .tsql s3://bucket/store\n  \
    tsql copy .tsql paper/ --tag v1.0\n  \
    tsql copy .tsql k80/ --where \"platform = 'k80'\"\n  \
    tsql copy .tsql fast/ --where \"runtime_ns < 1e6\" --dry-run")]
pub(super) struct Copy {
    /// Directory or URL of the store that is copied
    from: String,
    /// Directory or URL of the store that it is copied into
    to: String,
    /// Only these records, with all that they refer to: SQL over `records`; the name of their file is `source`. Of
    /// files of which not all records are chosen, the lines become shorter files below parts/
    #[arg(long = "where", value_name = "SQL")]
    predicate: Option<String>,
    /// What a tag, a time or a version names, as --at
    #[arg(long, value_name = "TAG")]
    tag: Option<At>,
    /// Only say what would be copied
    #[arg(long)]
    dry_run: bool,
}

pub(super) async fn run(place: &Place, command: Copy) -> Result<u8, Failure> {
    let mut from = Store::open(&command.from).await?.telling(talk);
    if let Some(at) = command.tag.as_ref().or(place.at()) {
        from = from.at(at).await?;
    }
    let to = match Store::open(&command.to).await {
        Err(Error::NotAStore { .. }) if command.dry_run => Store::create("memory:").await?,
        Err(Error::NotAStore { .. }) => {
            let to = Store::open_or_create(&command.to).await?;
            talk(&format!("made the store {}", command.to));
            to
        }
        opened => opened?,
    };
    let to = to.telling(talk);
    let mut options = CopyOptions {
        predicate: command.predicate,
        dry_run: command.dry_run,
        ..CopyOptions::default()
    };
    let bar = std::io::stderr().is_terminal().then(|| {
        bar::bar(
            "{spinner} {bar:30} {human_pos} of {human_len} rows of {msg}, {per_sec}, {eta} left",
        )
    });
    if let Some(bar) = bar.clone() {
        options = options.progress(bar::told(bar));
    }
    let copied = from.copy_to(&to, &options).await;
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    let copied = copied?;
    tell(&copied, command.dry_run);
    Ok(if copied.is_clean() { DONE } else { PARTLY })
}

fn tell(copied: &Copied, dry_run: bool) {
    let sources = counted(copied.sources, "source");
    let done = if dry_run { "would be new" } else { "new" };
    let (grown, names, known) = (copied.grown, copied.other_names, copied.known);
    talk(&format!(
        "{sources} {done}, {grown} grown, {names} other names, {known} known"
    ));
    let records = counted(copied.records, "record");
    let (graphs, configurations) = (
        counted(copied.graphs, "graph"),
        counted(copied.configurations, "configuration"),
    );
    if dry_run {
        talk(&format!("{records} would be new"));
    } else {
        talk(&format!("{records}, {graphs}, {configurations} new"));
    }
    let lists = [
        copied
            .renamed
            .iter()
            .map(|(old, new)| format!("{old} is {new} there"))
            .collect(),
        copied
            .parts
            .iter()
            .map(|(name, part, lines)| {
                let lines = counted(*lines, "line");
                format!("{name}: {lines} of it are {part} there; it cannot be given back as it was")
            })
            .collect(),
        copied
            .refused
            .iter()
            .map(|(name, reason)| format!("{name}: not copied: {reason}"))
            .collect::<Vec<String>>(),
    ];
    for list in lists {
        list.iter().take(SHOWN).for_each(|line| talk(line));
        if list.len() > SHOWN {
            talk(&format!("... and {} more", list.len() - SHOWN));
        }
    }
}

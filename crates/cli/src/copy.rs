//! `tsql copy`: copies a store, or a part of it, into another one.

use clap::Args;
use tsql_dataset::copy::copy_to;
use tsql_dataset::copy::{CopyOptions, CopyReport};
use tsql_dataset::optional_setting::OptionalSetting as _;
use tsql_error::Error;
use tsql_store::{At, Store};

use super::outcome::{DONE, Failure, PARTLY};
use super::progress_bar;
use super::stderr::{count_noun, print_message, shows_progress};
use super::store_options::StoreOptions;

/// Number of names of each kind that are listed.
const SHOWN: usize = 20;

/// Copy a store, or a part of it, into another store
///
/// Source and destination are folders or buckets; a missing destination is created. Graphs, configurations, samples,
/// environments and sources that both have are stored once, so copying twice changes nothing. Running the same command
/// again completes an interrupted copy. Retracted records stay retracted. Tags are not copied: they name versions of
/// one store.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql copy lab-a/.tsql all/ && tsql copy lab-b/.tsql all/\n  \
    tsql copy .tsql s3://bucket/store\n  \
    tsql copy .tsql published/ --at v1.0\n  \
    tsql copy .tsql k80/ --where \"platform = 'k80'\"\n  \
    tsql copy .tsql fast/ --where \"runtime_ns < 1e6\" --dry-run")]
pub(super) struct Copy {
    /// Folder or URL of the store to copy
    from: String,
    /// Folder or URL of the destination
    to: String,
    /// SQL condition over `records` (`source` is the name of their file): only these records, with everything that they
    /// refer to. Files with other records become shorter files in the folder parts/
    #[arg(long = "where", value_name = "SQL")]
    predicate: Option<String>,
    #[arg(long, value_name = "TAG", hide = true)]
    tag: Option<At>,
    /// Report the records that would be copied, and copy nothing
    #[arg(long)]
    dry_run: bool,
}

pub(super) async fn run(place: &StoreOptions, command: Copy) -> Result<u8, Failure> {
    let mut from = Store::open(&command.from)
        .await?
        .with_reporter(print_message);
    if let Some(at) = command.tag.as_ref().or(place.at()) {
        from = from.at(at).await?;
    }
    let to = match Store::open(&command.to).await {
        Err(Error::NotAStore { .. }) if command.dry_run => Store::create("memory:").await?,
        Err(Error::NotAStore { .. }) => {
            let created = command.to.clone();
            let report = move || print_message(&format!("created the store {created}"));
            Store::open_or_create_on_write(&command.to, report).await?
        }
        opened => opened?,
    };
    let to = to.with_reporter(print_message);
    let mut options = CopyOptions::default()
        .dry_run(command.dry_run)
        .set_if(command.predicate, CopyOptions::predicate);
    let bar = shows_progress().then(|| {
        progress_bar::bar(
            "{spinner} {bar:30} {human_pos} of {human_len} rows of {msg}, {per_sec}, {eta} left",
        )
    });
    if let Some(bar) = bar.clone() {
        options = options.progress(progress_bar::by_table(bar));
    }
    let copied = copy_to(&from, &to, &options).await;
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    let copied = copied?;
    // A copy of nothing is an empty store.
    to.ensure_created().await?;
    print_report(&copied, command.dry_run);
    Ok(if copied.is_clean() { DONE } else { PARTLY })
}

fn print_report(copied: &CopyReport, dry_run: bool) {
    let sources = count_noun(copied.sources, "source");
    let done = if dry_run { "would be new" } else { "new" };
    let (grown, names, unchanged) = (copied.grown, copied.other_names, copied.unchanged);
    print_message(&format!(
        "{sources} {done}, {grown} grown, {names} other names, {unchanged} unchanged"
    ));
    let records = count_noun(copied.records, "record");
    let (graphs, configurations) = (
        count_noun(copied.graphs, "graph"),
        count_noun(copied.configurations, "configuration"),
    );
    if dry_run {
        print_message(&format!("{records} would be new"));
    } else {
        print_message(&format!("{records}, {graphs}, {configurations} new"));
    }
    let lists = [
        copied
            .renamed
            .iter()
            .map(|(old, new)| format!("{old} is named {new} in the target"))
            .collect(),
        copied
            .partial
            .iter()
            .map(|(name, part, lines)| {
                let lines = count_noun(*lines, "line");
                format!("{name}: {lines} of it are stored as {part}; the original file cannot be exported")
            })
            .collect(),
        copied
            .rejected
            .iter()
            .map(|(name, reason)| format!("{name}: not copied: {reason}"))
            .collect::<Vec<String>>(),
    ];
    for list in lists {
        list.iter().take(SHOWN).for_each(|line| print_message(line));
        if list.len() > SHOWN {
            print_message(&format!("... and {} more", list.len() - SHOWN));
        }
    }
}

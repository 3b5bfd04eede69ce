//! `tsql optimize`: merges small files.

use clap::Args;
use indicatif::HumanBytes;
use tsql_dataset::optimize::{OptimizeOptions, optimize};
use tsql_dataset::optional_setting::OptionalSetting as _;
use tsql_schema::shard::Shard;

use super::outcome::{DONE, Failure};
use super::progress_bar;
use super::stderr::{count_noun, print_message, shows_progress};
use super::store_options::StoreOptions;

/// Merge, sort and recompress the files of the store
///
/// The rows stay the same. Replaced files stay for running queries until `tsql vacuum`.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  tsql optimize --dry-run\n  tsql optimize && tsql vacuum --retain 1h"
)]
pub(super) struct Optimize {
    /// Rewrite optimized files too, after an upgrade of tsql
    #[arg(long)]
    again: bool,
    /// Rewrite one of N shards of the partitions, such as `3/8`, while other processes rewrite the others
    #[arg(long, alias = "part", value_name = "I/N")]
    shard: Option<Shard>,
    /// Report the files that would be rewritten, and rewrite nothing
    #[arg(long)]
    dry_run: bool,
}

pub(super) async fn run(place: &StoreOptions, command: Optimize) -> Result<u8, Failure> {
    let mut options = OptimizeOptions::default()
        .again(command.again)
        .dry_run(command.dry_run)
        .set_if(command.shard, OptimizeOptions::shard);
    let bar = (shows_progress() && !command.dry_run).then(|| {
        progress_bar::bar("{spinner} {bar:30} {bytes} of {total_bytes} of {msg} rewritten, {bytes_per_sec}, {elapsed}")
    });
    if let Some(bar) = bar.clone() {
        options = options.progress(progress_bar::by_table(bar));
    }
    let done = optimize(&place.open().await?, &options).await?;
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    if command.dry_run {
        print_message(&format!(
            "{} of {} would be rewritten",
            count_noun(done.files_before, "file"),
            HumanBytes(done.bytes_before)
        ));
        return Ok(DONE);
    }
    print_message(&format!(
        "{} of {} became {} of {}",
        count_noun(done.files_before, "file"),
        HumanBytes(done.bytes_before),
        done.files_after,
        HumanBytes(done.bytes_after)
    ));
    if done.files_before > 0 {
        print_message(&format!(
            "{} stay for earlier versions until `tsql vacuum`",
            HumanBytes(done.bytes_before)
        ));
    }
    Ok(DONE)
}

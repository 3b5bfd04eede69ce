//! `tsql optimize`: merges small files.

use clap::Args;
use indicatif::HumanBytes;

use super::outcome::{DONE, Failure};
use super::progress_bar;
use super::stderr::{print_message, shows_progress};
use super::store_options::StoreOptions;
use crate::optimize::OptimizeOptions;
use crate::shard::Shard;

/// Merge, sort and recompress the files of the store
///
/// The rows stay the same. Replaced files stay for running queries until `tsql vacuum`.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  tsql optimize && tsql vacuum --retain 1h")]
pub(super) struct Optimize {
    /// Rewrite optimized files too, after an upgrade of tsql
    #[arg(long)]
    again: bool,
    /// Rewrite one of N shards of the partitions, such as `3/8`, while other processes rewrite the others
    #[arg(long, alias = "part", value_name = "I/N")]
    shard: Option<Shard>,
}

pub(super) async fn run(place: &StoreOptions, command: Optimize) -> Result<u8, Failure> {
    let mut options = OptimizeOptions {
        again: command.again,
        part: command.shard,
        ..OptimizeOptions::default()
    };
    let bar = shows_progress().then(|| {
        progress_bar::bar("{spinner} {bar:30} {bytes} of {total_bytes} of {msg} rewritten, {bytes_per_sec}, {elapsed}")
    });
    if let Some(bar) = bar.clone() {
        options = options.progress(progress_bar::by_table(bar));
    }
    let done = place.open().await?.optimize(&options).await?;
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    print_message(&format!(
        "{} files of {} became {} of {}",
        done.files_before,
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

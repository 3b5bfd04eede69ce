//! `tsql optimize`: few large files of many small ones.

use std::io::IsTerminal as _;

use clap::Args;
use indicatif::HumanBytes;

use super::bar;
use super::outcome::{DONE, Failure};
use super::place::Place;
use super::talk::talk;
use crate::optimize::OptimizeOptions;
use crate::part::Part;

/// Rewrite the files: merged, sorted, compressed as well as they can be
///
/// The rows stay the same. The old files stay too, for running queries, until `tsql vacuum`.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  tsql optimize && tsql vacuum --retain 1h")]
pub(super) struct Optimize {
    /// Rewrite files that are optimized already, too: after an upgrade of tsql
    #[arg(long)]
    again: bool,
    /// Rewrite one of N parts of the partitions: `--part 3/8`, beside processes with the others
    #[arg(long, value_name = "I/N")]
    part: Option<Part>,
}

pub(super) async fn run(place: &Place, command: Optimize) -> Result<u8, Failure> {
    let mut options = OptimizeOptions {
        again: command.again,
        part: command.part,
        ..OptimizeOptions::default()
    };
    let bar = std::io::stderr().is_terminal().then(|| {
        bar::bar("{spinner} {bar:30} {bytes} of {total_bytes} of {msg} rewritten, {bytes_per_sec}, {elapsed}")
    });
    if let Some(bar) = bar.clone() {
        options = options.progress(bar::told(bar));
    }
    let done = place.open().await?.optimize(&options).await?;
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    talk(&format!(
        "{} files of {} became {} of {}",
        done.files_before,
        HumanBytes(done.bytes_before),
        done.files_after,
        HumanBytes(done.bytes_after)
    ));
    if done.files_before > 0 {
        talk(&format!(
            "{} are kept for older versions until `tsql vacuum`",
            HumanBytes(done.bytes_before)
        ));
    }
    Ok(DONE)
}

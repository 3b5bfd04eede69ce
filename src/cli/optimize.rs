//! `tsql optimize`: few large files of many small ones.

use clap::Args;

use super::place::Place;
use super::{DONE, Failure, talk};

/// Rewrite the files: merged, sorted, compressed as well as zstd can
///
/// The rows stay the same. The old files stay too, for running queries, until `tsql vacuum`.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  tsql optimize && tsql vacuum --retain 1h")]
pub(super) struct Optimize {}

pub(super) async fn run(place: &Place, _: Optimize) -> Result<u8, Failure> {
    let done = place.open().await?.optimize().await?;
    talk(&format!(
        "{} files of {} bytes became {} of {} bytes",
        done.files_before, done.bytes_before, done.files_after, done.bytes_after
    ));
    Ok(DONE)
}

//! `tsql init`: a new store.

use clap::Args;

use super::outcome::{DONE, Failure};
use super::place::Place;
use super::talk::talk;
use crate::store::Store;

/// Make an empty store
///
/// Without a directory it becomes `.tsql`, which is found from every folder below the working
/// directory.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  tsql init\n  tsql init /data/tuning")]
pub(super) struct Init {
    /// Where [default: --store, or `.tsql`]
    #[arg(value_name = "DIR")]
    directory: Option<String>,
}

pub(super) async fn run(place: &Place, command: Init) -> Result<u8, Failure> {
    let location = command.directory.unwrap_or_else(|| place.new_location());
    Store::create(&location).await?;
    talk(&format!("made the store {location}"));
    Ok(DONE)
}

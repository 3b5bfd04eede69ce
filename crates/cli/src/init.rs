//! `tsql init`: creates a store.

use clap::Args;
use tsql_store::Store;

use super::outcome::{DONE, Failure};
use super::stderr::print_message;
use super::store_options::StoreOptions;

/// Create an empty store
///
/// The default folder is `.tsql`. Commands in any folder below the working directory find it there.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  tsql init\n  tsql init /data/tuning")]
pub(super) struct Init {
    /// Folder of the store [default: --store, or `.tsql`]
    #[arg(value_name = "DIR")]
    directory: Option<String>,
}

pub(super) async fn run(place: &StoreOptions, command: Init) -> Result<u8, Failure> {
    let location = command.directory.unwrap_or_else(|| place.new_location());
    Store::create(&location).await?;
    print_message(&format!("created the store {location}"));
    Ok(DONE)
}

//! `tsql check`: is the store sound?

use clap::Args;

use super::place::Place;
use super::{DONE, Failure, PARTLY, talk};

/// Check every reference, every hash, and that every source can be given back
///
/// Exit code 0 for a sound store, 1 with damage, which is listed.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  tsql check && echo sound")]
pub(super) struct Check {}

pub(super) async fn run(place: &Place, _: Check) -> Result<u8, Failure> {
    let checked = place.open().await?.check().await?;
    for (table, reason) in &checked.damage {
        talk(&format!("{table}: {reason}"));
    }
    if !checked.damage.is_empty() {
        return Ok(PARTLY);
    }
    talk(&format!(
        "sound: {} references resolve, {} hashes compute again, {} sources of {} bytes can be given back",
        checked.references, checked.hashes, checked.sources, checked.source_bytes
    ));
    Ok(DONE)
}

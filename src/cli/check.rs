//! `tsql check`: is the store sound?

use clap::Args;

use super::place::Place;
use super::{DONE, Failure, PARTLY, talk};

/// Check every reference, every hash, and that every source can be given back
///
/// Says what is wrong, and what of it can be mended. Exit code 0 for a sound store, 1 with damage.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  tsql check && echo sound\n  tsql check --mend")]
pub(super) struct Check {
    /// Mend what can be mended (what earlier versions have written wrong), and say what was done; then
    /// check. The old files stay until `tsql vacuum`
    #[arg(long)]
    mend: bool,
}

pub(super) async fn run(place: &Place, command: Check) -> Result<u8, Failure> {
    let store = place.open().await?;
    if command.mend {
        for done in store.mend().await? {
            talk(&format!("mended: {}: {}", done.found, done.count));
        }
    }
    let checked = store.check().await?;
    for found in &checked.mendable {
        talk(&format!(
            "{}: {}\nhint: `tsql check --mend` {}",
            found.found, found.count, found.does
        ));
    }
    for (table, reason) in &checked.damage {
        talk(&format!("{table}: {reason}"));
    }
    if !checked.is_sound() {
        return Ok(PARTLY);
    }
    talk(&format!(
        "sound: {} references resolve, {} hashes compute again, {} sources of {} bytes can be given back",
        checked.references, checked.hashes, checked.sources, checked.source_bytes
    ));
    Ok(DONE)
}

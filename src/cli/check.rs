//! `tsql check`: is the store sound?

use std::io::IsTerminal as _;
use std::sync::Arc;

use clap::Args;

use super::bar;
use super::outcome::{DONE, Failure, PARTLY};
use super::place::Place;
use super::talk::talk;
use crate::check::{CheckOptions, CheckProgress};

/// What its bar says.
const STYLE: &str = "{spinner} {bar:30} {human_pos} of {human_len} {msg} checked, {elapsed}";

/// Check every byte, every reference, every hash, and that every source can be given back
///
/// Reads all data files and compares them with their checksums, sums with the rows that they are of, runtimes with
/// their repeats, and the logs of all tables with each other. Says what is wrong, and what of it can be repaired. Exit code 0 for a sound store, 1 with
/// damage.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  tsql check && echo sound\n  tsql check --repair")]
pub(super) struct Check {
    /// Repair what can be repaired, and say what was done; then check. Damaged files of logs are put aside, and
    /// checkpoints are left out. Sums are made anew from their rows. Where rows are lost, it removes the sources that
    /// they belong to and lists the commands that restore them, with their labels, corrections and retractions, or says
    /// how many rows are lost for good. What earlier versions have written wrong is put right, too. The old files stay
    /// until `tsql vacuum`
    #[arg(long, alias = "mend")]
    repair: bool,
}

pub(super) async fn run(place: &Place, command: Check) -> Result<u8, Failure> {
    let store = place.open().await?;
    if command.repair {
        for done in store.repair().await? {
            talk(&format!("repaired: {}: {}", done.found, done.count));
            for lost in &done.lost {
                talk(&format!("lost for good: {lost}"));
            }
            for command in &done.then {
                // The store that is repaired, if it is not the one that is found here.
                let command = match &place.store {
                    Some(store) => {
                        command.replacen("tsql ", &format!("tsql --store {store:?} "), 1)
                    }
                    None => command.clone(),
                };
                talk(&format!("hint: `{command}` completes it"));
            }
        }
    }
    let bar = std::io::stderr().is_terminal().then(|| bar::bar(STYLE));
    let progress = bar.clone().map(|bar| -> CheckProgress {
        Arc::new(move |what, done, of| {
            bar.set_length(of);
            bar.set_position(done);
            bar.set_message(what.to_owned());
        })
    });
    let options = CheckOptions {
        memory_limit_bytes: place.memory_limit_bytes(),
        progress,
    };
    let checked = store.check_with(&options).await;
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    let checked = checked?;
    for found in &checked.mendable {
        talk(&format!(
            "{}: {}\nhint: `tsql check --repair` {}",
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
        "sound: {} data files of {} bytes, {} references resolve, {} hashes compute again, {} sources of {} bytes can be given back",
        checked.files,
        checked.file_bytes,
        checked.references,
        checked.hashes,
        checked.sources,
        checked.source_bytes
    ));
    if checked.without_checksums > 0 {
        talk(&format!(
            "{} of {} data files have no checksums, as older versions wrote them: damage in them may go unnoticed\n\
             hint: `tsql optimize --again` writes them with checksums",
            checked.without_checksums, checked.files
        ));
    }
    Ok(DONE)
}

//! `tsql check`: verifies a store, and repairs it.

use clap::Args;
use tsql_dataset::check::CheckOptions;
use tsql_dataset::check::{check_with, repair};
use tsql_dataset::optional_setting::OptionalSetting as _;

use super::outcome::{DONE, Failure, PARTLY};
use super::progress_bar;
use super::stderr::{print_message, shows_progress};
use super::store_options::StoreOptions;

/// Template of the progress bar.
const STYLE: &str = "{spinner} {bar:30} {human_pos} of {human_len} {msg} checked, {elapsed}";

/// Verify every byte, reference and hash of the store, and that every source can be exported
///
/// Reads all data files and compares them with their checksums, pre-aggregates with their rows, runtimes with their
/// repeats, and the logs of all tables with each other. Reports damage, and what can be repaired. Exit code 0 for a
/// sound store, 1 for damage.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  tsql check && echo sound\n  tsql check --repair")]
pub(super) struct Check {
    /// Repair the store, then check it. Damaged log files are moved aside, and damaged checkpoints ignored.
    /// Pre-aggregates are rebuilt. If rows are lost, their sources are removed, and the commands are printed that
    /// restore them with labels, corrections and retractions, or the number of rows that cannot be restored. Errors of
    /// earlier versions are corrected too. Replaced files stay until `tsql vacuum`
    #[arg(long, alias = "mend")]
    repair: bool,
}

/// Prints the commands that complete a repair.
fn print_commands(place: &StoreOptions, commands: &[String]) {
    for command in commands {
        // The command has to name a store that it would not find by itself.
        let command = match &place.store {
            Some(store) => command.replacen("tsql ", &format!("tsql --store {store:?} "), 1),
            None => command.clone(),
        };
        print_message(&format!("hint: `{command}` completes the repair"));
    }
}

pub(super) async fn run(place: &StoreOptions, command: Check) -> Result<u8, Failure> {
    let store = place.open().await?;
    if command.repair {
        for done in repair(&store).await? {
            print_message(&format!("repaired: {}: {}", done.description, done.count));
            for lost in &done.lost {
                print_message(&format!("permanently lost: {lost}"));
            }
            print_commands(place, &done.next_commands);
        }
    }
    let bar = shows_progress().then(|| progress_bar::bar(STYLE));
    let options = CheckOptions::default()
        .set_if(place.memory_limit_bytes(), CheckOptions::memory_limit_bytes)
        .set_if(bar.clone(), |options, bar| {
            options.progress(move |message, position, length| {
                bar.set_length(length);
                bar.set_position(position);
                bar.set_message(message.to_owned());
            })
        });
    let checked = check_with(&store, &options).await;
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    let checked = checked?;
    for found in &checked.repairs {
        print_message(&format!(
            "{}: {}\nhint: `tsql check --repair` {}",
            found.description, found.count, found.effect
        ));
        print_commands(place, &found.next_commands);
    }
    for (table, reason) in &checked.damage {
        print_message(&format!("{table}: {reason}"));
    }
    if !checked.is_sound() {
        return Ok(PARTLY);
    }
    print_message(&format!(
        "no damage: {} data files of {} bytes verified, {} references resolved, {} hashes \
         recomputed, {} sources of {} bytes can be exported",
        checked.files,
        checked.file_bytes,
        checked.references,
        checked.hashes,
        checked.sources,
        checked.source_bytes
    ));
    if checked.without_checksums > 0 {
        print_message(&format!(
            "{} of {} data files come from older versions and have no checksums: their damage may \
             stay undetected\nhint: `tsql optimize --again` rewrites them with checksums",
            checked.without_checksums, checked.files
        ));
    }
    Ok(DONE)
}

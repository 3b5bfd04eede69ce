//! Repair of damage, and of defects that earlier versions have left.
//!
//! Each repair is an ordinary atomic commit and leaves the old files to `vacuum`. After an interruption, the next run
//! continues. A second run finds nothing.

mod duplicate_logs;
mod misplaced_files;
mod orphans;
mod step;
mod unrecognized_files;

use tsql_error::Result;
use tsql_store::Store;

use step::RepairStep;

use super::report::RepairItem;
use super::{damaged_files, incomplete_sources, reingest};

/// All defects of earlier versions, in the order of their repair. Repairs that remove files from the ingest log come
/// before the search for rows that are not in it.
const STEPS: [RepairStep; 4] = [
    misplaced_files::STEP,
    duplicate_logs::STEP,
    unrecognized_files::STEP,
    orphans::STEP,
];

/// Tables whose rows are in no source file.
const BY_PEOPLE: [&str; 7] = [
    "notes",
    "platform_facts",
    "subsets",
    "splits",
    "features",
    "tags",
    "corrections",
];

/// Returns what [`repair`](crate::check::repair) would repair of the defects of earlier versions.
///
/// # Errors
/// Failures to read.
pub async fn pending_repairs(store: &Store) -> Result<Vec<RepairItem>> {
    let mut found = Vec::new();
    for mend in &STEPS {
        found.extend(mend.pending(store).await?);
    }
    Ok(found)
}

/// Repairs damage as far as the data can be rebuilt, and defects of earlier versions. Returns what was done. A
/// store without defects is unchanged.
///
/// Logs are repaired first, then data files, then incomplete sources: they are removed, and commands to ingest them
/// again are returned. Tables are raised to their proven versions last, so that nobody uses the store in between.
///
/// # Errors
/// Failures of the storage. Completed repairs stay.
pub async fn repair(store: &Store) -> Result<Vec<RepairItem>> {
    store.check_writable()?;
    let store = store.without_proofs();
    let logs = store.repair_logs().await?;
    let mut done = Vec::new();
    if !logs.is_empty() {
        let commands = reingest::commands_of_lost_sources(&store).await?;
        done.push(log_repair_item(&logs, commands));
    }
    let (files, removes) = damaged_files::repair_files(&store).await?;
    done.extend(files);
    done.extend(incomplete_sources::repair(&store, removes || !logs.is_empty()).await?);
    for mend in &STEPS {
        done.extend(mend.repair(&store).await?);
    }
    if !logs.is_empty() {
        store.raise_logs_to_proofs().await?;
    }
    Ok(done)
}

/// Returns the repair of damaged logs, with the commands that complete it.
fn log_repair_item(logs: &[(&'static str, String)], next_commands: Vec<String>) -> RepairItem {
    let lost = logs.iter().filter(|(table, _)| BY_PEOPLE.contains(table));
    let lost = lost.map(|(table, what)| format!("changes of {table}: {what}"));
    RepairItem {
        description: "damaged log files",
        count: logs.len() as u64,
        effect: "moves them aside, and writes a version with the remaining data",
        is_damage: true,
        next_commands,
        lost: lost.collect(),
    }
}

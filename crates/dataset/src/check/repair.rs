//! Repair of damage, and of defects that earlier versions have left.
//!
//! Each repair is an ordinary atomic commit and leaves the old files to `vacuum`. After an interruption, the next run
//! continues. A second run finds nothing.

mod duplicate_logs;
mod misplaced_files;
mod orphans;
mod step;
mod unrecognized_files;

use tsql_adapters::ingest_log::Labels;
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
const BY_PEOPLE: [&str; 6] = [
    "notes",
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
        found.extend(mend.to_item((mend.count)(store).await?));
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
    let sources = store.lost_sources().await?;
    let logs = store.repair_logs().await?;
    let mut done = Vec::from_iter(log_repair_item(&logs, &sources));
    let (files, removes) = damaged_files::repair_files(&store).await?;
    done.extend(files);
    done.extend(incomplete_sources::repair(&store, removes || !logs.is_empty()).await?);
    for mend in &STEPS {
        done.extend(mend.to_item((mend.apply)(&store).await?));
    }
    if !logs.is_empty() {
        store.raise_logs_to_proofs().await?;
    }
    Ok(done)
}

/// Returns the repair of damaged logs, with the sources that were lost: path, dataset and platform.
fn log_repair_item(logs: &[(&'static str, String)], sources: &[[String; 3]]) -> Option<RepairItem> {
    let lost = logs.iter().filter(|(table, _)| BY_PEOPLE.contains(table));
    let lost = lost.map(|(table, what)| format!("changes of {table}: {what}"));
    let then = sources.iter().map(|[path, dataset, platform]| {
        reingest::command(path, dataset, platform, &Labels::default())
    });
    (!logs.is_empty()).then(|| RepairItem {
        description: "damaged log files",
        count: logs.len() as u64,
        effect: "moves them aside, and writes a version with the remaining data",
        is_damage: true,
        next_commands: then.collect(),
        lost: lost.collect(),
    })
}

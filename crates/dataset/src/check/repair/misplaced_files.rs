//! Data files in a folder of another platform.
//!
//! Earlier versions replaced special characters: records of `a b` were in `platform=a_b`. Readers that use the path
//! instead of the log (such as polars) assign them to another platform.

use std::collections::HashMap;

use futures::FutureExt as _;
use tsql_error::Result;
use tsql_schema as schema;
use tsql_schema::Table;
use tsql_store::file::DataFile;
use tsql_store::{Change, Snapshot, Store, file};

use super::step::{RepairStep, no_commands};

pub(super) const STEP: RepairStep = RepairStep {
    description: "data files in the folder of another platform than their log entry names, which some \
        engines rely on",
    effect: "moves them to the correct folders",
    is_damage: true,
    count: |store| count(store).boxed(),
    apply: |store| apply(store).boxed_local(),
    next_commands: no_commands,
};

fn misplaced_files(snapshot: &Snapshot) -> Vec<DataFile> {
    let files = snapshot.files().iter();
    files
        .filter(|file| !file.is_in_partition_folder())
        .cloned()
        .collect()
}

fn partitioned_tables() -> Result<impl Iterator<Item = &'static Table>> {
    let tables = schema::tables()?.iter();
    Ok(tables.filter(|table| !table.partition.is_empty()))
}

async fn count(store: &Store) -> Result<u64> {
    let mut count = 0;
    for table in partitioned_tables()? {
        if let Some(snapshot) = store.snapshot(&table.name).await? {
            count += misplaced_files(&snapshot).len() as u64;
        }
    }
    Ok(count)
}

async fn apply(store: &Store) -> Result<u64> {
    let mut count = 0;
    for table in partitioned_tables()? {
        if store.snapshot(&table.name).await?.is_none() {
            continue;
        }
        let mut moved: HashMap<String, DataFile> = HashMap::new();
        let mut done = 0;
        store
            .commit(&table.name, "mend: folders", async |snapshot: &Snapshot| {
                let old = misplaced_files(snapshot);
                done = old.len() as u64;
                let mut new = Vec::with_capacity(old.len());
                for file in &old {
                    if !moved.contains_key(&file.path) {
                        let to = file::copy_to_partition(store.location(), table, file).await?;
                        moved.insert(file.path.clone(), to);
                    }
                    new.extend(moved.get(&file.path).cloned());
                }
                Ok((!old.is_empty()).then_some(Change {
                    add: new,
                    remove: old,
                    rewrite: true,
                    ..Change::default()
                }))
            })
            .await?;
        count += done;
    }
    Ok(count)
}

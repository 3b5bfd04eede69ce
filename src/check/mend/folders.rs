//! Data files in folders that do not say their platform.
//!
//! Characters that a path might mind were replaced: the records of `a b` lay in `platform=a_b`, and who
//! believes the path and not the log (polars does) read them as those of another platform.

use std::collections::HashMap;

use futures::FutureExt as _;

use super::kind::Mend;
use crate::error::Result;
use crate::schema::{self, Table};
use crate::store::file::{self, DataFile};
use crate::store::{Change, Snapshot, Store};

pub(super) const MEND: Mend = Mend {
    found: "data files in a folder that names another platform than the log does, which some engines believe",
    does: "moves them to folders of the right names",
    is_damage: true,
    count: |store| count(store).boxed(),
    apply: |store| apply(store).boxed_local(),
};

fn misplaced(snapshot: &Snapshot) -> Vec<DataFile> {
    let files = snapshot.files().iter();
    files.filter(|file| !file.is_in_place()).cloned().collect()
}

fn partitioned() -> Result<impl Iterator<Item = &'static Table>> {
    let tables = schema::tables()?.iter();
    Ok(tables.filter(|table| !table.partition.is_empty()))
}

async fn count(store: &Store) -> Result<u64> {
    let mut count = 0;
    for table in partitioned()? {
        if let Some(snapshot) = store.snapshot(&table.name).await? {
            count += misplaced(&snapshot).len() as u64;
        }
    }
    Ok(count)
}

async fn apply(store: &Store) -> Result<u64> {
    let mut count = 0;
    for table in partitioned()? {
        if store.snapshot(&table.name).await?.is_none() {
            continue;
        }
        let mut moved: HashMap<String, DataFile> = HashMap::new();
        let mut done = 0;
        store
            .commit(&table.name, "mend: folders", async |snapshot: &Snapshot| {
                let old = misplaced(snapshot);
                done = old.len() as u64;
                let mut new = Vec::with_capacity(old.len());
                for file in &old {
                    if !moved.contains_key(&file.path) {
                        let to = file::moved(store.location(), table, file).await?;
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

//! Deduplication of rows that the store may have already.
//!
//! Rows of `graphs`, `environments`, `samples` and `texts` have content identifiers ([`KnownIds`]); those of
//! `configurations` and `node_types` have assigned numbers ([`assign_numbers`]). Each is added once, by the first
//! writer: a commit is an atomic step (see
//! `store::commit`), and after a conflict a writer looks the rows up again.

mod configurations;
mod known_ids;
mod node_types;
mod number_allocation;

use std::collections::HashSet;

pub(crate) use configurations::{Configurations, Kernels};
pub(crate) use known_ids::KnownIds;
pub(crate) use node_types::{NodeKey, NodeTypes};
pub(crate) use number_allocation::{NumberAllocator, assign_numbers, next_number};

use crate::column::arrays::Columns;
use crate::error::Result;
use crate::schema;
use crate::store::file::{self, DataFile, Effort};
use crate::store::{Change, Snapshot, Store};

/// Files of a table that were read. Rows never change, so only new files of a later version must be read.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReadFiles(HashSet<String>);

impl ReadFiles {
    /// Returns the same version with only the unread files, and marks them as read. `None` if there are none.
    pub(crate) fn take_unread(&mut self, at: &Snapshot) -> Option<Snapshot> {
        let new = at
            .files()
            .iter()
            .filter(|file| !self.0.contains(&file.path));
        let new: Vec<DataFile> = new.cloned().collect();
        self.0.extend(new.iter().map(|file| file.path.clone()));
        (!new.is_empty()).then(|| at.with_files(new))
    }
}

/// Writes the columns as one file of an unpartitioned table. Returns the change that adds it.
pub(crate) async fn write_single_file(
    store: &Store,
    table: &str,
    columns: Columns,
) -> Result<Change> {
    let table = schema::table(table)?;
    let batch = file::batch(table, columns)?;
    let written = file::write(store.location(), table, &[], &[batch], Effort::Ingest).await?;
    Ok(Change {
        add: vec![written],
        ..Change::default()
    })
}

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

use tsql_error::Result;
use tsql_schema as schema;
use tsql_schema::column::arrays::Columns;
use tsql_store::file::{DataFile, Effort};
use tsql_store::{Change, Snapshot, Store, file};

pub use configurations::{Configurations, Kernels};
pub use known_ids::KnownIds;
pub(crate) use node_types::{NodeKey, NodeTypes};
pub use number_allocation::{NumberAllocator, assign_numbers, next_number};

/// Files of a table that were read. Rows never change, so only new files of a later version must be read.
#[derive(Clone, Debug, Default)]
pub struct ReadFiles(HashSet<String>);

impl ReadFiles {
    /// Returns the same version with only the unread files, and marks them as read. `None` if there are none.
    pub fn take_unread(&mut self, at: &Snapshot) -> Option<Snapshot> {
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
pub async fn write_single_file(store: &Store, table: &str, columns: Columns) -> Result<Change> {
    let table = schema::table(table)?;
    let batch = file::batch(table, columns)?;
    let written = file::write(store.location(), table, &[], &[batch], Effort::Ingest).await?;
    Ok(Change {
        add: vec![written],
        ..Change::default()
    })
}

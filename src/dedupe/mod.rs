//! What a store knows already, and what is added to it of rows that it may know.
//!
//! Rows of `graphs`, `environments`, `samples` and `texts` are known by an identifier that follows from
//! their content ([`Identified`]); those of `configurations` and `node_types` by a number that they were given
//! ([`number`]). Either is added once, whoever adds it first: a commit is an exclusive step (see
//! `store::commit`), and after losing it a writer looks again.

mod configurations;
mod identified;
mod node_types;
mod numbered;

use std::collections::HashSet;

pub(crate) use configurations::{Configurations, Kernels};
pub(crate) use identified::Identified;
pub(crate) use node_types::{NodeKey, NodeTypes};
pub(crate) use numbered::{Numbers, next_number, number};

use crate::column::made::Columns;
use crate::error::Result;
use crate::schema;
use crate::store::file::{self, DataFile, Effort};
use crate::store::{Change, Snapshot, Store};

/// Files of a table that were read: rows never change, so of a newer version only new files are.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReadFiles(HashSet<String>);

impl ReadFiles {
    /// The same version with only those files that were not read yet; they count as read from now
    /// on. `None` where there are none.
    pub(crate) fn new_at(&mut self, at: &Snapshot) -> Option<Snapshot> {
        let new = at
            .files()
            .iter()
            .filter(|file| !self.0.contains(&file.path));
        let new: Vec<DataFile> = new.cloned().collect();
        self.0.extend(new.iter().map(|file| file.path.clone()));
        (!new.is_empty()).then(|| at.only(new))
    }
}

/// Writes the columns as one file of an unpartitioned table; the change that adds it.
pub(crate) async fn one_file(store: &Store, table: &str, columns: Columns) -> Result<Change> {
    let table = schema::table(table)?;
    let batch = file::batch(table, columns)?;
    let written = file::write(store.location(), table, &[], &[batch], Effort::Ingest).await?;
    Ok(Change {
        add: vec![written],
        ..Change::default()
    })
}

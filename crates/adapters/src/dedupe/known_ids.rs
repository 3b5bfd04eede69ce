//! Deduplication of rows with content identifiers.

use std::collections::HashSet;

use arrow::datatypes::Int64Type;
use tsql_error::Result;
use tsql_schema::column;
use tsql_schema::column::arrays::Columns;
use tsql_store::{Snapshot, Store};

use super::{ReadFiles, write_single_file};

/// Identifiers in such a table at one version.
#[derive(Debug)]
pub struct KnownIds {
    table: &'static str,
    /// Column of the identifiers.
    id: &'static str,
    read: ReadFiles,
    version: Option<u64>,
    ids: HashSet<i64>,
}

impl KnownIds {
    /// Creates an empty set for this table.
    pub(crate) fn new(table: &'static str, id: &'static str) -> Self {
        Self {
            table,
            id,
            read: ReadFiles::default(),
            version: None,
            ids: HashSet::new(),
        }
    }

    /// Ids of `graphs`.
    pub fn graphs() -> Self {
        Self::new("graphs", "graph_id")
    }

    /// Ids of `environments`.
    pub fn environments() -> Self {
        Self::new("environments", "environment_id")
    }

    pub(crate) fn samples() -> Self {
        Self::new("samples", "sample_id")
    }

    pub(crate) fn texts() -> Self {
        Self::new("texts", "text_id")
    }

    async fn load(&mut self, store: &Store, at: &Snapshot) -> Result<()> {
        if self.version == Some(at.version()) {
            return Ok(());
        }
        if let Some(new) = self.read.take_unread(at) {
            for batch in store.read(self.table, &new, &[self.id], None).await? {
                let ids = column::numbers::<Int64Type>(&batch, self.id)?;
                self.ids.extend(ids.values().iter());
            }
        }
        self.version = Some(at.version());
        Ok(())
    }

    /// Adds the rows whose identifiers are not in the table, as the columns that
    /// `columns` returns for them. Returns the added identifiers. Each row must occur once.
    pub async fn add<R>(
        &mut self,
        store: &Store,
        rows: &[(i64, R)],
        columns: impl Fn(&[&(i64, R)]) -> Columns,
    ) -> Result<HashSet<i64>> {
        let mut added = HashSet::new();
        if self.version.is_some() && rows.iter().all(|(id, _)| self.ids.contains(id)) {
            return Ok(added);
        }
        let (table, mut version) = (self.table, None);
        store
            .commit(table, "ingest", async |snapshot: &Snapshot| {
                self.load(store, snapshot).await?;
                let new = rows.iter().filter(|(id, _)| !self.ids.contains(id));
                let new: Vec<&(i64, R)> = new.collect();
                added = new.iter().map(|(id, _)| *id).collect();
                version = (!new.is_empty()).then(|| snapshot.version() + 1);
                if new.is_empty() {
                    return Ok(None);
                }
                write_single_file(store, table, columns(&new))
                    .await
                    .map(Some)
            })
            .await?;
        self.ids.extend(&added);
        self.version = version.or(self.version);
        Ok(added)
    }
}

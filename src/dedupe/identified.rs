//! Tables whose rows are known by an identifier that follows from their content.

use std::collections::HashSet;

use arrow::datatypes::Int64Type;

use super::{ReadFiles, one_file};
use crate::column;
use crate::column::made::Columns;
use crate::error::Result;
use crate::store::{Snapshot, Store};

/// The identifiers in such a table at one version of it.
#[derive(Debug)]
pub(crate) struct Identified {
    table: &'static str,
    /// The column of the identifiers.
    id: &'static str,
    read: ReadFiles,
    version: Option<u64>,
    ids: HashSet<i64>,
}

impl Identified {
    /// Nothing is known yet of this table.
    pub(crate) fn of(table: &'static str, id: &'static str) -> Self {
        Self {
            table,
            id,
            read: ReadFiles::default(),
            version: None,
            ids: HashSet::new(),
        }
    }

    pub(crate) fn graphs() -> Self {
        Self::of("graphs", "graph_id")
    }

    pub(crate) fn environments() -> Self {
        Self::of("environments", "environment_id")
    }

    pub(crate) fn samples() -> Self {
        Self::of("samples", "sample_id")
    }

    pub(crate) fn texts() -> Self {
        Self::of("texts", "text_id")
    }

    async fn load(&mut self, store: &Store, at: &Snapshot) -> Result<()> {
        if self.version == Some(at.version()) {
            return Ok(());
        }
        if let Some(new) = self.read.new_at(at) {
            for batch in store.read(self.table, &new, &[self.id], None).await? {
                let ids = column::numbers::<Int64Type>(&batch, self.id)?;
                self.ids.extend(ids.values().iter());
            }
        }
        self.version = Some(at.version());
        Ok(())
    }

    /// Adds those of these rows whose identifiers the table does not have, as the columns that
    /// `columns` makes of them; gives the identifiers that were added. Each row comes once.
    pub(crate) async fn add<R>(
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
                one_file(store, table, columns(&new)).await.map(Some)
            })
            .await?;
        self.ids.extend(&added);
        self.version = version.or(self.version);
        Ok(added)
    }
}

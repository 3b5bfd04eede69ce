//! Copy of tables that are independent of sources: notes, facts of platforms, subsets, splits, imported features,
//! corrections.

use std::collections::HashSet;

use arrow::array::Array as _;
use arrow::datatypes::TimestampMicrosecondType;
use arrow::row::OwnedRow;
use tsql_error::Result;
use tsql_schema as schema;
use tsql_schema::column;
use tsql_store::{CORRECTIONS, Snapshot};

use super::identified_tables::{RowKeys, filter_marked, stored_names};
use super::job::{CopyJob, CopyReport};

/// Tables whose rows are identified by keys.
const TABLES: [&str; 6] = [
    "notes",
    "platform_facts",
    "subsets",
    "splits",
    "features",
    CORRECTIONS,
];

impl CopyJob<'_> {
    /// Copies rows whose keys the other store does not have. Notes are not copied if sources were renamed or left out,
    /// because they would refer to other sources.
    pub(super) async fn copy_keyed_tables(&self, copied: &CopyReport) -> Result<()> {
        let is_plain = copied.renamed.is_empty() && copied.rejected.is_empty();
        for table in TABLES {
            if table == "notes" && !is_plain {
                continue;
            }
            let Some(from) = self
                .from
                .snapshot(table)
                .await?
                .filter(|from| !from.files().is_empty())
            else {
                continue;
            };
            let names = stored_names(table)?;
            let own = self.from.read(table, &from, &names, None).await?;
            let key = &schema::table(table)?.key;
            let others: Vec<&str> = names
                .iter()
                .copied()
                .filter(|name| !key.iter().any(|key| key == name))
                .collect();
            let mut keys = RowKeys::default();
            self.to
                .commit(table, "copy", async |snapshot: &Snapshot| {
                    let mut known: HashSet<OwnedRow> = HashSet::new();
                    if !snapshot.files().is_empty() {
                        for batch in self.to.read(table, snapshot, &names, None).await? {
                            known.extend(keys.encode(&batch, &others)?);
                        }
                    }
                    let mut batches = Vec::new();
                    for batch in &own {
                        let mut new: Vec<bool> = keys
                            .encode(batch, &others)?
                            .iter()
                            .map(|key| !known.contains(key))
                            .collect();
                        if table == CORRECTIONS {
                            let done =
                                column::numbers::<TimestampMicrosecondType>(batch, "done_at")?;
                            for (row, new) in new.iter_mut().enumerate() {
                                *new &= done.is_valid(row);
                            }
                        }
                        batches.extend(filter_marked(table, batch, &new)?);
                    }
                    self.add_rows_change(table, &batches).await
                })
                .await?;
        }
        Ok(())
    }
}

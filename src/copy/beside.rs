//! What a store knows beside its sources: notes, subsets, splits, features of others, what was corrected.

use std::collections::HashSet;

use arrow::array::Array as _;
use arrow::datatypes::TimestampMicrosecondType;
use arrow::row::OwnedRow;

use super::job::{Copied, Copy};
use super::known::{Keys, filtered, stored_names};
use crate::column;
use crate::error::Result;
use crate::schema;
use crate::store::{CORRECTIONS, Snapshot};

/// Tables whose rows are known by their keys.
const TABLES: [&str; 5] = ["notes", "subsets", "splits", "features", CORRECTIONS];

impl Copy<'_> {
    /// Copies such rows, but for those whose keys the other store has. Where sources were renamed or left out, what refers to
    /// them would refer to others: then notes stay.
    pub(super) async fn beside(&self, copied: &Copied) -> Result<()> {
        let is_plain = copied.renamed.is_empty() && copied.refused.is_empty();
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
            let mut keys = Keys::default();
            self.to
                .commit(table, "copy", async |snapshot: &Snapshot| {
                    let mut known: HashSet<OwnedRow> = HashSet::new();
                    if !snapshot.files().is_empty() {
                        for batch in self.to.read(table, snapshot, &names, None).await? {
                            known.extend(keys.of(&batch, &others)?);
                        }
                    }
                    let mut batches = Vec::new();
                    for batch in &own {
                        let mut new: Vec<bool> = keys
                            .of(batch, &others)?
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
                        batches.extend(filtered(table, batch, &new)?);
                    }
                    self.change(table, &batches).await
                })
                .await?;
        }
        Ok(())
    }
}

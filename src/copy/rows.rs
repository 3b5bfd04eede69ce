//! The rows that sources have of their own.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, Int64Array, RecordBatch};
use arrow::datatypes::{Int32Type, Int64Type};

use super::job::Copy;
use super::known::{filtered, replaced};
use super::numbers::Numbers;
use super::plan::Plan;
use crate::chosen::among;
use crate::column;
use crate::error::Result;
use crate::ingest::commits::Files;
use crate::ingest::orphans::TABLES;
use crate::store::file::DataFile;
use crate::store::{LISTED, Snapshot};

impl Copy<'_> {
    /// Writes the rows of all sources that are copied.
    pub(super) async fn rows(&self, plan: &Plan, numbers: &Numbers) -> Result<Files> {
        let mut files = Files::new();
        for table in TABLES {
            let new = match self.from.snapshot(table).await? {
                Some(from) if plan.is_whole && numbers.are_kept() => {
                    self.same_files(table, &from).await?
                }
                Some(from) => self.rows_of(table, &from, plan, numbers).await?,
                None => Vec::new(),
            };
            files.push((table, new));
        }
        Ok(files)
    }

    async fn rows_of(
        &self,
        table: &'static str,
        from: &Snapshot,
        plan: &Plan,
        numbers: &Numbers,
    ) -> Result<Vec<DataFile>> {
        let of: u64 = from.files().iter().map(|file| file.stats.num_records).sum();
        // Of a few sources, pages of others are left out.
        let few = plan.taken.len() <= LISTED;
        let few = few.then(|| among(plan.taken.keys().copied()));
        let (mut done, mut files) = (0, Vec::new());
        for file in from.files().iter() {
            let mut batches = Vec::new();
            for rows in self.from.rows_of(table, from, file, few.clone()).await? {
                batches.extend(taken(table, &rows, plan, numbers)?);
            }
            if !batches.is_empty() {
                files.push(self.written(table, &file.partition, &batches).await?);
            }
            done += file.stats.num_records;
            self.options.tell(table, done, of);
        }
        Ok(files)
    }
}

/// The rows of a batch that are copied, as the other store calls them.
fn taken(
    table: &str,
    rows: &RecordBatch,
    plan: &Plan,
    numbers: &Numbers,
) -> Result<Option<RecordBatch>> {
    let sources = column::numbers::<Int64Type>(rows, "source_id")?;
    let segments = (table == "lines")
        .then(|| column::numbers::<Int32Type>(rows, "segment"))
        .transpose()?;
    let lines = column::numbers::<Int64Type>(rows, "line")?;
    let mut is_taken = vec![false; rows.num_rows()];
    let mut new_sources = sources.values().to_vec();
    let mut new_segments = segments.map(|segments| segments.values().to_vec());
    let mut last = None;
    for row in 0..rows.num_rows() {
        let id = sources.value(row);
        let own = match last {
            Some((known, own)) if known == id => own,
            _ => plan.taken.get(&id).copied(),
        };
        last = Some((id, own));
        let Some(own) = own else { continue };
        let is_within = match segments {
            Some(segments) => {
                let segment = segments.value(row);
                if let Some(new) = new_segments.as_mut().and_then(|new| new.get_mut(row)) {
                    *new = segment - own.segments.0 + own.first_segment;
                }
                (own.segments.0..=own.segments.1).contains(&segment)
            }
            None => (own.lines.0..=own.lines.1).contains(&lines.value(row)),
        };
        if let (Some(is_taken), Some(new)) = (is_taken.get_mut(row), new_sources.get_mut(row)) {
            (*is_taken, *new) = (is_within, own.to);
        }
    }
    let sources: ArrayRef = Arc::new(Int64Array::from(new_sources));
    let rows = replaced(rows, "source_id", sources)?;
    let rows = match new_segments {
        Some(segments) => replaced(&rows, "segment", Arc::new(Int32Array::from(segments)))?,
        None => rows,
    };
    let Some(rows) = filtered(table, &rows, &is_taken)? else {
        return Ok(None);
    };
    if rows.column_by_name("config_id").is_none() {
        return Ok(Some(rows));
    }
    let own = column::numbers::<Int64Type>(&rows, "config_id")?;
    let given = numbers.of(own)?;
    replaced(&rows, "config_id", given).map(Some)
}

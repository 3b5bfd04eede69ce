//! Copy of the rows of sources.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, Int64Array, RecordBatch};
use arrow::datatypes::{Int32Type, Int64Type};
use tsql_error::Result;
use tsql_schema::column;
use tsql_store::file::DataFile;
use tsql_store::{LISTED, Snapshot};

use super::configuration_numbers::ConfigurationNumbers;
use super::identified_tables::{filter_marked, replace_column};
use super::job::CopyJob;
use super::plan::Plan;
use crate::ingest::commits::TableFiles;
use crate::ingest::orphans::TABLES;
use crate::line_selection::in_sources;

impl CopyJob<'_> {
    /// Writes the rows of all copied sources.
    pub(super) async fn copy_rows(
        &self,
        plan: &Plan,
        numbers: &ConfigurationNumbers,
    ) -> Result<TableFiles> {
        let mut files = TableFiles::new();
        for table in TABLES {
            let new = match self.from.snapshot(table).await? {
                Some(from) if plan.is_whole && numbers.are_unchanged() => {
                    self.copy_data_files(table, &from).await?
                }
                Some(from) => self.copy_table_rows(table, &from, plan, numbers).await?,
                None => Vec::new(),
            };
            files.push((table, new));
        }
        Ok(files)
    }

    async fn copy_table_rows(
        &self,
        table: &'static str,
        from: &Snapshot,
        plan: &Plan,
        numbers: &ConfigurationNumbers,
    ) -> Result<Vec<DataFile>> {
        let of: u64 = from.files().iter().map(|file| file.stats.num_records).sum();
        // For few sources, pages of others are pruned.
        let few = plan.taken.len() <= LISTED;
        let few = few.then(|| in_sources(plan.taken.keys().copied()));
        let (mut done, mut files) = (0, Vec::new());
        for file in from.files().iter() {
            let mut batches = Vec::new();
            for rows in self
                .from
                .read_file_rows(table, from, file, few.clone())
                .await?
            {
                batches.extend(select_rows(table, &rows, plan, numbers)?);
            }
            if !batches.is_empty() {
                files.push(self.write_rows(table, &file.partition, &batches).await?);
            }
            done += file.stats.num_records;
            self.options.report_progress(table, done, of);
        }
        Ok(files)
    }
}

/// Returns the rows of a batch that are copied, with the ids of the other store.
fn select_rows(
    table: &str,
    rows: &RecordBatch,
    plan: &Plan,
    numbers: &ConfigurationNumbers,
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
    let rows = replace_column(rows, "source_id", sources)?;
    let rows = match new_segments {
        Some(segments) => replace_column(&rows, "segment", Arc::new(Int32Array::from(segments)))?,
        None => rows,
    };
    let Some(rows) = filter_marked(table, &rows, &is_taken)? else {
        return Ok(None);
    };
    if rows.column_by_name("config_id").is_none() {
        return Ok(Some(rows));
    }
    let own = column::numbers::<Int64Type>(&rows, "config_id")?;
    let given = numbers.map(own)?;
    replace_column(&rows, "config_id", given).map(Some)
}

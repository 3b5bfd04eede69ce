//! Hiding of rows without an entry in the ingest log. They are left over by an interrupted run, or belong to a running
//! one that has not written its entry yet. The next run over their file replaces them.
//!
//! A data file has the rows of one commit, so files are hidden as a whole; `optimize` does not touch them. Row counts
//! in the logs show whether there are any: `records` and `lines` have as many rows as the ingest log counts.
//! Identifiers are read only if the counts differ, and for tables that it does not count, the newest files first. In a
//! bucket that would cost more round trips, so these rows are visible until they are replaced. An in-memory store ends
//! with the interrupted process.

use std::collections::{HashMap, HashSet};

use arrow::array::AsArray as _;
use arrow::datatypes::{DataType, Int64Type};
use datafusion::prelude::{cast, col};

use crate::files::data_file::DataFile;
use crate::files::stats::StatValue;
use crate::log::stated_counts;
use crate::{Snapshot, Store};
use tsql_error::{Error, Result};
use tsql_schema::column;

/// Name of the ingest log.
pub(crate) const INGEST_LOG: &str = "sources";

/// Table of the rows that were retracted from `records`.
const RETRACTED: &str = "retracted";

/// Tables whose rows belong to sources, and the column by which segments of a source are ordered.
const TABLES: [(&str, &str); 7] = [
    ("records", "line"),
    ("lines", "segment"),
    ("runs", "line"),
    ("network_tasks", "line"),
    ("workloads", "line"),
    ("relays", "line"),
    ("spaces", "line"),
];

/// End of a source in the ingest log: the first line and the first segment that are not in it.
#[derive(Clone, Copy, Debug, Default)]
struct SourceEnd {
    line: i64,
    segment: i64,
}

impl Store {
    /// Removes the files from a snapshot whose rows are not in the ingest log.
    ///
    /// # Errors
    /// Failures of the storage.
    pub async fn hide_unacknowledged(&self, table: &str, snapshot: Snapshot) -> Result<Snapshot> {
        if !self.hides_rows_of(table) {
            return Ok(snapshot);
        }
        self.hide_unlogged_files(table, snapshot, None).await
    }

    /// Returns the number of hidden rows in the newest version of a table.
    ///
    /// # Errors
    /// Failures of the storage.
    pub async fn hidden_rows(&self, table: &str) -> Result<u64> {
        let Some(snapshot) = self.snapshot(table).await? else {
            return Ok(0);
        };
        let all = row_count(&snapshot);
        Ok(all - row_count(&self.hide_unacknowledged(table, snapshot).await?))
    }

    /// As [`hide_unacknowledged`](Self::hide_unacknowledged), with a given version of the ingest log.
    pub(crate) async fn hide_unacknowledged_at(
        &self,
        table: &str,
        snapshot: Snapshot,
        sources: Option<&Option<Snapshot>>,
    ) -> Result<Snapshot> {
        match self.hides_rows_of(table) {
            true => self.hide_unlogged_files(table, snapshot, sources).await,
            false => Ok(snapshot),
        }
    }

    /// Returns whether rows of a table are hidden if the ingest log lacks them.
    fn hides_rows_of(&self, table: &str) -> bool {
        has_source_rows(table) && self.location().local_directory().is_some()
    }

    async fn hide_unlogged_files(
        &self,
        table: &str,
        snapshot: Snapshot,
        sources: Option<&Option<Snapshot>>,
    ) -> Result<Snapshot> {
        let rows: u64 = row_count(&snapshot);
        if sources.is_none() && self.is_counted(table, rows) {
            return Ok(snapshot);
        }
        let sources = match sources {
            Some(sources) => sources,
            None => &self.snapshot(INGEST_LOG).await?,
        };
        let sources = sources.as_ref();
        let Some(mut excess) = self.unlogged_row_bound(table, rows, sources).await? else {
            return Ok(snapshot);
        };
        let known = self.source_ends(sources).await?;
        let mut files: Vec<&DataFile> = snapshot.files().iter().collect();
        files.sort_by_key(|file| std::cmp::Reverse(file.written_at_ms));
        let mut hidden = HashSet::new();
        for file in files {
            if excess == 0 {
                break;
            }
            let unknown = self.unlogged_rows(table, &snapshot, file, &known).await?;
            excess = excess.saturating_sub(unknown);
            if unknown > 0 && unknown == file.stats.num_records {
                hidden.insert(file.path.clone());
            }
        }
        if hidden.is_empty() {
            return Ok(snapshot);
        }
        Ok(snapshot.without_unacknowledged(&hidden))
    }

    /// Returns whether the newest commit of the ingest log states this number of rows. The log itself is not read in
    /// that case.
    fn is_counted(&self, table: &str, rows: u64) -> bool {
        let directory = self.location().local_directory();
        let Some(directory) = directory.filter(|_| self.check_writable().is_ok()) else {
            return false;
        };
        match (table, stated_counts(directory, INGEST_LOG)) {
            ("records", Some((records, _))) => records == rows,
            ("lines", Some((_, others))) => others == rows,
            _ => false,
        }
    }

    /// Returns an upper bound of the rows of a table that are not in the ingest log. `None` if there are none.
    async fn unlogged_row_bound(
        &self,
        table: &str,
        rows: u64,
        sources: Option<&Snapshot>,
    ) -> Result<Option<u64>> {
        if rows == 0 {
            return Ok(None);
        }
        if table != "records" && table != "lines" {
            return Ok(Some(rows));
        }
        let (records, others) = self.ingest_log_counts(sources).await?;
        let excess = match table {
            "records" if rows == records => 0,
            "records" => {
                let retracted = self.snapshot(RETRACTED).await?;
                let retracted = retracted.as_ref().map_or(0, row_count);
                (rows + retracted).saturating_sub(records)
            }
            _ => rows.saturating_sub(others),
        };
        Ok((excess > 0).then_some(excess))
    }

    /// Returns the sums of record and other line counts in a version of the ingest log.
    async fn ingest_log_counts(&self, sources: Option<&Snapshot>) -> Result<(u64, u64)> {
        let (mut records, mut others) = (0, 0);
        let Some(sources) = sources else {
            return Ok((0, 0));
        };
        let mut uncounted = Vec::new();
        for file in sources.files().iter() {
            match file.counts {
                Some((of_records, of_others)) => {
                    records += of_records;
                    others += of_others;
                }
                None => uncounted.push(file.clone()),
            }
        }
        if !uncounted.is_empty() {
            let columns = ["record_count", "other_count"];
            let uncounted = sources.with_files(uncounted);
            let read = self.read(INGEST_LOG, &uncounted, &columns, None).await?;
            for batch in read {
                let sum = |name| {
                    let numbers = column::numbers::<Int64Type>(&batch, name)?.values();
                    Ok::<u64, Error>(numbers.iter().map(|number| number.unsigned_abs()).sum())
                };
                records += sum("record_count")?;
                others += sum("other_count")?;
            }
        }
        Ok((records, others))
    }

    async fn source_ends(&self, sources: Option<&Snapshot>) -> Result<HashMap<i64, SourceEnd>> {
        let mut known: HashMap<i64, SourceEnd> = HashMap::new();
        let Some(sources) = sources else {
            return Ok(known);
        };
        let columns = [
            "source_id",
            "segment",
            "first_line",
            "line_count",
            "open_line",
        ];
        for batch in self.read(INGEST_LOG, sources, &columns, None).await? {
            let number = |name| column::numbers::<Int64Type>(&batch, name);
            let (ids, firsts) = (number("source_id")?, number("first_line")?);
            let counts = number("line_count")?;
            let segments = column::numbers::<arrow::datatypes::Int32Type>(&batch, "segment")?;
            let open = column::text(&batch, "open_line")?;
            for row in 0..batch.num_rows() {
                let next = i64::from(segments.value(row)) + 1;
                let last = firsts.value(row) + counts.value(row) - 1;
                let is_open = column::text_at(open, row) == Some("other");
                let source = known.entry(ids.value(row)).or_default();
                if source.segment < next {
                    *source = SourceEnd {
                        line: last + i64::from(!is_open),
                        segment: next,
                    };
                }
            }
        }
        Ok(known)
    }

    /// Returns the number of rows of a file that are not in the ingest log.
    async fn unlogged_rows(
        &self,
        table: &str,
        at: &Snapshot,
        file: &DataFile,
        known: &HashMap<i64, SourceEnd>,
    ) -> Result<u64> {
        let places = TABLES.iter().find(|(name, _)| *name == table);
        let Some((_, place)) = places else {
            return Ok(0);
        };
        let from = |id: i64| {
            let source = known.get(&id).copied().unwrap_or_default();
            match *place {
                "segment" => source.segment,
                _ => source.line,
            }
        };
        // Statistics suffice if all rows belong to one source, before its end.
        let ids = bounds(file, "source_id");
        if let (Some((first, last)), Some((_, end))) = (ids, bounds(file, place))
            && first == last
            && known.contains_key(&first)
            && end < from(first)
        {
            return Ok(0);
        }
        let frame = self.frame(table, &at.with_files(vec![file.clone()]))?;
        let place = cast(col(*place), DataType::Int64).alias("place");
        let frame = frame.select(vec![col("source_id"), place]);
        let rows = frame.map_err(Error::Query)?.collect().await;
        let mut unknown = 0;
        for batch in rows.map_err(Error::Query)? {
            let ids = column::numbers::<Int64Type>(&batch, "source_id")?;
            let places = batch.column(1).as_primitive::<Int64Type>();
            let rows = ids.values().iter().zip(places.values());
            let rows = rows.filter(|(id, place)| !known.contains_key(id) || **place >= from(**id));
            unknown += rows.count() as u64;
        }
        Ok(unknown)
    }
}

fn has_source_rows(table: &str) -> bool {
    TABLES.iter().any(|(name, _)| *name == table)
}

fn row_count(snapshot: &Snapshot) -> u64 {
    let files = snapshot.files().iter();
    files.map(|file| file.stats.num_records).sum()
}

/// Returns the minimum and maximum of a column in a file.
fn bounds(file: &DataFile, name: &str) -> Option<(i64, i64)> {
    let number = |said: Option<&StatValue>| said.and_then(StatValue::as_i64);
    let least = number(file.stats.min_values.get(name))?;
    Some((least, number(file.stats.max_values.get(name))?))
}

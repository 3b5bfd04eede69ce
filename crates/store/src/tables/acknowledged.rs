//! Rows that the ingest log does not know are in no answer: an interrupted run has left them, or one that is at work
//! has not come to its entry yet. The next run over their file replaces them.
//!
//! A data file holds the rows of one commit, so that files are left out as a whole; `optimize` leaves them alone. Whether
//! there are any shows in the numbers of rows, which the logs know: `records` and `lines` have as many as the ingest log
//! counts. Only where they do not match, or of tables that it does not count, identifiers are read, the youngest files
//! first. In a bucket that would be more round trips: there these rows are shown until they are replaced. A store in memory
//! ends with the process that was interrupted.

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

/// The table that names all sources: the ingest log.
pub(crate) const INGEST_LOG: &str = "sources";

/// Where the rows that were retracted from `records` are.
const RETRACTED: &str = "retracted";

/// Tables whose rows belong to sources, and the column that a later segment of a source goes on in.
const TABLES: [(&str, &str); 6] = [
    ("records", "line"),
    ("lines", "segment"),
    ("runs", "line"),
    ("network_tasks", "line"),
    ("workloads", "line"),
    ("relays", "line"),
];

/// What the ingest log says of a source: the first line, and the first segment, that it does not know.
#[derive(Clone, Copy, Debug, Default)]
struct Unknown {
    line: i64,
    segment: i64,
}

impl Store {
    /// This version of a table without the files whose rows the ingest log does not know.
    ///
    /// # Errors
    /// Failures of the storage.
    pub async fn acknowledged(&self, table: &str, snapshot: Snapshot) -> Result<Snapshot> {
        if !self.hides_rows_of(table) {
            return Ok(snapshot);
        }
        self.known_to(table, snapshot, None).await
    }

    /// How many rows of the newest version of a table are in no answer.
    ///
    /// # Errors
    /// Failures of the storage.
    pub async fn hidden_rows(&self, table: &str) -> Result<u64> {
        let Some(snapshot) = self.snapshot(table).await? else {
            return Ok(0);
        };
        let all = row_count(&snapshot);
        Ok(all - row_count(&self.acknowledged(table, snapshot).await?))
    }

    /// As [`acknowledged`](Self::acknowledged), by this version of the ingest log if it is known.
    pub(crate) async fn acknowledged_by(
        &self,
        table: &str,
        snapshot: Snapshot,
        sources: Option<&Option<Snapshot>>,
    ) -> Result<Snapshot> {
        match self.hides_rows_of(table) {
            true => self.known_to(table, snapshot, sources).await,
            false => Ok(snapshot),
        }
    }

    /// Whether rows of a table are hidden that the ingest log does not know.
    fn hides_rows_of(&self, table: &str) -> bool {
        is_of_sources(table) && self.location().local_directory().is_some()
    }

    async fn known_to(
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
        let Some(mut excess) = self.excess(table, rows, sources).await? else {
            return Ok(snapshot);
        };
        let known = self.known_sources(sources).await?;
        let mut files: Vec<&DataFile> = snapshot.files().iter().collect();
        files.sort_by_key(|file| std::cmp::Reverse(file.written_at_ms));
        let mut hidden = HashSet::new();
        for file in files {
            if excess == 0 {
                break;
            }
            let unknown = self.unknown_rows(table, &snapshot, file, &known).await?;
            excess = excess.saturating_sub(unknown);
            if unknown > 0 && unknown == file.stats.num_records {
                hidden.insert(file.path.clone());
            }
        }
        if hidden.is_empty() {
            return Ok(snapshot);
        }
        let left = snapshot.files().iter();
        let left = left.filter(|file| !hidden.contains(&file.path));
        Ok(snapshot.hiding(left.cloned().collect()))
    }

    /// Whether the newest commit of the ingest log states this number of rows: the log itself need not be read then.
    fn is_counted(&self, table: &str, rows: u64) -> bool {
        let directory = self.location().local_directory();
        let Some(directory) = directory.filter(|_| self.changeable().is_ok()) else {
            return false;
        };
        match (table, stated_counts(directory, INGEST_LOG)) {
            ("records", Some((records, _))) => records == rows,
            ("lines", Some((_, others))) => others == rows,
            _ => false,
        }
    }

    /// How many rows a table may have that the ingest log does not know; `None` where it has none.
    async fn excess(
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
        let (records, others) = self.counts(sources).await?;
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

    /// The records, and other lines, that a version of the ingest log counts.
    async fn counts(&self, sources: Option<&Snapshot>) -> Result<(u64, u64)> {
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
            let uncounted = sources.only(uncounted);
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

    async fn known_sources(&self, sources: Option<&Snapshot>) -> Result<HashMap<i64, Unknown>> {
        let mut known: HashMap<i64, Unknown> = HashMap::new();
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
                    *source = Unknown {
                        line: last + i64::from(!is_open),
                        segment: next,
                    };
                }
            }
        }
        Ok(known)
    }

    /// The rows of a file that the ingest log does not know.
    async fn unknown_rows(
        &self,
        table: &str,
        at: &Snapshot,
        file: &DataFile,
        known: &HashMap<i64, Unknown>,
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
        // All rows may be of one source, before its end.
        let ids = bounds(file, "source_id");
        if let (Some((first, last)), Some((_, end))) = (ids, bounds(file, place))
            && first == last
            && known.contains_key(&first)
            && end < from(first)
        {
            return Ok(0);
        }
        let frame = self.frame(table, &at.only(vec![file.clone()]))?;
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

fn is_of_sources(table: &str) -> bool {
    TABLES.iter().any(|(name, _)| *name == table)
}

fn row_count(snapshot: &Snapshot) -> u64 {
    let files = snapshot.files().iter();
    files.map(|file| file.stats.num_records).sum()
}

/// The least and the greatest number of a column in a file.
fn bounds(file: &DataFile, name: &str) -> Option<(i64, i64)> {
    let number = |said: Option<&StatValue>| said.and_then(StatValue::as_i64);
    let least = number(file.stats.min_values.get(name))?;
    Some((least, number(file.stats.max_values.get(name))?))
}

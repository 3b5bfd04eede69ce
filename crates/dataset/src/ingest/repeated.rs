//! Detects files that were edited and ingested again, and counts the records that repeat an earlier
//! version.

use std::collections::HashMap;

use arrow::datatypes::Int64Type;
use arrow::row::{RowConverter, SortField};
use datafusion::prelude::col;
use futures::StreamExt as _;
use serde::Serialize;
use tsql_adapters::ingest_log::EarlierVersions;
use tsql_error::{Error, Result};
use tsql_schema::column;
use tsql_store::Store;
use twox_hash::XxHash3_64;

use crate::line_selection::in_sources;

/// A file that repeats records of an earlier version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RepeatedFile {
    /// Path as given.
    pub path: String,
    /// Name of the earlier version in the store that shares the most records.
    pub earlier: String,
    /// Number of records of the file in the store.
    pub records: u64,
    /// Number of them that the earlier version has too.
    pub repeated: u64,
    /// Whether [`ingest_replacing`](crate::corrections::ingest_replacing) would replace the earlier version: it was ingested from the same
    /// path.
    pub is_replaceable: bool,
}

/// Columns that identify a measurement: everything from its line.
const COLUMNS: [&str; 11] = [
    "graph_id",
    "config_id",
    "environment_id",
    "runtime_ns",
    "repeat_count",
    "repeats",
    "error_no",
    "all_cost_digits",
    "all_cost_exponent",
    "measured_at_s",
    "measured_at_fraction",
];

/// Number of records per content hash.
type Contents = HashMap<u64, u64>;

/// Returns the files that repeat records of an earlier version.
pub(super) async fn find_repeated_files(
    store: &Store,
    files: &[EarlierVersions],
) -> Result<Vec<RepeatedFile>> {
    let mut repeated = Vec::new();
    for file in files {
        let Some(new) = file.new else { continue };
        let ids = file.earlier.iter().map(|earlier| earlier.source_id);
        let contents = record_contents(store, ids.chain([new])).await?;
        let Some(own) = contents.get(&new) else {
            continue;
        };
        let common = |earlier: &Contents| -> u64 {
            let both = own.iter().map(|(hash, count)| {
                let other = earlier.get(hash).copied().unwrap_or(0);
                other.min(*count)
            });
            both.sum()
        };
        let counts = file.earlier.iter().map(|earlier| {
            let count = contents.get(&earlier.source_id).map_or(0, common);
            (count, earlier)
        });
        let most = counts.max_by_key(|(count, _)| *count);
        let Some((count, earlier)) = most.filter(|(count, _)| *count > 0) else {
            continue;
        };
        repeated.push(RepeatedFile {
            path: file.path.clone(),
            earlier: earlier.name.clone(),
            records: own.values().sum(),
            repeated: count,
            is_replaceable: earlier.is_same_place,
        });
    }
    Ok(repeated)
}

/// Counts the records of some sources by content.
async fn record_contents(
    store: &Store,
    ids: impl Iterator<Item = i64>,
) -> Result<HashMap<i64, Contents>> {
    let mut contents: HashMap<i64, Contents> = HashMap::new();
    let Some(snapshot) = store.snapshot("records").await? else {
        return Ok(contents);
    };
    let columns = ["source_id"].into_iter().chain(COLUMNS).map(col);
    let frame = store.frame("records", &snapshot)?;
    let frame = frame.filter(in_sources(ids)).map_err(Error::Query)?;
    let frame = frame
        .select(columns.collect::<Vec<_>>())
        .map_err(Error::Query)?;
    let mut rows = frame.execute_stream().await.map_err(Error::Query)?;
    let mut converter: Option<RowConverter> = None;
    let internal = |error: arrow::error::ArrowError| Error::Internal(error.to_string());
    while let Some(batch) = rows.next().await {
        let batch = batch.map_err(Error::Query)?;
        let sources = column::numbers::<Int64Type>(&batch, "source_id")?.clone();
        let own = batch.columns().get(1..).unwrap_or(&[]);
        if converter.is_none() {
            let fields = own
                .iter()
                .map(|column| SortField::new(column.data_type().clone()));
            converter = Some(RowConverter::new(fields.collect()).map_err(internal)?);
        }
        let Some(converter) = &mut converter else {
            continue;
        };
        let keys = converter.convert_columns(own).map_err(internal)?;
        for (source, key) in sources.values().iter().zip(keys.iter()) {
            let hash = XxHash3_64::oneshot(key.as_ref());
            let of_source = contents.entry(*source).or_default();
            *of_source.entry(hash).or_default() += 1;
        }
    }
    Ok(contents)
}

//! A table's files in the log's own form.

use std::collections::HashMap;

use deltalake_core::kernel::engine::arrow_conversion::TryIntoKernel as _;
use deltalake_core::kernel::{Add, LogicalFileView, Remove, StructType};
use deltalake_core::table::state::DeltaTableState;

use crate::error::{Error, Result};
use crate::schema::Table;
use crate::store::file::{DataFile, Stats};
use crate::store::rollup::Place;

/// A scan of ours would give wrong rows for these; nothing that tsql writes has them.
pub(super) fn refuse_features(table: &Table, state: &DeltaTableState) -> Result<()> {
    let deleted = state
        .log_data()
        .iter()
        .any(|file| file.deletion_vector_descriptor().is_some());
    let mapped = state
        .metadata()
        .configuration()
        .get("delta.columnMapping.mode")
        .is_some_and(|mode| mode != "none");
    if deleted || mapped || state.protocol().min_reader_version() > 1 {
        let reason =
            "another program put deletion vectors, column mapping or other reader features on it";
        return Err(Error::damaged(&table.name, reason));
    }
    Ok(())
}

/// The stored columns in the log's own form.
pub(super) fn columns(table: &Table) -> Result<StructType> {
    let columns = table.stored_schema().as_ref().try_into_kernel();
    let damaged = |error: arrow::error::ArrowError| Error::damaged(&table.name, error.to_string());
    columns.map_err(damaged)
}

pub(super) fn data_file(table: &Table, view: &LogicalFileView) -> Result<DataFile> {
    let stats = view.stats().as_deref().map(Stats::parse).transpose();
    let stats = stats.map_err(|error| Error::damaged(&table.name, error.to_string()))?;
    let stats = stats.ok_or_else(|| Error::damaged(&table.name, "a file without statistics"))?;
    let values = view.partition_values_map();
    let value = |name: &String| (name.clone(), values.get(name).cloned().flatten());
    #[expect(deprecated, reason = "tags have no other accessor")]
    let tags = |_| view.add_action().tags;
    let tags = table.rollup.as_ref().and_then(tags);
    let rollup = tags.and_then(|tags| Place::of(&tags));
    Ok(DataFile {
        path: view.path().into_owned(),
        partition: table.partition.iter().map(value).collect(),
        size_bytes: u64::try_from(view.size()).unwrap_or(0),
        stats,
        rollup,
        written_at_ms: view.modification_time(),
    })
}

pub(super) fn add(file: &DataFile, data_change: bool) -> Result<Add> {
    let stats = serde_json::to_string(&file.stats);
    let stats = stats.map_err(|error| Error::damaged(&file.path, error.to_string()))?;
    Ok(Add {
        path: file.path.clone(),
        partition_values: file.partition.iter().cloned().collect::<HashMap<_, _>>(),
        size: size(file),
        modification_time: file.written_at_ms,
        data_change,
        stats: Some(stats),
        tags: file.rollup.map(|place| HashMap::from([place.tag()])),
        ..Add::default()
    })
}

pub(super) fn remove(file: &DataFile, data_change: bool, now_ms: i64) -> Remove {
    Remove {
        path: file.path.clone(),
        data_change,
        deletion_timestamp: Some(now_ms),
        extended_file_metadata: Some(true),
        partition_values: Some(file.partition.iter().cloned().collect()),
        size: Some(size(file)),
        ..Remove::default()
    }
}

fn size(file: &DataFile) -> i64 {
    i64::try_from(file.size_bytes).unwrap_or(i64::MAX)
}

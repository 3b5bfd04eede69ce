//! Conversion between data files and actions of the Delta log.

use std::collections::HashMap;
use std::num::NonZero;
use std::sync::Arc;
use std::thread;

use deltalake_core::kernel::engine::arrow_conversion::TryIntoKernel as _;
use deltalake_core::kernel::{Add, LogicalFileView, Remove, StructType};
use deltalake_core::table::state::DeltaTableState;

use super::log_checksum::{self, TableChecksum};
use crate::files::checksum::Checksums;
use crate::files::data_file::DataFile;
use crate::files::rollup::RollupLocation;
use crate::files::stats::Stats;
use tsql_error::{Error, Result};
use tsql_schema::Table;

/// Number of files from which their entries are converted in several threads.
const WORTH_A_THREAD: usize = 1024;

/// Rejects table features for which a scan would return wrong rows. tsql never writes them.
pub(super) fn reject_features(table: &Table, state: &DeltaTableState) -> Result<()> {
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
            "another program enabled deletion vectors, column mapping or other reader features";
        return Err(Error::damaged(&table.name, reason));
    }
    Ok(())
}

/// Returns the stored columns as a Delta schema.
pub(super) fn columns(table: &Table) -> Result<StructType> {
    let columns = table.stored_schema().as_ref().try_into_kernel();
    let damaged = |error: arrow::error::ArrowError| Error::damaged(&table.name, error.to_string());
    columns.map_err(damaged)
}

/// Returns the files of a version, and their combined checksum.
///
/// # Errors
/// If the entry of a file does not have its checksum.
pub(super) fn data_files(
    table: &Table,
    state: &DeltaTableState,
) -> Result<(Vec<DataFile>, TableChecksum)> {
    let views: Vec<LogicalFileView> = state.log_data().into_iter().collect();
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let share = views.len().div_ceil(threads).max(WORTH_A_THREAD);
    let some = |views: &[LogicalFileView]| {
        let mut files: Vec<(DataFile, u64)> = Vec::with_capacity(views.len());
        for view in views {
            let before = files.last().map(|(file, _)| file);
            files.push(data_file(table, view, before)?);
        }
        Ok(files)
    };
    let parts: Vec<Result<Vec<_>>> = thread::scope(|scope| {
        let mut shares = views.chunks(share);
        let first = shares.next().unwrap_or_default();
        let others: Vec<_> = shares
            .map(|views| scope.spawn(move || some(views)))
            .collect();
        let failed = || {
            Err(Error::damaged(
                &table.name,
                "a thread that read its log failed",
            ))
        };
        let others = others
            .into_iter()
            .map(|other| other.join().unwrap_or_else(|_| failed()));
        // This thread processes its chunk before it waits for the others.
        std::iter::once(some(first)).chain(others).collect()
    });
    let mut of_table = TableChecksum::default();
    let mut files = Vec::with_capacity(views.len());
    for part in parts {
        for (file, of_entry) in part? {
            of_table = of_table.with_file(of_entry);
            files.push(file);
        }
    }
    Ok((files, of_table))
}

/// Converts the entry of a file. Returns the file and the checksum of the entry. Its statistics share column names with
/// those of the file `before`.
fn data_file(
    table: &Table,
    view: &LogicalFileView,
    before: Option<&DataFile>,
) -> Result<(DataFile, u64)> {
    let path = view.path().into_owned();
    let wrong = |reason: &dyn std::fmt::Display| {
        log_checksum::damaged_log_error(table, &format!("`{path}`: {reason}:"))
    };
    let stats = view.stats().as_deref().map(Stats::parse).transpose();
    let stats = stats.map_err(|error| wrong(&error))?;
    let mut stats = stats.ok_or_else(|| wrong(&"no statistics"))?;
    if let Some(before) = before {
        stats = stats.with_names_of(&before.stats);
    }
    let values = view.partition_values_map();
    let value = |name: &String| (name.clone(), values.get(name).cloned().flatten());
    let size_bytes = u64::try_from(view.size()).map_err(|error| wrong(&error))?;
    #[expect(deprecated, reason = "tags have no other accessor")]
    let tags = view.add_action().tags.unwrap_or_default();
    let checksums = Checksums::from_tags(&tags, size_bytes).map_err(|reason| wrong(&reason))?;
    let file = DataFile {
        path: path.clone(),
        partition: table.partition.iter().map(value).collect(),
        size_bytes,
        stats: Arc::new(stats),
        rollup: RollupLocation::from_tags(&tags).map_err(|reason| wrong(&reason))?,
        checksums: checksums.map(|(checksums, _)| checksums),
        counts: DataFile::counts_from_tags(&tags),
        written_at_ms: view.modification_time(),
    };
    let of_entry = log_checksum::file_checksum(table, &file);
    if checksums.is_some_and(|(_, said)| said != of_entry) {
        let what = format!("size, rows or statistics of `{path}` are");
        return Err(log_checksum::damaged_log_error(table, &what));
    }
    Ok((file, of_entry))
}

pub(super) fn add(table: &Table, file: &DataFile, data_change: bool) -> Result<Add> {
    let stats = serde_json::to_string(&log_checksum::normalize_floats(table, &file.stats));
    let stats = stats.map_err(|error| Error::damaged(&file.path, error.to_string()))?;
    let of_entry = log_checksum::file_checksum(table, file);
    let checksums = file.checksums.map(|checksums| checksums.tag(of_entry));
    let tags: HashMap<_, _> = checksums
        .into_iter()
        .chain(file.rollup.map(RollupLocation::tag))
        .chain(file.counts_tag())
        .collect();
    Ok(Add {
        path: file.path.clone(),
        partition_values: file.partition.iter().cloned().collect::<HashMap<_, _>>(),
        size: size(file),
        modification_time: file.written_at_ms,
        data_change,
        stats: Some(stats),
        tags: (!tags.is_empty()).then_some(tags),
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

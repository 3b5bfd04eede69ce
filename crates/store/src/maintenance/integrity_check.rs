//! Verification of data files for `check`: bytes against checksums, and pre-aggregates against rows.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray as _, RecordBatch};
use arrow::compute::{SortColumn, concat_batches, lexsort_to_indices, take_record_batch};
use arrow::datatypes::{DataType, Float64Type};
use arrow::error::ArrowError;
use object_store::ObjectStoreExt as _;

use crate::files::data_file::DataFile;
use crate::files::rollup::{self, RollupLocation};
use crate::files::verified_blocks::ChecksummedFiles;
use crate::settings::verify_settings::Verify;
use crate::{Snapshot, Store};
use tsql_error::{DamagedFile, Error, Result};
use tsql_schema::Table;

/// Bytes per read.
const READ_BYTES: usize = 8 << 20;

/// Relative difference of sums that the order of additions may cause.
const SUM_SHARE: f64 = 1e-9;

impl Store {
    /// Reads a file of `table` completely and verifies its checksums, if it has any. Returns a description of the
    /// damage. If the cached tail of a remote file is damaged, the file is read once more without the cache.
    ///
    /// # Errors
    /// Failures of the storage that do not indicate damage of the file.
    pub async fn data_file_damage(&self, table: &Table, file: &DataFile) -> Result<Option<String>> {
        self.location()
            .cache_sizes(file.size_in(&table.name).into_iter());
        let damage = self.read_damage(table, file).await?;
        if damage.is_some() && self.location().evict(&file.object_path(&table.name)?) {
            return self.read_damage(table, file).await;
        }
        Ok(damage)
    }

    async fn read_damage(&self, table: &Table, file: &DataFile) -> Result<Option<String>> {
        let files = Arc::new(ChecksummedFiles::new(&table.name, [file]));
        let objects = files.wrap(Arc::clone(self.location().objects()), Verify::Always);
        let path = file.object_path(&table.name)?;
        for begin in (0..file.size_bytes).step_by(READ_BYTES) {
            let end = file.size_bytes.min(begin + READ_BYTES as u64);
            match objects.get_range(&path, begin..end).await {
                Ok(bytes) if bytes.len() as u64 == end - begin => {}
                Ok(bytes) => {
                    let found = format!("{} bytes from {begin} on are", bytes.len());
                    return Ok(Some(DamagedFile::new(path.as_ref(), found).to_string()));
                }
                Err(object_store::Error::NotFound { .. }) => {
                    return Ok(Some(format!("`{path}` is missing")));
                }
                Err(error) => {
                    let error = Error::Storage(error);
                    return if error.is_damaged_file() {
                        Ok(error.to_string().lines().next().map(str::to_owned))
                    } else {
                        Err(error)
                    };
                }
            }
        }
        Ok(None)
    }

    /// Compares the pre-aggregates of a file with its rows. Returns a description of the damage.
    ///
    /// # Errors
    /// Failures to read the file.
    pub async fn rollup_damage(
        &self,
        table: &Table,
        snapshot: &Snapshot,
        file: &DataFile,
    ) -> Result<Option<String>> {
        let Some(rollup) = &table.rollup else {
            return Ok(None);
        };
        let place = file
            .rollup
            .filter(|place| place.layout == rollup::layout(rollup));
        let Some(place) = place else { return Ok(None) };
        let columns: Vec<&str> = rollup
            .by
            .iter()
            .chain(&rollup.of)
            .map(String::as_str)
            .collect();
        let only = snapshot.with_files(vec![file.clone()]);
        let rows = self.read(&table.name, &only, &columns, None).await?;
        let kept = self.read_rollup(table, file, place).await?;
        let wrong = |error: ArrowError| Error::damaged(&table.name, error.to_string());
        let equal = is_rollup_of(table, &rows, &kept).map_err(wrong)?;
        let path = file.object_path(&table.name)?;
        let told = DamagedFile::new(path.as_ref(), "its pre-aggregates are").to_string();
        Ok((!equal).then_some(told))
    }

    async fn read_rollup(
        &self,
        table: &Table,
        file: &DataFile,
        place: RollupLocation,
    ) -> Result<Vec<RecordBatch>> {
        let files = Arc::new(ChecksummedFiles::new(&table.name, [file]));
        let objects = files.wrap(Arc::clone(self.location().objects()), Verify::Always);
        let path = file.object_path(&table.name)?;
        let bytes = objects.get_range(&path, place.range()).await;
        let sums = rollup::decode(&bytes.map_err(Error::Storage)?, file.stats.num_records);
        sums.map_err(|error| Error::damaged(&table.name, error.to_string()))
    }
}

/// Returns whether `kept` are the pre-aggregates of `rows`, up to the order of additions.
fn is_rollup_of(
    table: &Table,
    rows: &[RecordBatch],
    kept: &[RecordBatch],
) -> Result<bool, ArrowError> {
    let Some(first) = rows.first() else {
        return Ok(false);
    };
    let Some(made) = rollup::compute_rollup(table, &concat_batches(&first.schema(), rows)?)? else {
        return Ok(false);
    };
    let schema = made.schema();
    if kept.iter().any(|kept| kept.schema() != schema) {
        return Ok(false);
    }
    let kept = sort_by_labels(&concat_batches(&schema, kept)?)?;
    let made = sort_by_labels(&made)?;
    let mut columns = made.columns().iter().zip(kept.columns());
    Ok(made.num_rows() == kept.num_rows() && columns.all(|(made, kept)| are_equal(made, kept)))
}

fn are_equal(made: &ArrayRef, kept: &ArrayRef) -> bool {
    let (Some(made), Some(kept)) = (
        made.as_primitive_opt::<Float64Type>(),
        kept.as_primitive_opt::<Float64Type>(),
    ) else {
        return made == kept;
    };
    made.iter().zip(kept).all(|values| match values {
        (Some(made), Some(kept)) => (made - kept).abs() <= made.abs() * SUM_SHARE,
        (made, kept) => made == kept,
    })
}

/// Sorts pre-aggregates by their labels, which are unique.
fn sort_by_labels(sums: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let labels = sums
        .columns()
        .iter()
        .filter(|column| *column.data_type() != DataType::Float64);
    let labels: Vec<SortColumn> = labels
        .map(|values| SortColumn {
            values: Arc::clone(values),
            options: None,
        })
        .collect();
    take_record_batch(sums, &lexsort_to_indices(&labels, None)?)
}

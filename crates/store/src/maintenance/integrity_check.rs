//! A data file compared with its checksums, and its sums with its rows: for `check`.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray as _, RecordBatch};
use arrow::compute::{SortColumn, concat_batches, lexsort_to_indices, take_record_batch};
use arrow::datatypes::{DataType, Float64Type};
use arrow::error::ArrowError;
use object_store::ObjectStoreExt as _;

use crate::files::data_file::DataFile;
use crate::files::rollup::{self, Place};
use crate::files::verified_blocks::Files;
use crate::settings::verify_settings::Verify;
use crate::{Snapshot, Store};
use tsql_error::{DamagedFile, Error, Result};
use tsql_schema::Table;

/// Bytes that are read at once.
const READ_BYTES: usize = 8 << 20;

/// Share of a sum that the order of adding up may change.
const SUM_SHARE: f64 = 1e-9;

impl Store {
    /// Reads a file of `table` whole, and compares it as far as it has checksums: what is wrong with it, if
    /// anything is. What this machine keeps of a file that lies elsewhere is dropped then and not asked again.
    ///
    /// # Errors
    /// Failures of the storage that say nothing of the file.
    pub async fn damage_of_bytes(&self, table: &Table, file: &DataFile) -> Result<Option<String>> {
        self.location().know(file.size_in(&table.name).into_iter());
        let damage = self.damage_as_read(table, file).await?;
        if damage.is_some() && self.location().forget(&file.object(&table.name)?) {
            return self.damage_as_read(table, file).await;
        }
        Ok(damage)
    }

    async fn damage_as_read(&self, table: &Table, file: &DataFile) -> Result<Option<String>> {
        let files = Arc::new(Files::new(&table.name, [file]));
        let objects = files.within(Arc::clone(self.location().objects()), Verify::Always);
        let path = file.object(&table.name)?;
        for begin in (0..file.size_bytes).step_by(READ_BYTES) {
            let end = file.size_bytes.min(begin + READ_BYTES as u64);
            match objects.get_range(&path, begin..end).await {
                Ok(bytes) if bytes.len() as u64 == end - begin => {}
                Ok(bytes) => {
                    let found = format!("{} bytes from {begin} on are", bytes.len());
                    return Ok(Some(DamagedFile::new(path.as_ref(), found).to_string()));
                }
                Err(object_store::Error::NotFound { .. }) => {
                    return Ok(Some(format!("`{path}` is not there")));
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

    /// What is wrong with the sums that a file keeps, if anything is.
    ///
    /// # Errors
    /// Failures to read the file.
    pub async fn damage_of_sums(
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
        let only = snapshot.only(vec![file.clone()]);
        let rows = self.read(&table.name, &only, &columns, None).await?;
        let kept = self.sums(table, file, place).await?;
        let wrong = |error: ArrowError| Error::damaged(&table.name, error.to_string());
        let equal = are_sums(table, &rows, &kept).map_err(wrong)?;
        let path = file.object(&table.name)?;
        let told = DamagedFile::new(path.as_ref(), "sums of its rows are").to_string();
        Ok((!equal).then_some(told))
    }

    async fn sums(&self, table: &Table, file: &DataFile, place: Place) -> Result<Vec<RecordBatch>> {
        let files = Arc::new(Files::new(&table.name, [file]));
        let objects = files.within(Arc::clone(self.location().objects()), Verify::Always);
        let path = file.object(&table.name)?;
        let bytes = objects.get_range(&path, place.range()).await;
        let sums = rollup::decode(&bytes.map_err(Error::Storage)?, file.stats.num_records);
        sums.map_err(|error| Error::damaged(&table.name, error.to_string()))
    }
}

/// Are `kept` the sums of `rows`, in whichever order they were added up?
fn are_sums(table: &Table, rows: &[RecordBatch], kept: &[RecordBatch]) -> Result<bool, ArrowError> {
    let Some(first) = rows.first() else {
        return Ok(false);
    };
    let Some(made) = rollup::rolled_up(table, &concat_batches(&first.schema(), rows)?)? else {
        return Ok(false);
    };
    let schema = made.schema();
    if kept.iter().any(|kept| kept.schema() != schema) {
        return Ok(false);
    }
    let kept = in_order(&concat_batches(&schema, kept)?)?;
    let made = in_order(&made)?;
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

/// The rows in the order of their labels, which no two share.
fn in_order(sums: &RecordBatch) -> Result<RecordBatch, ArrowError> {
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

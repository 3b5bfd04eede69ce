//! Data files of a table, as scans use them.
//!
//! The statistics in the log are converted to the engine's form when they are needed, because that form is several
//! times as large. A query that prunes most files converts few.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use arrow::array::{ArrayRef, BooleanArray, UInt64Array};
use datafusion::common::pruning::PruningStatistics;
use datafusion::common::{Column, DataFusionError, Result, ScalarValue, Statistics};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::table_schema::TableSchema;
use object_store::ObjectMeta;
use object_store::path::Path;

use crate::files::data_file::DataFile;
use crate::files::statistics::{scalar, statistics};
use crate::files::stats::{StatValue, Stats, Values};

/// Number of files whose statistics are in memory at a time while they are merged.
const AT_ONCE: usize = 512;

/// A data file of a table.
#[derive(Debug)]
pub(crate) struct TableFile {
    /// Without statistics.
    file: PartitionedFile,
    rows: usize,
    stats: Arc<Stats>,
    /// Whether the bounds are exact. Other writers truncate long texts.
    is_exact: bool,
    statistics: OnceLock<Arc<Statistics>>,
}

impl TableFile {
    /// Creates the file at `location`.
    ///
    /// # Errors
    /// If it has more rows than `usize` can count.
    pub(crate) fn new(location: Path, file: &DataFile) -> Result<Self> {
        let partition = file
            .partition
            .iter()
            .map(|(_, value)| ScalarValue::Utf8View(value.clone()));
        let written = chrono::DateTime::from_timestamp_millis(file.written_at_ms);
        let meta = ObjectMeta {
            location,
            last_modified: written.unwrap_or_default(),
            size: file.size_bytes,
            e_tag: None,
            version: None,
        };
        let rows = usize::try_from(file.stats.num_records).map_err(|_| {
            DataFusionError::Internal("a file has more rows than memory has bytes".into())
        })?;
        Ok(Self {
            file: PartitionedFile::new_from_meta(meta).with_partition_values(partition.collect()),
            rows,
            stats: Arc::clone(&file.stats),
            is_exact: file.is_own(),
            statistics: OnceLock::new(),
        })
    }

    pub(crate) fn meta(&self) -> &ObjectMeta {
        &self.file.object_meta
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the values of the partition columns.
    pub(crate) fn partition_values(&self) -> &[ScalarValue] {
        &self.file.partition_values
    }

    /// Returns the minimum of a column.
    pub(crate) fn min_value(&self, name: &str, schema: &TableSchema) -> Option<ScalarValue> {
        let field = schema.file_schema().field_with_name(name).ok()?;
        scalar(self.stats.min_values.get(name)?, field.data_type())
    }

    /// Returns the statistics, and computes them if they are not cached.
    fn statistics(&self, schema: &TableSchema) -> Arc<Statistics> {
        if let Some(known) = self.statistics.get() {
            return Arc::clone(known);
        }
        let mut statistics = statistics(schema.file_schema(), self.rows, &self.stats);
        if !self.is_exact {
            statistics = statistics.to_inexact();
        }
        let with_partition = self.file.clone().with_statistics(Arc::new(statistics));
        let unknown = || Arc::new(Statistics::new_unknown(schema.table_schema()));
        with_partition.statistics.unwrap_or_else(unknown)
    }

    /// Returns the file for a scan without column statistics.
    pub(crate) fn to_bare_file(&self) -> PartitionedFile {
        self.file.clone()
    }

    /// Returns the file for a scan, with its statistics.
    pub(crate) fn to_scan_file(&self, schema: &TableSchema) -> PartitionedFile {
        let known = self.statistics.get_or_init(|| self.statistics(schema));
        PartitionedFile {
            statistics: Some(Arc::clone(known)),
            ..self.file.clone()
        }
    }
}

/// Merges the statistics of some files.
pub(crate) fn merge_statistics(
    files: &[Arc<TableFile>],
    schema: &TableSchema,
) -> Result<Statistics> {
    let merged = files.chunks(AT_ONCE).map(|files| {
        let some: Vec<_> = files.iter().map(|file| file.statistics(schema)).collect();
        let some = some.iter().map(AsRef::as_ref);
        Statistics::try_merge_iter(some, schema.table_schema())
    });
    let merged = merged.collect::<Result<Vec<_>>>()?;
    Statistics::try_merge_iter(&merged, schema.table_schema())
}

/// Statistics of some files, for pruning by filters.
pub(crate) struct PruningFiles<'a> {
    pub(crate) files: &'a [Arc<TableFile>],
    pub(crate) schema: &'a TableSchema,
}

impl PruningFiles<'_> {
    /// Returns the index of a partition column among the partition columns.
    fn partition_index(&self, name: &str) -> Option<usize> {
        let mut columns = self.schema.table_partition_cols().iter();
        columns.position(|column| column.name() == name)
    }

    fn bounds(&self, name: &str, of: impl Fn(&Stats) -> &Values) -> Option<ArrayRef> {
        if let Some(place) = self.partition_index(name) {
            let values = self.files.iter();
            let values = values.map(|file| file.partition_values().get(place).cloned());
            return ScalarValue::iter_to_array(values.collect::<Option<Vec<_>>>()?).ok();
        }
        let field = self.schema.file_schema().field_with_name(name).ok()?;
        let unknown = ScalarValue::try_from(field.data_type()).ok()?;
        let known = |file: &Arc<TableFile>| {
            let said = of(&file.stats).get(name).filter(|_| file.is_exact);
            said.and_then(|said| scalar(said, field.data_type()))
        };
        let mut is_known = false;
        let values = self.files.iter().map(|file| {
            let value = known(file);
            is_known |= value.is_some();
            value.unwrap_or_else(|| unknown.clone())
        });
        let values = ScalarValue::iter_to_array(values.collect::<Vec<_>>()).ok()?;
        is_known.then_some(values)
    }
}

impl PruningStatistics for PruningFiles<'_> {
    fn min_values(&self, column: &Column) -> Option<ArrayRef> {
        self.bounds(column.name(), |stats| &stats.min_values)
    }

    fn max_values(&self, column: &Column) -> Option<ArrayRef> {
        self.bounds(column.name(), |stats| &stats.max_values)
    }

    fn num_containers(&self) -> usize {
        self.files.len()
    }

    fn null_counts(&self, column: &Column) -> Option<ArrayRef> {
        let place = self.partition_index(column.name());
        let counts = self.files.iter().map(|file| match place {
            Some(place) => {
                let is_null = file.partition_values().get(place)?.is_null();
                Some(if is_null { file.rows as u64 } else { 0 })
            }
            None => {
                let said = file.stats.null_count.get(column.name());
                said.and_then(StatValue::as_u64).filter(|_| file.is_exact)
            }
        });
        Some(Arc::new(counts.collect::<UInt64Array>()))
    }

    fn row_counts(&self) -> Option<ArrayRef> {
        let counts = self.files.iter();
        let counts = counts.map(|file| file.is_exact.then_some(file.rows as u64));
        Some(Arc::new(counts.collect::<UInt64Array>()))
    }

    fn contained(&self, _: &Column, _: &HashSet<ScalarValue>) -> Option<BooleanArray> {
        None
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::{DataType, Field, Schema};
    use datafusion::common::stats::Precision;
    use datafusion::physical_expr::PhysicalExpr;
    use datafusion::physical_expr::expressions::{IsNullExpr, binary, col, lit};
    use datafusion::physical_optimizer::pruning::PruningPredicateBuilder;

    use super::*;

    fn schema() -> TableSchema {
        let inside = vec![
            Field::new("number", DataType::Int64, true),
            Field::new("text", DataType::Utf8View, true),
        ];
        TableSchema::builder(Arc::new(Schema::new(inside)))
            .with_table_partition_cols(vec![Arc::new(Field::new(
                "platform",
                DataType::Utf8View,
                true,
            ))])
            .build()
    }

    /// File `number` with this number of rows, in the partition of this platform. `is_own`: written by tsql.
    fn file(number: usize, is_own: bool, platform: Option<&str>) -> Arc<TableFile> {
        let stats = format!(
            r#"{{"numRecords":2,"minValues":{{"number":{number},"text":"a{number}"}},"maxValues":{{"number":{number}}},"nullCount":{{"number":0,"text":1}}}}"#
        );
        let name = uuid::Uuid::from_u128(number as u128).simple().to_string();
        let kind = if is_own { "part" } else { "other" };
        let file = DataFile {
            path: format!("{kind}-{name}.parquet"),
            partition: vec![("platform".to_owned(), platform.map(str::to_owned))],
            size_bytes: 1,
            stats: Arc::new(Stats::parse(&stats).unwrap()),
            rollup: None,
            checksums: None,
            counts: None,
            written_at_ms: 0,
        };
        Arc::new(TableFile::new(file.object_path("records").unwrap(), &file).unwrap())
    }

    /// Indexes of the files that may have rows that match the predicate.
    fn prune_to_indices(files: &[Arc<TableFile>], predicate: Arc<dyn PhysicalExpr>) -> Vec<usize> {
        let schema = schema();
        let predicate = PruningPredicateBuilder::new()
            .with_file_schema(Arc::clone(schema.table_schema()))
            .try_build(predicate)
            .unwrap();
        let schema = &schema;
        let kept = predicate.prune(&PruningFiles { files, schema }).unwrap();
        let places = kept.iter().enumerate().filter(|(_, kept)| **kept);
        places.map(|(place, _)| place).collect()
    }

    #[test]
    fn filters_prune_files_by_statistics_of_the_log() {
        let files = [
            file(1, true, Some("k80")),
            file(2, true, Some("t4")),
            file(3, false, Some("t4")),
            file(4, true, None),
        ];
        let all = Arc::clone(schema().table_schema());
        let compared = |name: &str, operator, value: ScalarValue| {
            let column = col(name, &all).unwrap();
            prune_to_indices(&files, binary(column, operator, lit(value), &all).unwrap())
        };
        use datafusion::logical_expr::Operator::{Eq, Gt, Lt};
        // Bounds of other writers may not be values of the file, so they are not exact.
        assert_eq!(compared("number", Gt, 1_i64.into()), [1, 2, 3]);
        assert_eq!(compared("number", Lt, 2_i64.into()), [0, 2]);
        assert_eq!(
            compared(
                "text",
                Lt,
                ScalarValue::from("a1")
                    .cast_to(&DataType::Utf8View)
                    .unwrap()
            ),
            [2]
        );
        let platform = |name: &str| ScalarValue::Utf8View(Some(name.to_owned()));
        assert_eq!(compared("platform", Eq, platform("t4")), [1, 2]);
        let null = |name| Arc::new(IsNullExpr::new(col(name, &all).unwrap()));
        assert_eq!(prune_to_indices(&files, null("platform")), [3]);
        assert_eq!(prune_to_indices(&files, null("number")), [2]);
        assert_eq!(prune_to_indices(&files, null("text")), [0, 1, 2, 3]);
    }

    #[test]
    fn statistics_of_many_files_are_computed_in_batches() {
        let files: Vec<_> = (0..=AT_ONCE)
            .map(|number| file(number, true, Some("k80")))
            .collect();
        let schema = schema();
        let all = merge_statistics(&files, &schema).unwrap();
        assert!(files.iter().all(|file| file.statistics.get().is_none()));
        assert_eq!(all.num_rows, Precision::Exact(2 * files.len()));
        let scanned: Vec<_> = files
            .iter()
            .map(|file| file.to_scan_file(&schema))
            .collect();
        let known = scanned.iter().filter_map(|file| file.statistics.as_deref());
        let merged = Statistics::try_merge_iter(known, schema.table_schema());
        assert_eq!(all, merged.unwrap());
        assert_eq!(merge_statistics(&files, &schema).unwrap(), all);
    }
}

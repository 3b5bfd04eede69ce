//! Compares the data sources of two plans.

use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfig, ParquetSource};
use datafusion::datasource::source::DataSourceExec;

use super::fields::{
    Difference, first_difference, same_expr, same_option, same_order, same_schema,
};

pub(super) fn compare_source(written: &DataSourceExec, read: &DataSourceExec) -> Difference {
    let [a, b] = [written, read].map(|of| of.data_source().downcast_ref::<FileScanConfig>());
    if let (Some(a), Some(b)) = (a, b) {
        return compare_file_scan(a, b);
    }
    let [a, b] = [written, read].map(|of| of.data_source().downcast_ref::<MemorySourceConfig>());
    let (Some(a), Some(b)) = (a, b) else {
        return Some("kind");
    };
    first_difference([
        ("rows", a.partitions() == b.partitions()),
        ("columns", a.projection() == b.projection()),
        (
            "columns",
            same_schema(&a.original_schema(), &b.original_schema()),
        ),
    ])
}

/// Compares two file scans, except statistics, readers and footer metadata: a worker has its own.
fn compare_file_scan(a: &FileScanConfig, b: &FileScanConfig) -> Difference {
    let same_files = |a: &FileGroup, b: &FileGroup| {
        let mut pairs = a.files().iter().zip(b.files());
        a.len() == b.len()
            && pairs.all(|(a, b)| {
                a.object_meta.location == b.object_meta.location
                    && a.object_meta.size == b.object_meta.size
                    && a.range == b.range
                    && a.partition_values == b.partition_values
            })
    };
    let mut groups = a.file_groups.iter().zip(&b.file_groups);
    let files = a.file_groups.len() == b.file_groups.len() && groups.all(|(a, b)| same_files(a, b));
    let mut orders = a.output_ordering.iter().zip(&b.output_ordering);
    // Without a limit or an output ordering, a scan may read its files in any order.
    let is_ordered = a.limit.is_some() || !a.output_ordering.is_empty();
    let order = (a.preserve_order == b.preserve_order || !is_ordered)
        && a.output_ordering.len() == b.output_ordering.len()
        && orders.all(|(a, b)| same_order(a, b));
    let (from, to) = (a.file_source(), b.file_source());
    let columns = match (from.projection(), to.projection()) {
        (None, None) => true,
        (Some(a), Some(b)) => {
            let mut pairs = a.iter().zip(b.iter());
            a.iter().count() == b.iter().count()
                && pairs.all(|(a, b)| a.alias == b.alias && same_expr(&a.expr, &b.expr))
        }
        _ => false,
    };
    // Reader options that change the decoded values.
    let [types, types_read] = [from, to].map(|source| {
        let parquet = source.downcast_ref::<ParquetSource>();
        parquet.map(|parquet| {
            let options = &parquet.table_parquet_options().global;
            let int96 = (
                options.coerce_int96.clone(),
                options.coerce_int96_tz.clone(),
            );
            (
                options.binary_as_string,
                options.schema_force_view_types,
                int96,
            )
        })
    });
    first_difference([
        ("store", a.object_store_url == b.object_store_url),
        ("files", files),
        ("order of rows", order),
        ("limit", a.limit == b.limit),
        ("batches", a.batch_size == b.batch_size),
        ("columns", columns),
        ("columns", same_schema(a.file_schema(), b.file_schema())),
        (
            "folders",
            a.table_partition_cols() == b.table_partition_cols(),
        ),
        (
            "condition",
            same_option(from.filter().as_ref(), to.filter().as_ref()),
        ),
        ("types", types.is_some() && types == types_read),
    ])
}

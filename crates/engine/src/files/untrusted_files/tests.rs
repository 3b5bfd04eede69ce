use std::fs;
use std::path::Path;

use arrow::array::{ArrayRef, Float64Array, Int64Array};
use arrow::datatypes::DataType;
use datafusion::prelude::SessionContext;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

use super::*;
use crate::context::new_context;

/// A file with row groups of 4 rows, pages of 2 rows and all kinds of statistics.
fn write(path: &Path, values: &[f64]) {
    let numbers = (0..).take(values.len());
    let wide: ArrayRef = Arc::new(Float64Array::from(values.to_vec()));
    let narrow = arrow::compute::cast(&wide, &DataType::Float32).unwrap();
    let batch = RecordBatch::try_from_iter([
        (
            "n",
            Arc::new(Int64Array::from_iter_values(numbers)) as ArrayRef,
        ),
        ("x", wide),
        ("y", narrow),
    ]);
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(4))
        .set_data_page_row_count_limit(2)
        .set_write_batch_size(2)
        .set_bloom_filter_enabled(true)
        .build();
    let file = fs::File::create(path).unwrap();
    let batch = batch.unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

async fn session() -> SessionContext {
    new_context(None).unwrap()
}

async fn numbers(context: &SessionContext, sql: &str) -> Vec<i64> {
    let batches = context.sql(sql).await.unwrap().collect().await.unwrap();
    let rows = batches.iter().flat_map(|batch| {
        let column = batch
            .column(0)
            .as_any()
            .downcast_ref::<Int64Array>()
            .unwrap();
        column.values().to_vec()
    });
    rows.collect()
}

/// Expected values follow DuckDB and Arrow: NaN is greater than all numbers and equal to itself.
#[tokio::test]
async fn rows_with_nan_are_found_despite_statistics() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.parquet");
    let nan = f64::NAN;
    write(
        &path,
        &[
            1.0, 2.0, nan, 3.0, 1.0, 1.0, 1.0, 1.0, nan, nan, nan, nan, -0.0, -0.0, -0.0, -0.0,
        ],
    );
    let context = session().await;
    let file = path.display();
    for column in ["x", "y"] {
        for (condition, wanted) in [
            ("> 5", vec![2, 8, 9, 10, 11]),
            (">= 3.5", vec![2, 8, 9, 10, 11]),
            ("> 2.5 AND n < 4", vec![2, 3]),
            ("= 'NaN'::DOUBLE", vec![2, 8, 9, 10, 11]),
            ("<> 1.0 AND n < 8", vec![1, 2, 3]),
            ("= 0.0", vec![12, 13, 14, 15]),
            ("IN (0.0, 7.0)", vec![12, 13, 14, 15]),
            ("BETWEEN 4 AND 'NaN'::DOUBLE", vec![2, 8, 9, 10, 11]),
            ("IS NULL", vec![]),
            ("= 2", vec![1]),
        ] {
            let sql = format!("SELECT n FROM '{file}' WHERE {column} {condition} ORDER BY n");
            assert_eq!(numbers(&context, &sql).await, wanted, "{sql}");
        }
        let sql = format!(
            "SELECT n FROM (SELECT n, {column} FROM '{file}' ORDER BY {column} DESC LIMIT 5) ORDER BY n"
        );
        assert_eq!(numbers(&context, &sql).await, [2, 8, 9, 10, 11], "{sql}");
        let sql = format!("SELECT n FROM '{file}' ORDER BY {column} DESC, n LIMIT 2");
        assert_eq!(numbers(&context, &sql).await, [2, 8], "{sql}");
    }
    let sql = format!("SELECT n FROM '{file}' WHERE n > 13 ORDER BY n");
    assert_eq!(numbers(&context, &sql).await, [14, 15]);
}

/// Rules for store tables do not apply to NaN in other files: NaN is the maximum, in a join as well.
#[tokio::test]
async fn joins_find_rows_with_nan() {
    let folder = tempfile::tempdir().unwrap();
    let (left, right) = (
        folder.path().join("l.parquet"),
        folder.path().join("r.parquet"),
    );
    write(&left, &[1.0, 2.0, f64::NAN, 4.0, 5.0]);
    write(&right, &[f64::NAN, 100.0]);
    let sql = format!(
        "SELECT l.n FROM '{}' AS l JOIN '{}' AS r ON l.x = r.x ORDER BY 1",
        left.display(),
        right.display()
    );
    assert_eq!(numbers(&session().await, &sql).await, [2]);
}

//! Query results as tables of an HTML report.

use arrow::array::{Array as _, AsArray as _, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::prelude::SessionContext;
use futures::StreamExt as _;
use tsql_error::{Error, Result};
use tsql_plot::HtmlTable;
use tsql_session::run_sql;

/// Runs a query and returns its result as a table; `None` without rows.
pub(super) async fn query_table(
    context: &SessionContext,
    caption: &str,
    sql: &str,
    most: usize,
) -> Result<Option<HtmlTable>> {
    let frame = run_sql(context, sql, &[]).await?;
    let mut rows = frame.execute_stream().await.map_err(Error::Query)?;
    let columns = rows.schema();
    let columns = columns.fields().iter();
    let columns = columns.map(|field| {
        (
            field.name().clone(),
            field.data_type().is_numeric() && !field.name().ends_with("_id"),
        )
    });
    let mut grid = HtmlTable {
        caption: caption.to_owned(),
        columns: columns.collect(),
        rows: Vec::new(),
        sql: sql.to_owned(),
    };
    let mut count = 0;
    while let Some(batch) = rows.next().await {
        let batch = batch.map_err(Error::Query)?;
        count += batch.num_rows();
        let wanted = most.saturating_sub(grid.rows.len()).min(batch.num_rows());
        if wanted > 0 {
            append(&mut grid, &batch.slice(0, wanted))?;
        }
    }
    remove_empty_columns(&mut grid);
    if count > grid.rows.len() {
        grid.caption = format!("{caption} (the first {} of {count})", grid.rows.len());
    }
    Ok((count > 0).then_some(grid))
}

/// Removes columns without a value in any row.
fn remove_empty_columns(grid: &mut HtmlTable) {
    let has_value = |column: usize| {
        let mut cells = grid.rows.iter().filter_map(|row| row.get(column));
        cells.any(|(text, _)| !text.is_empty())
    };
    let has_values: Vec<bool> = (0..grid.columns.len()).map(has_value).collect();
    if !has_values.contains(&true) {
        return;
    }
    let mut keep = has_values.iter();
    grid.columns
        .retain(|_| keep.next().copied().unwrap_or(true));
    for row in &mut grid.rows {
        let mut keep = has_values.iter();
        row.retain(|_| keep.next().copied().unwrap_or(true));
    }
}

fn append(grid: &mut HtmlTable, batch: &RecordBatch) -> Result<()> {
    let failed = |error: arrow::error::ArrowError| Error::Query(error.into());
    let first = grid.rows.len();
    grid.rows.resize(first + batch.num_rows(), Vec::new());
    let options = FormatOptions::default()
        .with_timestamp_format(Some("%Y-%m-%d %H:%M"))
        .with_timestamp_tz_format(Some("%Y-%m-%d %H:%M"));
    for (array, (_, is_number)) in batch.columns().iter().zip(&grid.columns) {
        let numbers = match is_number {
            true => Some(cast(array, &DataType::Float64).map_err(failed)?),
            false => None,
        };
        let numbers = numbers
            .as_ref()
            .and_then(|numbers| numbers.as_primitive_opt::<Float64Type>());
        let texts = ArrayFormatter::try_new(array.as_ref(), &options).map_err(failed)?;
        for (row, cells) in grid.rows.iter_mut().skip(first).enumerate() {
            let number = numbers
                .filter(|numbers| numbers.is_valid(row))
                .map(|numbers| numbers.value(row));
            let text = match number {
                Some(number) if array.data_type().is_floating() => round_significant(number),
                _ if array.is_null(row) => String::new(),
                _ => texts.value(row).to_string(),
            };
            cells.push((text, number));
        }
    }
    Ok(())
}

/// Rounds to four significant digits, but never before the decimal point.
fn round_significant(number: f64) -> String {
    match number.abs() {
        size if !size.is_finite() => number.to_string(),
        0.0 => "0".to_owned(),
        1e15.. | ..1e-4 => format!("{number:.3e}"),
        1000.0.. => format!("{number:.0}"),
        100.0.. => format!("{number:.1}"),
        10.0.. => format!("{number:.2}"),
        1.0.. => format!("{number:.3}"),
        _ => format!("{number:.4}"),
    }
}

/// Texts of the first column of a result.
pub(super) async fn first_column(context: &SessionContext, sql: &str) -> Result<Vec<String>> {
    let grid = query_table(context, "", sql, usize::MAX).await?;
    let rows = grid.map(|grid| grid.rows).unwrap_or_default().into_iter();
    Ok(rows
        .filter_map(|row| row.into_iter().next())
        .map(|(text, _)| text)
        .collect())
}

/// Single value of a result, as text.
pub(super) async fn single_value(context: &SessionContext, sql: &str) -> Result<String> {
    Ok(first_column(context, sql)
        .await?
        .into_iter()
        .next()
        .unwrap_or_default())
}

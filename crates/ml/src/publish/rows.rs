//! Sorted rows of a table or view.

use arrow::array::AsArray as _;
use arrow::datatypes::{DataType, Int64Type};
use datafusion::dataframe::DataFrame;
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder, Projection};
use datafusion::prelude::{Expr, SessionContext, col, lit};
use tsql_dialect::collect;
use tsql_error::{Error, Result};
use tsql_schema::column;
use tsql_session::{SessionOptions, open_session_with};
use tsql_store::Store;

use super::published_relations::PublishedRelation;

/// Default memory for sorting in bytes.
const MEMORY_BYTES: usize = 1 << 30;

/// Rows that are unpacked at a time. A TenSet configuration then takes 20 kB.
const BATCH_ROWS: usize = 2048;

/// Number of streams that are unpacked concurrently. Each has some batches in memory.
const AT_ONCE: usize = 4;

/// Creates a session for reading a whole store within this memory.
pub(super) async fn session(store: &Store, memory_bytes: Option<usize>) -> Result<SessionContext> {
    let options =
        SessionOptions::default().memory_limit_bytes(memory_bytes.unwrap_or(MEMORY_BYTES));
    let context = open_session_with(store, &options).await?;
    for setting in [
        format!("batch_size = {BATCH_ROWS}"),
        format!("target_partitions = {AT_ONCE}"),
    ] {
        let set = format!("SET datafusion.execution.{setting}");
        context.sql(&set).await.map_err(Error::Query)?;
    }
    Ok(context)
}

/// Returns the relations that have rows, with their row counts.
pub(super) async fn count_rows(context: &SessionContext) -> Result<Vec<(PublishedRelation, u64)>> {
    let mut counted = Vec::new();
    for shown in super::published_relations::published_relations()? {
        let batches = collect(context, &shown.count_sql()).await?;
        let mut rows = 0;
        for batch in &batches {
            let counts = column::numbers::<Int64Type>(batch, "rows")?;
            rows += counts.values().iter().sum::<i64>().cast_unsigned();
        }
        if rows > 0 {
            counted.push((shown, rows));
        }
    }
    Ok(counted)
}

/// Returns the partition values of each folder of a table. One empty entry if it is not partitioned.
pub(super) async fn list_folders(
    context: &SessionContext,
    shown: &PublishedRelation,
) -> Result<Vec<Vec<String>>> {
    if shown.partition.is_empty() {
        return Ok(vec![Vec::new()]);
    }
    let mut folders = Vec::new();
    for batch in collect(context, &shown.folders_sql()).await? {
        let columns = batch.columns().iter();
        let columns = columns.map(|column| arrow::compute::cast(column, &DataType::Utf8View));
        let columns: std::result::Result<Vec<_>, _> = columns.collect();
        let columns = columns.map_err(|error| Error::Query(error.into()))?;
        for row in 0..batch.num_rows() {
            let values = columns.iter();
            let values = values.map(|column| column.as_string_view().value(row).to_owned());
            folders.push(values.collect());
        }
    }
    Ok(folders)
}

/// Returns the rows of a folder as published.
pub(super) async fn folder_rows(
    context: &SessionContext,
    shown: &PublishedRelation,
    folder: &[String],
) -> Result<DataFrame> {
    let view = context.table_provider(shown.name.as_str()).await;
    let view = view.map_err(Error::Query)?;
    let packed = match view.get_logical_plan().as_deref() {
        Some(LogicalPlan::Projection(unpacking)) => {
            sort_before_unpacking(unpacking, shown, folder)?
        }
        _ => None,
    };
    let rows = match packed {
        Some(plan) => DataFrame::new(context.state(), plan),
        None => {
            let all = context.table(shown.name.as_str()).await;
            let own = folder_filter(shown, folder, |name| Some(column_by_name(name)));
            let rows = all.and_then(|all| all.filter(own.unwrap_or(lit(true))));
            rows.map_err(Error::Query)?
        }
    };
    let columns = shown.columns.iter().map(|column| {
        let expression = rows.parse_sql_expr(&column.sql)?;
        Ok(expression.alias(column.name.as_str()))
    });
    let columns: datafusion::common::Result<Vec<Expr>> = columns.collect();
    // The sort is the last step even for sorted rows. Otherwise streams are merged in any order.
    let order = shown
        .order
        .iter()
        .map(|name| column_by_name(name).sort(true, false));
    let plain = columns.and_then(|columns| rows.select(columns));
    plain
        .and_then(|plain| plain.sort(order.collect()))
        .map_err(Error::Query)
}

/// Returns the same rows, sorted before they are unpacked: packed values take a hundredth of the memory. `None` if the
/// view computes a sort column.
fn sort_before_unpacking(
    unpacking: &Projection,
    shown: &PublishedRelation,
    folder: &[String],
) -> Result<Option<LogicalPlan>> {
    let below = |name: &str| {
        unpacking
            .expr
            .iter()
            .find_map(|expression| match expression {
                Expr::Column(column) if column.name == name => Some(expression.clone()),
                Expr::Alias(alias)
                    if alias.name == name && matches!(*alias.expr, Expr::Column(_)) =>
                {
                    Some((*alias.expr).clone())
                }
                _ => None,
            })
    };
    let order: Option<Vec<_>> = shown
        .order
        .iter()
        .map(|name| Some(below(name)?.sort(true, false)))
        .collect();
    let Some(order) = order else {
        return Ok(None);
    };
    let mut plan = LogicalPlanBuilder::from((*unpacking.input).clone());
    if !folder.is_empty() {
        let Some(own) = folder_filter(shown, folder, below) else {
            return Ok(None);
        };
        plan = plan.filter(own).map_err(Error::Query)?;
    }
    let plan = plan
        .sort(order)
        .and_then(|sorted| sorted.project(unpacking.expr.clone()));
    plan.and_then(LogicalPlanBuilder::build)
        .map(Some)
        .map_err(Error::Query)
}

/// Returns the filter for the rows of a folder. `None` if there are no folders, or a partition column is missing.
fn folder_filter(
    shown: &PublishedRelation,
    folder: &[String],
    column: impl Fn(&str) -> Option<Expr>,
) -> Option<Expr> {
    let values = shown.partition.iter().zip(folder);
    let own = values.map(|(name, value)| Some(column(name)?.eq(lit(value.as_str()))));
    let own: Option<Vec<Expr>> = own.collect();
    own?.into_iter().reduce(Expr::and)
}

fn column_by_name(name: &str) -> Expr {
    col(datafusion::common::Column::from_name(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tsql_dataset::demo::create_demo;

    /// Packed values are small, so they are sorted before unpacking.
    #[tokio::test]
    async fn rows_are_sorted_before_they_are_unpacked() {
        let store = create_demo().await.unwrap();
        let context = session(&store, None).await.unwrap();
        let all = super::super::published_relations::published_relations().unwrap();
        for (name, unpacks) in [("records", "repeats_ns"), ("configurations", "open_sketch")] {
            let shown = all.iter().find(|shown| shown.name == name).unwrap();
            let folder = list_folders(&context, shown).await.unwrap().pop().unwrap();
            let frame = folder_rows(&context, shown, &folder).await.unwrap();
            let plan = frame.create_physical_plan().await.unwrap();
            let plan = datafusion::physical_plan::displayable(plan.as_ref())
                .indent(false)
                .to_string();
            let sorting = plan.find("FullSortExec").unwrap_or(plan.len());
            assert!(plan.find(unpacks).is_some_and(|at| at < sorting), "{plan}");
        }
    }
}

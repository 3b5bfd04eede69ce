//! The rows of a table or view in their order.

use arrow::array::AsArray as _;
use arrow::datatypes::{DataType, Int64Type};
use datafusion::dataframe::DataFrame;
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder, Projection};
use datafusion::prelude::{Expr, SessionContext, col, lit};

use super::shown::Shown;
use crate::column;
use crate::error::{Error, Result};
use crate::query::{SessionOptions, collect};
use crate::store::Store;

/// Memory that sorting may take unless something else is said, in bytes.
const MEMORY_BYTES: usize = 1 << 30;

/// Rows that are unpacked at a time: a configuration of TenSet is 20 kB then.
const BATCH_ROWS: usize = 2048;

/// Streams of rows that are unpacked beside each other; each has some batches in memory.
const AT_ONCE: usize = 4;

/// A session for reading all of a store within this memory.
pub(super) async fn session(store: &Store, memory_bytes: Option<usize>) -> Result<SessionContext> {
    let options =
        SessionOptions::default().memory_limit_bytes(memory_bytes.unwrap_or(MEMORY_BYTES));
    let context = store.session_with(&options).await?;
    for setting in [
        format!("batch_size = {BATCH_ROWS}"),
        format!("target_partitions = {AT_ONCE}"),
    ] {
        let set = format!("SET datafusion.execution.{setting}");
        context.sql(&set).await.map_err(Error::Query)?;
    }
    Ok(context)
}

/// What has rows, and how many.
pub(super) async fn counted(context: &SessionContext) -> Result<Vec<(Shown, u64)>> {
    let mut counted = Vec::new();
    for shown in super::shown::all()? {
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

/// The values of the folders that a table has: one without values where it is not partitioned.
pub(super) async fn folders(context: &SessionContext, shown: &Shown) -> Result<Vec<Vec<String>>> {
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

/// The rows of a folder as they are published.
pub(super) async fn rows(
    context: &SessionContext,
    shown: &Shown,
    folder: &[String],
) -> Result<DataFrame> {
    let view = context.table_provider(shown.name.as_str()).await;
    let view = view.map_err(Error::Query)?;
    let packed = match view.get_logical_plan().as_deref() {
        Some(LogicalPlan::Projection(unpacking)) => unpacked_last(unpacking, shown, folder)?,
        _ => None,
    };
    let rows = match packed {
        Some(plan) => DataFrame::new(context.state(), plan),
        None => {
            let all = context.table(shown.name.as_str()).await;
            let own = of_folder(shown, folder, |name| Some(named(name)));
            let rows = all.and_then(|all| all.filter(own.unwrap_or(lit(true))));
            rows.map_err(Error::Query)?
        }
    };
    let columns = shown.columns.iter().map(|column| {
        let expression = rows.parse_sql_expr(&column.sql)?;
        Ok(expression.alias(column.name.as_str()))
    });
    let columns: datafusion::common::Result<Vec<Expr>> = columns.collect();
    // Said last, and of what is sorted already, too: streams of rows are merged in no order otherwise.
    let order = shown.order.iter().map(|name| named(name).sort(true, false));
    let plain = columns.and_then(|columns| rows.select(columns));
    plain
        .and_then(|plain| plain.sort(order.collect()))
        .map_err(Error::Query)
}

/// The same rows, sorted before they are unpacked: what is packed is a hundredth of what it is then. `None` where the
/// view computes what it is to be sorted by.
fn unpacked_last(
    unpacking: &Projection,
    shown: &Shown,
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
        let Some(own) = of_folder(shown, folder, below) else {
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

/// What tells the rows of a folder; `None` where there are no folders, or one is not told by a column.
fn of_folder(
    shown: &Shown,
    folder: &[String],
    column: impl Fn(&str) -> Option<Expr>,
) -> Option<Expr> {
    let values = shown.partition.iter().zip(folder);
    let own = values.map(|(name, value)| Some(column(name)?.eq(lit(value.as_str()))));
    let own: Option<Vec<Expr>> = own.collect();
    own?.into_iter().reduce(Expr::and)
}

fn named(name: &str) -> Expr {
    col(datafusion::common::Column::from_name(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is packed is small, so it is what is sorted.
    #[tokio::test]
    async fn rows_are_sorted_before_they_are_unpacked() {
        let store = Store::demo().await.unwrap();
        let context = session(&store, None).await.unwrap();
        let all = super::super::shown::all().unwrap();
        for (name, unpacks) in [("records", "repeats_ns"), ("configurations", "open_sketch")] {
            let shown = all.iter().find(|shown| shown.name == name).unwrap();
            let folder = folders(&context, shown).await.unwrap().pop().unwrap();
            let frame = rows(&context, shown, &folder).await.unwrap();
            let plan = frame.create_physical_plan().await.unwrap();
            let plan = datafusion::physical_plan::displayable(plan.as_ref())
                .indent(false)
                .to_string();
            let sorting = plan.find("FullSortExec").unwrap_or(plan.len());
            assert!(plan.find(unpacks).is_some_and(|at| at < sorting), "{plan}");
        }
    }
}

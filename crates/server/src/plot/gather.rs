//! Collects the rows of a query for a chart.

use arrow::array::UInt32Array;
use arrow::datatypes::SchemaRef;
use datafusion::common::Column as Named;
use datafusion::dataframe::DataFrame;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::logical_expr::Expr;
use futures::StreamExt as _;
use tsql_error::{Error, Result};
use tsql_plot::{Chart, ColumnKind, PlotSpec, PlotTable, Roles, RowSampler};
use tsql_session::column_units;

use super::columns::{append_rows, column_kind, empty_column, take_rows};

fn plot_error(reason: String) -> Error {
    Error::Argument {
        name: "plot",
        reason,
    }
}

fn find_roles(schema: &SchemaRef, spec: &PlotSpec) -> Result<Roles> {
    let columns = schema.fields().iter();
    let columns: Vec<(&str, ColumnKind)> = columns
        .map(|field| (field.name().as_str(), column_kind(field)))
        .collect();
    Roles::find(spec, &columns).map_err(plot_error)
}

/// Indices of the columns that a chart of this schema needs; all columns if names are duplicate.
pub(crate) fn column_indices(schema: &SchemaRef, spec: &PlotSpec) -> Result<Vec<usize>> {
    let roles = find_roles(schema, spec)?;
    let mut names: Vec<&String> = schema.fields().iter().map(|field| field.name()).collect();
    names.sort_unstable();
    if names.windows(2).any(|pair| pair.first() == pair.last()) {
        return Ok((0..schema.fields().len()).collect());
    }
    Ok(roles.columns())
}

/// Projects a query to the columns of the chart, so that others are not read. Also returns their units, as far as the
/// schema has them.
///
/// # Errors
/// [`Error::Argument`] if the result lacks columns for the chart.
pub fn project_columns(
    frame: DataFrame,
    spec: &PlotSpec,
) -> Result<(DataFrame, Vec<Option<String>>)> {
    let all = column_units(frame.logical_plan());
    let schema = frame.schema();
    let places = column_indices(schema.inner(), spec)?;
    // With duplicate names no column is dropped.
    if places.iter().copied().eq(0..schema.fields().len()) {
        return Ok((frame, all));
    }
    let column = |place: &usize| Expr::Column(Named::from(schema.qualified_field(*place)));
    let needed: Vec<Expr> = places.iter().map(column).collect();
    let units = places
        .iter()
        .map(|place| all.get(*place).cloned().flatten());
    let units = units.collect();
    Ok((frame.select(needed).map_err(Error::Query)?, units))
}

/// Draws a stream of rows. `units` are units of the columns that are not in the schema of the rows.
///
/// # Errors
/// Errors of the stream; [`Error::Argument`] if it lacks columns for the chart.
pub async fn draw_stream(
    mut rows: SendableRecordBatchStream,
    spec: &PlotSpec,
    units: &[Option<String>],
) -> Result<Chart> {
    let schema = rows.schema();
    let roles = find_roles(&schema, spec)?;
    let places = roles.columns();
    let mut gather = RowSampler::new(&roles);
    let mut table = PlotTable::default();
    for place in &places {
        if let Some(field) = schema.fields().get(*place) {
            let mut column = empty_column(field);
            column.unit = column.unit.or_else(|| units.get(*place).cloned().flatten());
            table.columns.push(column);
        }
    }
    while let Some(batch) = rows.next().await {
        let batch = batch.map_err(Error::Query)?;
        let chosen = UInt32Array::from(gather.choose(batch.num_rows()));
        if chosen.is_empty() {
            continue;
        }
        for (column, place) in table.columns.iter_mut().zip(&places) {
            if let Some(array) = batch.columns().get(*place) {
                append_rows(column, &take_rows(array, &chosen)?)?;
            }
        }
        gather.trim(&mut table).map_err(plot_error)?;
    }
    let drawn = gather.roles();
    gather.finish(&mut table).map_err(plot_error)?;
    Ok(Chart::from_gathered(table, drawn, spec))
}

#[cfg(test)]
mod tests {
    use tsql_plot::{Appearance, ChartKind};
    use tsql_session::open_session;

    use super::super::chart;
    use super::*;
    use tsql_session::run_sql;
    use tsql_store::Store;

    async fn draw_sql(sql: &str, spec: &str) -> Result<Chart> {
        let store = Store::create("memory:").await?;
        let context = open_session(&store).await?;
        chart(run_sql(&context, sql, &[]).await?, &spec.parse().unwrap()).await
    }

    #[tokio::test]
    async fn results_become_charts() {
        let sql = "SELECT * FROM (VALUES ('b', 2.0, 7), ('a', 4.0, 8), ('b', 6.0, 9)) AS t(platform, runtime_ns, unused)";
        let bars = draw_sql(sql, "kind=bar x=platform y=runtime_ns")
            .await
            .unwrap();
        // In the order of the result, with the mean of equal names: (2 + 6) / 2.
        let svg = bars.svg(Appearance::default());
        assert!(
            svg.contains("data-names=\"[&quot;b&quot;,&quot;a&quot;]\" data-y=\"[4,4]\""),
            "{svg}"
        );
        assert!(svg.contains("means of 3 rows") && svg.contains(">runtime (ns)<"));
        let error = draw_sql(sql, "kind=histogram x=platform")
            .await
            .unwrap_err();
        assert!(
            error.to_string().contains("column `platform` is text"),
            "{error}"
        );
        let error = draw_sql(sql, "x=missing").await.unwrap_err();
        assert!(error.to_string().contains("no column `missing`"), "{error}");
    }

    #[tokio::test]
    async fn long_results_are_sampled_and_report_it() {
        let chart = draw_sql(
            "SELECT value AS v FROM generate_series(1, 1000000)",
            "kind=ecdf x=v",
        )
        .await
        .unwrap();
        assert_eq!(chart.kind(), ChartKind::Ecdf);
        assert!(
            chart.rows() > 50_000 && chart.rows() <= 1 << 17,
            "{}",
            chart.rows()
        );
        let svg = chart.svg(Appearance::default());
        assert!(svg.contains("of 1\u{202f}000\u{202f}000 rows"));
        let bars = draw_sql(
            "SELECT value % 3 AS k FROM generate_series(1, 1000000)",
            "kind=bar x=k",
        )
        .await
        .unwrap();
        let svg = bars.svg(Appearance::default());
        // 1 to 1,000,000: the remainder 1 occurs 333,334 times, 0 and 2 once less.
        assert!(
            svg.contains("333334") && svg.matches("333333").count() >= 2,
            "{svg}"
        );
    }

    #[tokio::test]
    async fn no_rows_and_duplicate_names_have_charts() {
        let none = draw_sql("SELECT 1.5 AS v WHERE false", "").await.unwrap();
        assert!(
            none.svg(Appearance::default())
                .contains("the result has no rows")
        );
        let error = draw_sql("SELECT 1 AS v, 2 AS w UNION SELECT 3, NULL", "kind=line")
            .await
            .unwrap();
        assert!(
            error
                .svg(Appearance::default())
                .contains("1 row without a number is left out")
        );
    }
}

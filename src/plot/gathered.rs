//! The rows of a query, as many as a picture can use.

use arrow::array::UInt32Array;
use arrow::datatypes::SchemaRef;
use datafusion::common::Column as Named;
use datafusion::dataframe::DataFrame;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::logical_expr::Expr;
use futures::StreamExt as _;
use tsql_plot::{Chart, Gather, Roles, Spec, Table, What};

use super::columns::{append, empty, taken, what};
use crate::error::{Error, Result};
use crate::query::units;

fn refused(reason: String) -> Error {
    Error::Argument {
        name: "plot",
        reason,
    }
}

fn roles(schema: &SchemaRef, spec: &Spec) -> Result<Roles> {
    let columns = schema.fields().iter();
    let columns: Vec<(&str, What)> = columns
        .map(|field| (field.name().as_str(), what(field)))
        .collect();
    Roles::find(spec, &columns).map_err(refused)
}

/// The columns that are drawn of rows of this schema; all of them where some have one name.
pub(crate) fn places(schema: &SchemaRef, spec: &Spec) -> Result<Vec<usize>> {
    let roles = roles(schema, spec)?;
    let mut names: Vec<&String> = schema.fields().iter().map(|field| field.name()).collect();
    names.sort_unstable();
    if names.windows(2).any(|pair| pair.first() == pair.last()) {
        return Ok((0..schema.fields().len()).collect());
    }
    Ok(roles.columns())
}

/// The query without the columns that are not drawn, so that they are not read; and the units of those that are, as far as the
/// schema knows where they come from.
///
/// # Errors
/// [`Error::Argument`] where the answer has not the columns for the picture.
pub fn narrowed(frame: DataFrame, spec: &Spec) -> Result<(DataFrame, Vec<Option<String>>)> {
    let all = units(frame.logical_plan());
    let schema = frame.schema();
    let places = places(schema.inner(), spec)?;
    // Names that are there twice stay as they are.
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

/// Draws rows as they come; `units` are those of their columns, where they are known beside the schema of the rows.
///
/// # Errors
/// Those of the rows; [`Error::Argument`] where they have not the columns for the picture.
pub async fn gathered(
    mut rows: SendableRecordBatchStream,
    spec: &Spec,
    units: &[Option<String>],
) -> Result<Chart> {
    let schema = rows.schema();
    let roles = roles(&schema, spec)?;
    let places = roles.columns();
    let mut gather = Gather::new(&roles);
    let mut table = Table::default();
    for place in &places {
        if let Some(field) = schema.fields().get(*place) {
            let mut column = empty(field);
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
                append(column, &taken(array, &chosen)?)?;
            }
        }
        gather.trim(&mut table).map_err(refused)?;
    }
    let drawn = gather.roles();
    gather.finish(&mut table).map_err(refused)?;
    Ok(Chart::of(table, drawn, spec))
}

#[cfg(test)]
mod tests {
    use tsql_plot::{Kind, Look};

    use super::super::chart;
    use super::*;
    use crate::query::ask;
    use crate::store::Store;

    async fn drawn(sql: &str, spec: &str) -> Result<Chart> {
        let store = Store::create("memory:").await?;
        let context = store.session().await?;
        chart(ask(&context, sql, &[]).await?, &spec.parse().unwrap()).await
    }

    #[tokio::test]
    async fn answers_become_pictures() {
        let sql = "SELECT * FROM (VALUES ('b', 2.0, 7), ('a', 4.0, 8), ('b', 6.0, 9)) AS t(platform, runtime_ns, unused)";
        let bars = drawn(sql, "kind=bar x=platform y=runtime_ns")
            .await
            .unwrap();
        // In the order of the answer, means of those of one name: (2 + 6) / 2.
        let svg = bars.svg(Look::default());
        assert!(
            svg.contains("data-names=\"[&quot;b&quot;,&quot;a&quot;]\" data-y=\"[4,4]\""),
            "{svg}"
        );
        assert!(svg.contains("means of 3 rows") && svg.contains(">runtime (ns)<"));
        let error = drawn(sql, "kind=histogram x=platform").await.unwrap_err();
        assert!(
            error.to_string().contains("column `platform` is text"),
            "{error}"
        );
        let error = drawn(sql, "x=missing").await.unwrap_err();
        assert!(error.to_string().contains("no column `missing`"), "{error}");
    }

    #[tokio::test]
    async fn long_answers_are_sampled_and_say_so() {
        let chart = drawn(
            "SELECT value AS v FROM generate_series(1, 1000000)",
            "kind=ecdf x=v",
        )
        .await
        .unwrap();
        assert_eq!(chart.kind(), Kind::Ecdf);
        assert!(
            chart.rows() > 50_000 && chart.rows() <= 1 << 17,
            "{}",
            chart.rows()
        );
        let svg = chart.svg(Look::default());
        assert!(svg.contains("of 1\u{202f}000\u{202f}000 rows"));
        let bars = drawn(
            "SELECT value % 3 AS k FROM generate_series(1, 1000000)",
            "kind=bar x=k",
        )
        .await
        .unwrap();
        let svg = bars.svg(Look::default());
        // 1 to 1,000,000: 333,334 leave 1, and as many less one leave 0 and 2.
        assert!(
            svg.contains("333334") && svg.matches("333333").count() >= 2,
            "{svg}"
        );
    }

    #[tokio::test]
    async fn no_rows_and_one_name_twice_are_drawn() {
        let none = drawn("SELECT 1.5 AS v WHERE false", "").await.unwrap();
        assert!(none.svg(Look::default()).contains("the answer has no rows"));
        let error = drawn("SELECT 1 AS v, 2 AS w UNION SELECT 3, NULL", "kind=line")
            .await
            .unwrap();
        assert!(
            error
                .svg(Look::default())
                .contains("1 row without a number is left out")
        );
    }
}

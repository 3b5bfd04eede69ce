//! Reason why no configurations of two sides are pairs.

use datafusion::dataframe::DataFrame;
use datafusion::logical_expr::JoinType;
use datafusion::prelude::SessionContext;
use tsql_dialect::plan_query;
use tsql_error::{Error, Result};
use tsql_schema::column;

use crate::compare::comparison::Comparison;

/// Columns of `configurations` that make equal steps of a graph different configurations.
const BUILD_COLUMNS: [&str; 2] = ["program", "build"];

/// Checks that there are pairs to compare. Each side is a session and an SQL predicate over the columns of `records`.
///
/// # Errors
/// [`Error::Empty`] with the reason if there are none.
pub(in crate::compare) async fn check_not_empty(
    found: &Comparison,
    sides: [(&SessionContext, &str); 2],
) -> Result<()> {
    let (a, b) = (&found.a.name, &found.b.name);
    if found.all.pairs + found.newly_failing + found.newly_working + found.failing > 0 {
        return Ok(());
    }
    if found.same_records > 0 {
        return Err(Error::Empty(format!(
            "the {} configurations of `{a}` and `{b}` have the same records\n\
             hint: a comparison needs two different records of a configuration",
            found.same_records
        )));
    }
    if let Some(difference) = build_difference(sides).await? {
        return Err(Error::Empty(format!(
            "`{a}` and `{b}` have the same steps, but not the same {difference}\n\
             hint: `tsql measure pair` measures two builds in turn and compares them"
        )));
    }
    let of_platform = if found.is_by_platform {
        ", on the same platform"
    } else {
        ""
    };
    Err(Error::Empty(format!(
        "`{a}` and `{b}` have no configuration of a graph in common{of_platform}\nhint: {} and {} configurations were measured",
        found.only_a, found.only_b
    )))
}

/// Returns the difference of two configurations with the same graph and steps: `build (`cc -O1` and `cc -O3`)`.
async fn build_difference(sides: [(&SessionContext, &str); 2]) -> Result<Option<String>> {
    let [(a, in_a), (b, in_b)] = sides;
    let (a, b) = (
        configurations(a, in_a, "a").await?,
        configurations(b, in_b, "b").await?,
    );
    let (of_a, of_b) = (["a_graph_id", "a_steps"], ["b_graph_id", "b_steps"]);
    let joined = a.join(b, JoinType::Inner, &of_a, &of_b, None);
    let first = joined.and_then(|joined| joined.limit(0, Some(1)));
    let batches = first.map_err(Error::Query)?.collect().await;
    let batches = batches.map_err(Error::Query)?;
    let Some(batch) = batches.iter().find(|batch| batch.num_rows() > 0) else {
        return Ok(None);
    };
    let mut differences = Vec::new();
    for name in BUILD_COLUMNS {
        let value = |side: &str| {
            let values = column::text(batch, &format!("{side}_{name}"))?;
            Ok::<_, Error>(column::text_at(values, 0).unwrap_or("NULL").to_owned())
        };
        let (a, b) = (value("a")?, value("b")?);
        if a != b {
            differences.push(format!("{name} (`{a}` and `{b}`)"));
        }
    }
    Ok((!differences.is_empty()).then(|| differences.join(" and ")))
}

/// Selects the measured configurations of a side that belong to a program or a build.
async fn configurations(
    context: &SessionContext,
    predicate: &str,
    side: &str,
) -> Result<DataFrame> {
    let builds =
        BUILD_COLUMNS.map(|name| format!("arrow_cast({name}, 'Utf8View') AS {side}_{name}"));
    let is_built = BUILD_COLUMNS.map(|name| format!("{name} IS NOT NULL"));
    let sql = format!(
        "SELECT graph_id AS {side}_graph_id, steps AS {side}_steps, {} FROM configurations WHERE ({}) AND config_id IN \
         (SELECT config_id FROM records WHERE ({predicate}) AND (error_no <> 0 OR runtime_ns > 0))",
        builds.join(", "),
        is_built.join(" OR ")
    );
    plan_query(context, &sql).await
}

//! `SUMMARIZE t`: a row for each column of a query, with DuckDB's columns.
//!
//! `count` is the number of all rows, as in DuckDB, and `null_percentage` the percentage of NULLs. A single aggregation
//! computes all statistics of all columns. The result is a list of structs, which is then unnested. Minimum, maximum,
//! mean, standard deviation, count and NULLs are exact. Distinct values are counted by HyperLogLog and quartiles found
//! by a t-digest, as in DuckDB, so memory does not grow with the number of rows.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field};
use datafusion::common::{Column, Result, ScalarValue, plan_datafusion_err};
use datafusion::functions::expr_fn::{get_field, named_struct};
use datafusion::functions_aggregate::expr_fn::{avg, count, max, min, stddev};
use datafusion::functions_nested::expr_fn::make_array;
use datafusion::logical_expr::planner::ContextProvider;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, cast, lit, when};

/// Names and types of the result columns, in order.
const COLUMNS: [(&str, DataType); 12] = [
    ("column_name", DataType::Utf8),
    ("column_type", DataType::Utf8),
    ("min", DataType::Utf8),
    ("max", DataType::Utf8),
    ("approx_unique", DataType::Int64),
    ("avg", DataType::Float64),
    ("std", DataType::Float64),
    ("q25", DataType::Float64),
    ("q50", DataType::Float64),
    ("q75", DataType::Float64),
    ("count", DataType::Int64),
    ("null_percentage", DataType::Float64),
];

/// Name of the column of structs.
const ROW: &str = "row";

/// Plans the summary of the columns of `of`.
pub(super) fn summarize_plan(
    of: LogicalPlan,
    functions: &dyn ContextProvider,
) -> Result<LogicalPlan> {
    let columns: Vec<(Column, Arc<Field>)> = of
        .schema()
        .iter()
        .map(|(qualifier, field)| (Column::from((qualifier, field)), Arc::clone(field)))
        .collect();
    let mut aggregates = vec![count(lit(1)).alias("rows")];
    let mut rows = Vec::new();
    for (place, (column, field)) in columns.into_iter().enumerate() {
        let said = column_summary(&Expr::Column(column), field.data_type(), functions)?;
        let named = said.into_iter().zip([
            "min",
            "max",
            "approx_unique",
            "avg",
            "std",
            "q25",
            "q50",
            "q75",
            "count",
        ]);
        let mut row = vec![lit("column_name"), lit(field.name().as_str())];
        row.extend([lit("column_type"), lit(field.data_type().to_string())]);
        for (aggregate, name) in named {
            let alias = format!("{place} {name}");
            let (_, of) = COLUMNS
                .iter()
                .find(|(said, _)| *said == name)
                .ok_or_else(|| plan_datafusion_err!("{name}"))?;
            row.push(lit(name));
            row.push(cast(
                match aggregate {
                    Some(aggregate) => {
                        aggregates.push(aggregate.alias(&alias));
                        let all_rows = name == "count";
                        Expr::Column(Column::from_name(if all_rows { "rows" } else { &alias }))
                    }
                    None => lit(ScalarValue::Null),
                },
                of.clone(),
            ));
        }
        let counted = Expr::Column(Column::from_name(format!("{place} count")));
        row.extend([lit("null_percentage"), null_percentage(counted)?]);
        rows.push(named_struct(row));
    }
    let summary = LogicalPlanBuilder::from(of)
        .aggregate(Vec::<Expr>::new(), aggregates)?
        .project([make_array(rows).alias(ROW)])?
        .unnest_column(ROW)?;
    let row = || Expr::Column(Column::from_name(ROW));
    let said = COLUMNS
        .iter()
        .map(|(name, _)| get_field(row(), *name).alias(*name));
    summary.project(said.collect::<Vec<_>>())?.build()
}

/// Percentage of NULLs.
fn null_percentage(counted: Expr) -> Result<Expr> {
    let rows = || cast(Expr::Column(Column::from_name("rows")), DataType::Float64);
    let part = (rows() - cast(counted, DataType::Float64)) * lit(100.0) / rows();
    when(rows().gt(lit(0.0)), part).end()
}

/// Minimum, maximum, distinct values, mean, standard deviation, quartiles and count of a column; `None` if undefined
/// for its type.
fn column_summary(
    column: &Expr,
    of: &DataType,
    functions: &dyn ContextProvider,
) -> Result<[Option<Expr>; 9]> {
    let own = || column.clone();
    let is_number = of.is_numeric();
    let number = || cast(own(), DataType::Float64);
    let quantile = |share: f64| -> Result<Option<Expr>> {
        let digest = find_aggregate(functions, "approx_percentile_cont")?;
        let call = || digest.call(vec![number(), lit(share)]);
        Ok(is_number.then(call))
    };
    let distinct = find_aggregate(functions, "approx_distinct")?;
    // The function supports neither floats nor dictionaries.
    let counted = match of {
        DataType::Float16 | DataType::Float32 | DataType::Float64 | DataType::Dictionary(..) => {
            cast(own(), DataType::Utf8)
        }
        _ => own(),
    };
    let shown = is_number || of.is_temporal() || of.is_string() || *of == DataType::Boolean;
    Ok([
        shown.then(|| min(own())),
        shown.then(|| max(own())),
        Some(distinct.call(vec![counted])),
        is_number.then(|| avg(number())),
        is_number.then(|| stddev(number())),
        quantile(0.25)?,
        quantile(0.5)?,
        quantile(0.75)?,
        Some(count(own())),
    ])
}

fn find_aggregate(
    functions: &dyn ContextProvider,
    name: &str,
) -> Result<Arc<datafusion::logical_expr::AggregateUDF>> {
    let found = functions.get_aggregate_meta(name);
    found.ok_or_else(|| plan_datafusion_err!("no function `{name}`"))
}

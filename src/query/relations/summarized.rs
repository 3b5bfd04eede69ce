//! `SUMMARIZE t`: a row for each column of a query, with DuckDB's columns.
//!
//! `count` is that of all rows, as DuckDB has it; how many of them have no value `null_percentage` says.
//! One pass: an aggregate of all that is asked of all columns, then a list of as many structures, unnested. Exact are
//! the extremes, the mean, the deviation, the count and the NULLs; distinct values are counted by HyperLogLog, and
//! quartiles found by a t-digest, as DuckDB does, so that any number of rows needs little memory.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field};
use datafusion::common::{Column, Result, ScalarValue, plan_datafusion_err};
use datafusion::functions::expr_fn::{get_field, named_struct};
use datafusion::functions_aggregate::expr_fn::{avg, count, max, min, stddev};
use datafusion::functions_nested::expr_fn::make_array;
use datafusion::logical_expr::planner::ContextProvider;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, cast, lit, when};

/// What is said of a column, in order, and in which type.
const SAID: [(&str, DataType); 12] = [
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

/// The column of the structures.
const ROW: &str = "row";

/// A summary of what `of` gives.
pub(super) fn plan(of: LogicalPlan, functions: &dyn ContextProvider) -> Result<LogicalPlan> {
    let columns: Vec<(Column, Arc<Field>)> = of
        .schema()
        .iter()
        .map(|(qualifier, field)| (Column::from((qualifier, field)), Arc::clone(field)))
        .collect();
    let mut aggregates = vec![count(lit(1)).alias("rows")];
    let mut rows = Vec::new();
    for (place, (column, field)) in columns.into_iter().enumerate() {
        let said = of_column(&Expr::Column(column), field.data_type(), functions)?;
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
            let (_, of) = SAID
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
        row.extend([lit("null_percentage"), missing(counted)?]);
        rows.push(named_struct(row));
    }
    let summary = LogicalPlanBuilder::from(of)
        .aggregate(Vec::<Expr>::new(), aggregates)?
        .project([make_array(rows).alias(ROW)])?
        .unnest_column(ROW)?;
    let row = || Expr::Column(Column::from_name(ROW));
    let said = SAID
        .iter()
        .map(|(name, _)| get_field(row(), *name).alias(*name));
    summary.project(said.collect::<Vec<_>>())?.build()
}

/// The part of the rows that have no value, of 100.
fn missing(counted: Expr) -> Result<Expr> {
    let rows = || cast(Expr::Column(Column::from_name("rows")), DataType::Float64);
    let part = (rows() - cast(counted, DataType::Float64)) * lit(100.0) / rows();
    when(rows().gt(lit(0.0)), part).end()
}

/// Extremes, distinct values, mean, deviation, quartiles and count of a column; `None` where its type has none.
fn of_column(
    column: &Expr,
    of: &DataType,
    functions: &dyn ContextProvider,
) -> Result<[Option<Expr>; 9]> {
    let own = || column.clone();
    let is_number = of.is_numeric();
    let number = || cast(own(), DataType::Float64);
    let quantile = |share: f64| -> Result<Option<Expr>> {
        let digest = aggregate(functions, "approx_percentile_cont")?;
        let call = || digest.call(vec![number(), lit(share)]);
        Ok(is_number.then(call))
    };
    let distinct = aggregate(functions, "approx_distinct")?;
    // It takes neither floats nor dictionaries.
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

fn aggregate(
    functions: &dyn ContextProvider,
    name: &str,
) -> Result<Arc<datafusion::logical_expr::AggregateUDF>> {
    let found = functions.get_aggregate_meta(name);
    found.ok_or_else(|| plan_datafusion_err!("no function `{name}`"))
}

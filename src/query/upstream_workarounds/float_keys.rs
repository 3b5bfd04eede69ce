//! Both zeros are one key of a window, a sort or a distinct aggregate, and all NaN are one, which is greater than any number.
//!
//! | SQL | DataFusion 55 |
//! |---|---|
//! | `ORDER BY x`, `max(x)` | NaN with its sign bit set, as x86 makes it, comes before all numbers |
//! | `PARTITION BY x`, `rank() OVER (ORDER BY x)` | -0.0 and 0.0 are two partitions, two ranks |
//! | `row_number() OVER (ORDER BY x, y)`, `ORDER BY x, y` | rows of -0.0 come before those of 0.0, whatever y is |
//! | `count(DISTINCT x), count(DISTINCT y)` | -0.0 and 0.0 are two values |
//!
//! Here such keys are compared by `canonical_float(x)`, after all rules that look for columns in them. Columns of a store are left
//! alone, so that windows along the order of its files need no sort: runtimes are greater than zero. Where zeros do not matter, so
//! is what is no NaN ([`may_make_nan`]). Groups know both zeros; for joins see `float_comparisons`.
//!
//! Upstream: not filed, docs/dev/upstream/float_keys.md

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::expr::{ScalarFunction, WindowFunction};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{
    Expr, ExprSchemable as _, LogicalPlan, WindowFrameUnits, WindowFunctionDefinition,
};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

use super::float_origin::{is_stored, may_make_nan};
use crate::query::functions::{CANONICAL_FLOAT, has_floats};

/// Window functions that do not tell rows of equal rank apart from others.
const WITHOUT_RANKS: [&str; 7] = [
    "first_value",
    "lag",
    "last_value",
    "lead",
    "nth_value",
    "ntile",
    "row_number",
];

/// Aggregates that compare their arguments.
const COMPARING: [&str; 11] = [
    "approx_median",
    "approx_percentile_cont",
    "arg_max",
    "arg_min",
    "max",
    "max_by",
    "median",
    "min",
    "min_by",
    "percentile_cont",
    "quantile_cont",
];

/// The rule that does so.
#[derive(Debug)]
pub(super) struct FloatKeys;

impl OptimizerRule for FloatKeys {
    fn name(&self) -> &'static str {
        "float_keys"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        match plan {
            LogicalPlan::Window(window) => {
                let input = Arc::clone(&window.input);
                let has_ranks = window.window_expr.iter().any(has_ranks);
                rewritten(LogicalPlan::Window(window), |part| match part {
                    Expr::WindowFunction(call) => in_window(call, &input, has_ranks),
                    _ => false,
                })
            }
            LogicalPlan::Aggregate(aggregate) => {
                let input = Arc::clone(&aggregate.input);
                rewritten(LogicalPlan::Aggregate(aggregate), |part| match part {
                    Expr::AggregateFunction(call) => {
                        let params = &mut call.params;
                        let order = params.order_by.iter_mut().map(|by| &mut by.expr);
                        let order = canonical_nan(order, &input);
                        let args = params.args.iter_mut();
                        let args = match params.distinct {
                            true => canonical(args, &input),
                            false if COMPARING.contains(&call.func.name()) => {
                                canonical_nan(args, &input)
                            }
                            false => false,
                        };
                        order || args
                    }
                    // Groups know both zeros.
                    key => canonical_nan(std::iter::once(key), &input),
                })
            }
            LogicalPlan::Sort(mut sort) => {
                // Which of rows with equal keys is first may be either.
                let last = sort.expr.len().saturating_sub(1);
                let keys = sort.expr.iter_mut().take(last).map(|by| &mut by.expr);
                let others = canonical(keys, &sort.input);
                let keys = sort.expr.iter_mut().map(|by| &mut by.expr);
                let is_changed = canonical_nan(keys, &sort.input) || others;
                let sort = LogicalPlan::Sort(sort);
                Ok(Transformed::new_transformed(sort, is_changed))
            }
            plan => Ok(Transformed::no(plan)),
        }
    }
}

/// The plan with its expressions changed, by the names that they had.
fn rewritten(
    plan: LogicalPlan,
    mut change: impl FnMut(&mut Expr) -> bool,
) -> Result<Transformed<LogicalPlan>> {
    let names = NamePreserver::new_for_projection();
    plan.map_expressions(|mut expr| {
        let name = names.save(&expr);
        let is_changed = change(unaliased(&mut expr));
        Ok(Transformed::new_transformed(
            if is_changed { name.restore(expr) } else { expr },
            is_changed,
        ))
    })
}

fn unaliased(expr: &mut Expr) -> &mut Expr {
    match expr {
        Expr::Alias(alias) => unaliased(&mut alias.expr),
        other => other,
    }
}

fn in_window(call: &mut WindowFunction, input: &LogicalPlan, has_ranks: bool) -> bool {
    let is_comparing = match &call.fun {
        WindowFunctionDefinition::AggregateUDF(function) => COMPARING.contains(&function.name()),
        WindowFunctionDefinition::WindowUDF(_) => false,
    };
    let params = &mut call.params;
    let args = match params.distinct {
        true => canonical(params.args.iter_mut(), input),
        false => is_comparing && canonical_nan(params.args.iter_mut(), input),
    };
    let parts = canonical(params.partition_by.iter_mut(), input);
    // Which of equal rows is first may be either, unless another key follows.
    let last = params.order_by.len().saturating_sub(1);
    let order = params.order_by.iter_mut().enumerate();
    let order = order.filter(|(place, _)| has_ranks || *place < last);
    let order = canonical(order.map(|(_, by)| &mut by.expr), input);
    let keys = params.order_by.iter_mut().map(|by| &mut by.expr);
    let order = canonical_nan(keys, input) || order;
    args || parts || order
}

/// Whether it matters to a window function which rows are of equal rank.
fn has_ranks(expr: &Expr) -> bool {
    match expr {
        Expr::Alias(alias) => has_ranks(&alias.expr),
        Expr::WindowFunction(call) => match &call.fun {
            WindowFunctionDefinition::WindowUDF(function)
                if WITHOUT_RANKS.contains(&function.name()) =>
            {
                call.params.window_frame.units == WindowFrameUnits::Groups
            }
            WindowFunctionDefinition::WindowUDF(_) => true,
            WindowFunctionDefinition::AggregateUDF(_) => {
                call.params.window_frame.units != WindowFrameUnits::Rows
            }
        },
        _ => true,
    }
}

/// Wraps the keys that may have values of several bit patterns.
fn canonical<'a>(keys: impl Iterator<Item = &'a mut Expr>, input: &LogicalPlan) -> bool {
    wrapped(keys, input, |key| !is_stored(key, &[input]))
}

/// Wraps the keys that may be a NaN with its sign bit set.
fn canonical_nan<'a>(keys: impl Iterator<Item = &'a mut Expr>, input: &LogicalPlan) -> bool {
    wrapped(keys, input, |key| may_make_nan(key, &[input]))
}

fn wrapped<'a>(
    keys: impl Iterator<Item = &'a mut Expr>,
    input: &LogicalPlan,
    is_wrapped: impl Fn(&Expr) -> bool,
) -> bool {
    let mut is_changed = false;
    for key in keys {
        // A parameter of a prepared statement may have no type yet.
        let kind = key.get_type(input.schema());
        if kind.is_ok_and(|kind| has_floats(&kind)) && !is_canonical(key) && is_wrapped(key) {
            wrap(key);
            is_changed = true;
        }
    }
    is_changed
}

/// Has values compared by `canonical_float`.
pub(super) fn wrap(value: &mut Expr) {
    let function = Arc::clone(&CANONICAL_FLOAT);
    let args = vec![std::mem::take(value)];
    *value = Expr::ScalarFunction(ScalarFunction::new_udf(function, args));
}

fn is_canonical(key: &Expr) -> bool {
    match key {
        Expr::Alias(alias) => is_canonical(&alias.expr),
        Expr::ScalarFunction(call) => call.name() == CANONICAL_FLOAT.name(),
        Expr::Literal(..) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use arrow::util::pretty::pretty_format_batches;

    use crate::query::collect;
    use crate::query::engine::engine;

    /// Expected values are DuckDB's.
    #[tokio::test]
    async fn zeros_are_one_key_of_windows_and_nan_is_one() {
        let context = engine(None).unwrap();
        for kind in ["DOUBLE", "REAL"] {
            let rows = format!(
                "(SELECT CAST(column1 AS {kind}) AS x, CAST(column2 AS {kind}) - CAST(column3 AS {kind}) AS z, column4 AS i FROM (VALUES
                ('0', 'inf', 'inf', 1), ('-0', 'NaN', '1', 2), ('-0', '1', '1', 3), ('0', '-inf', '-inf', 4), ('1', '-1', 'inf', 5))) AS t"
            );
            for (sql, wanted) in [
                (
                    "SELECT i, count(*) OVER (PARTITION BY x) AS n, row_number() OVER (PARTITION BY x ORDER BY i DESC) AS r FROM t",
                    "1 4 4,2 4 3,3 4 2,4 4 1,5 1 1",
                ),
                (
                    "SELECT i, rank() OVER (ORDER BY x) AS r, dense_rank() OVER (ORDER BY x DESC) AS d, percent_rank() OVER (ORDER BY x) AS p FROM t",
                    "1 1 2 0.0,2 1 2 0.0,3 1 2 0.0,4 1 2 0.0,5 5 1 1.0",
                ),
                (
                    "SELECT i, sum(i) OVER (ORDER BY x) AS s, count(*) OVER (ORDER BY x GROUPS BETWEEN 1 FOLLOWING AND 1 FOLLOWING) AS g FROM t",
                    "1 10 1,2 10 1,3 10 1,4 10 1,5 15 0",
                ),
                (
                    "SELECT i, row_number() OVER (ORDER BY x, i DESC) AS r FROM t",
                    "1 4,2 3,3 2,4 1,5 5",
                ),
                (
                    "SELECT i, count(*) OVER (PARTITION BY z) AS n FROM t",
                    "1 3,2 3,3 1,4 3,5 1",
                ),
                (
                    "SELECT i, count(*) OVER (PARTITION BY [x]) AS n FROM t",
                    "1 4,2 4,3 4,4 4,5 1",
                ),
            ] {
                let sql = sql.replace("FROM t", &format!("FROM {rows}"));
                assert_eq!(
                    answer(&context, &format!("{sql} ORDER BY i")).await,
                    wanted,
                    "{sql}"
                );
            }
        }
    }

    /// Expected values are DuckDB's.
    #[tokio::test]
    async fn zeros_are_one_key_of_sorts_and_one_value_of_distinct_aggregates() {
        let context = engine(None).unwrap();
        let t = "(SELECT CAST(column1 AS DOUBLE) AS x, column2 AS i FROM (VALUES ('0', 1), ('-0', 2), ('NaN', 3), ('-0', 4), ('0', 5))) AS t";
        let sql = format!("SELECT i FROM {t} ORDER BY x, i DESC");
        assert_eq!(answer(&context, &sql).await, "5,4,2,1,3");
        let sql = format!("SELECT i FROM {t} ORDER BY x DESC, i LIMIT 3");
        assert_eq!(answer(&context, &sql).await, "3,1,2");
        let sql = format!("SELECT count(DISTINCT x) AS n, count(DISTINCT i) AS m FROM {t}");
        assert_eq!(answer(&context, &sql).await, "2 5");
        let sql = format!(
            "SELECT x = 0 AS z, count(DISTINCT x) AS n, count(DISTINCT i) AS m FROM {t} GROUP BY z ORDER BY z"
        );
        assert_eq!(answer(&context, &sql).await, "false 1 1,true 1 4");
        let sql = format!("SELECT len(array_agg(DISTINCT x)) AS n FROM {t}");
        assert_eq!(answer(&context, &sql).await, "2");
    }

    async fn answer(context: &datafusion::prelude::SessionContext, sql: &str) -> String {
        let rows = collect(context, sql).await.unwrap();
        let text = pretty_format_batches(&rows).unwrap().to_string();
        let lines = text.lines().skip(3).filter(|line| line.starts_with('|'));
        let lines = lines.map(|line| {
            let cells = line.trim_matches('|').split('|').map(str::trim);
            cells.collect::<Vec<_>>().join(" ")
        });
        lines.collect::<Vec<_>>().join(",")
    }
}

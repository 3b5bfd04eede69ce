//! Makes float keys of windows, sorts and distinct aggregates canonical: both zeros are one key, and all NaN are one
//! key greater than any number.
//!
//! | SQL | DataFusion 55 |
//! |---|---|
//! | `ORDER BY x`, `max(x)` | NaN with its sign bit set, as x86 makes it, comes before all numbers |
//! | `PARTITION BY x`, `rank() OVER (ORDER BY x)` | -0.0 and 0.0 are two partitions, two ranks |
//! | `row_number() OVER (ORDER BY x, y)`, `ORDER BY x, y` | rows of -0.0 come before those of 0.0, whatever y is |
//! | `count(DISTINCT x), count(DISTINCT y)` | -0.0 and 0.0 are two values |
//!
//! Here, such keys are wrapped in `canonical_float(x)`. The rule runs after all rules that match columns in them.
//! Columns of a store stay unchanged, so that windows in the order of its files need no sort: runtimes are greater than
//! zero. If zeros do not matter, expressions that cannot be NaN stay unchanged too ([`may_make_nan`]). GROUP BY already
//! handles both zeros. For joins, see `float_comparisons`.
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
use tsql_functions::{CANONICAL_FLOAT, has_floats};

/// Window functions whose result does not depend on which rows have equal rank.
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

/// Wraps float keys.
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
                rewrite_exprs(LogicalPlan::Window(window), |part| match part {
                    Expr::WindowFunction(call) => wrap_window_keys(call, &input, has_ranks),
                    _ => false,
                })
            }
            LogicalPlan::Aggregate(aggregate) => {
                let input = Arc::clone(&aggregate.input);
                rewrite_exprs(LogicalPlan::Aggregate(aggregate), |part| match part {
                    Expr::AggregateFunction(call) => {
                        let params = &mut call.params;
                        let order = params.order_by.iter_mut().map(|by| &mut by.expr);
                        let order = wrap_nans(order, &input);
                        let args = params.args.iter_mut();
                        let args = match params.distinct {
                            true => wrap_floats(args, &input),
                            false if COMPARING.contains(&call.func.name()) => {
                                wrap_nans(args, &input)
                            }
                            false => false,
                        };
                        order || args
                    }
                    // GROUP BY handles both zeros.
                    key => wrap_nans(std::iter::once(key), &input),
                })
            }
            LogicalPlan::Sort(mut sort) => {
                // Rows with equal keys may come in any order, so the last key needs no canonical zeros.
                let last = sort.expr.len().saturating_sub(1);
                let keys = sort.expr.iter_mut().take(last).map(|by| &mut by.expr);
                let others = wrap_floats(keys, &sort.input);
                let keys = sort.expr.iter_mut().map(|by| &mut by.expr);
                let is_changed = wrap_nans(keys, &sort.input) || others;
                let sort = LogicalPlan::Sort(sort);
                Ok(Transformed::new_transformed(sort, is_changed))
            }
            plan => Ok(Transformed::no(plan)),
        }
    }
}

/// Changes the expressions of a plan, and preserves their names.
fn rewrite_exprs(
    plan: LogicalPlan,
    mut change: impl FnMut(&mut Expr) -> bool,
) -> Result<Transformed<LogicalPlan>> {
    let names = NamePreserver::new_for_projection();
    plan.map_expressions(|mut expr| {
        let name = names.save(&expr);
        let is_changed = change(strip_alias_mut(&mut expr));
        Ok(Transformed::new_transformed(
            if is_changed { name.restore(expr) } else { expr },
            is_changed,
        ))
    })
}

fn strip_alias_mut(expr: &mut Expr) -> &mut Expr {
    match expr {
        Expr::Alias(alias) => strip_alias_mut(&mut alias.expr),
        other => other,
    }
}

fn wrap_window_keys(call: &mut WindowFunction, input: &LogicalPlan, has_ranks: bool) -> bool {
    let is_comparing = match &call.fun {
        WindowFunctionDefinition::AggregateUDF(function) => COMPARING.contains(&function.name()),
        WindowFunctionDefinition::WindowUDF(_) => false,
    };
    let params = &mut call.params;
    let args = match params.distinct {
        true => wrap_floats(params.args.iter_mut(), input),
        false => is_comparing && wrap_nans(params.args.iter_mut(), input),
    };
    let parts = wrap_floats(params.partition_by.iter_mut(), input);
    // Rows with equal keys may come in any order, unless another key follows.
    let last = params.order_by.len().saturating_sub(1);
    let order = params.order_by.iter_mut().enumerate();
    let order = order.filter(|(place, _)| has_ranks || *place < last);
    let order = wrap_floats(order.map(|(_, by)| &mut by.expr), input);
    let keys = params.order_by.iter_mut().map(|by| &mut by.expr);
    let order = wrap_nans(keys, input) || order;
    args || parts || order
}

/// Returns whether a window function depends on which rows have equal rank.
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

/// Wraps keys whose values may have several bit patterns.
fn wrap_floats<'a>(keys: impl Iterator<Item = &'a mut Expr>, input: &LogicalPlan) -> bool {
    wrap_keys(keys, input, |key| !is_stored(key, &[input]))
}

/// Wraps keys that may be a NaN with its sign bit set.
fn wrap_nans<'a>(keys: impl Iterator<Item = &'a mut Expr>, input: &LogicalPlan) -> bool {
    wrap_keys(keys, input, |key| may_make_nan(key, &[input]))
}

fn wrap_keys<'a>(
    keys: impl Iterator<Item = &'a mut Expr>,
    input: &LogicalPlan,
    is_wrapped: impl Fn(&Expr) -> bool,
) -> bool {
    let mut is_changed = false;
    for key in keys {
        // A parameter of a prepared statement may have no type yet.
        let kind = key.get_type(input.schema());
        if kind.is_ok_and(|kind| has_floats(&kind)) && !is_canonical(key) && is_wrapped(key) {
            wrap_canonical(key);
            is_changed = true;
        }
    }
    is_changed
}

/// Wraps an expression in `canonical_float`.
pub(super) fn wrap_canonical(value: &mut Expr) {
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

    use crate::context::new_context;
    use crate::test_queries::collect;

    /// Expected values are DuckDB's.
    #[tokio::test]
    async fn zeros_are_one_key_of_windows_and_nan_is_one() {
        let context = new_context(None).unwrap();
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
                    result_text(&context, &format!("{sql} ORDER BY i")).await,
                    wanted,
                    "{sql}"
                );
            }
        }
    }

    /// Expected values are DuckDB's.
    #[tokio::test]
    async fn zeros_are_one_key_of_sorts_and_one_value_of_distinct_aggregates() {
        let context = new_context(None).unwrap();
        let t = "(SELECT CAST(column1 AS DOUBLE) AS x, column2 AS i FROM (VALUES ('0', 1), ('-0', 2), ('NaN', 3), ('-0', 4), ('0', 5))) AS t";
        let sql = format!("SELECT i FROM {t} ORDER BY x, i DESC");
        assert_eq!(result_text(&context, &sql).await, "5,4,2,1,3");
        let sql = format!("SELECT i FROM {t} ORDER BY x DESC, i LIMIT 3");
        assert_eq!(result_text(&context, &sql).await, "3,1,2");
        let sql = format!("SELECT count(DISTINCT x) AS n, count(DISTINCT i) AS m FROM {t}");
        assert_eq!(result_text(&context, &sql).await, "2 5");
        let sql = format!(
            "SELECT x = 0 AS z, count(DISTINCT x) AS n, count(DISTINCT i) AS m FROM {t} GROUP BY z ORDER BY z"
        );
        assert_eq!(result_text(&context, &sql).await, "false 1 1,true 1 4");
        let sql = format!("SELECT len(array_agg(DISTINCT x)) AS n FROM {t}");
        assert_eq!(result_text(&context, &sql).await, "2");
    }

    async fn result_text(context: &datafusion::prelude::SessionContext, sql: &str) -> String {
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

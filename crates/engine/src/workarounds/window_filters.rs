//! Rewrites `sum(x) FILTER (WHERE c) OVER (...)` to `sum(CASE WHEN c THEN x END) OVER (...)`.
//!
//! A physical window function stores its filter in a private field. It is not serialized for workers, and no operator
//! can read it: `streaming_window` and workers would compute the function over all rows. So the rule has no switch.
//! Aggregates that ignore NULL return the same result for both forms.
//!
//! Upstream: not filed, docs/dev/upstream/window_filters.md

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult as _, TreeNode as _};
use datafusion::logical_expr::expr::WindowFunction;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Expr, LogicalPlan, when};
use datafusion::optimizer::AnalyzerRule;

/// Aggregates of one argument that ignore NULL.
const IGNORE_NULL: [&str; 5] = ["avg", "count", "max", "min", "sum"];

/// Moves filters of windows into their arguments.
#[derive(Debug)]
pub(crate) struct WindowFilters;

impl AnalyzerRule for WindowFilters {
    fn name(&self) -> &'static str {
        "window_filters"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|plan| {
            if !matches!(plan, LogicalPlan::Window(_)) {
                return Ok(Transformed::no(plan));
            }
            let names = NamePreserver::new_for_projection();
            plan.map_expressions(|expr| {
                let name = names.save(&expr);
                let replaced = expr.transform_up(|mut part| {
                    let is_replaced = match &mut part {
                        Expr::WindowFunction(call) => move_filter(call)?,
                        _ => false,
                    };
                    Ok(Transformed::new_transformed(part, is_replaced))
                })?;
                Ok(match replaced.transformed {
                    true => replaced.update_data(|expr| name.restore(expr)),
                    false => replaced,
                })
            })
        })
        .data()
    }
}

/// Moves the filter of a call into its argument; returns whether there was one.
fn move_filter(call: &mut WindowFunction) -> Result<bool> {
    if !IGNORE_NULL.contains(&call.fun.name()) || call.params.args.len() != 1 {
        return Ok(false);
    }
    let Some(filter) = call.params.filter.take() else {
        return Ok(false);
    };
    for arg in &mut call.params.args {
        *arg = when(filter.as_ref().clone(), arg.clone()).end()?;
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::super::tests::rows;
    use crate::context::new_context;

    /// Expected values are DuckDB's.
    #[tokio::test]
    async fn filters_of_windows_leave_out_rows() {
        let context = new_context(None).unwrap();
        let t = "(VALUES (1, 5, true), (2, 7, false), (3, NULL, true), (4, 2, NULL), (5, 9, true)) AS t(x, v, c)";
        for (value, expected) in [
            ("sum(v) FILTER (WHERE c) OVER (ORDER BY x)", "5|5|5|5|14"),
            ("count(*) FILTER (WHERE c) OVER (ORDER BY x)", "1|1|2|2|3"),
            ("count(v) FILTER (WHERE NOT c) OVER ()", "1|1|1|1|1"),
            (
                "max(v) FILTER (WHERE x > 1) OVER (ORDER BY x ROWS 1 PRECEDING)",
                "|7|7|2|9",
            ),
            (
                "avg(10 / (x - 1)) FILTER (WHERE x > 1) OVER ()",
                "5.0|5.0|5.0|5.0|5.0",
            ),
            (
                "min(v) FILTER (WHERE c) OVER (ORDER BY x DESC)",
                "5|9|9|9|9",
            ),
        ] {
            let sql = format!("SELECT {value} AS w FROM {t} ORDER BY x");
            assert_eq!(rows(&context, &sql).await.join("|"), expected, "{sql}");
        }
    }
}

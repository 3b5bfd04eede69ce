//! Evaluates the arguments of an aggregate only for rows that pass its filter: `sum(10 / x) FILTER (WHERE x > 0)`
//! becomes `sum(CASE WHEN x > 0 THEN 10 / x END) FILTER (WHERE x > 0)`.
//!
//! DataFusion evaluates the arguments of an aggregate or a window function for all rows and drops rows afterwards.
//! Arguments that may fail are wrapped in a CASE with the filter as its condition.
//!
//! Upstream: <https://github.com/apache/datafusion/issues/24443>, <https://github.com/apache/datafusion/issues/24507>; sort keys not filed, docs/dev/upstream/aggregate_filters.md

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult as _, TreeNode as _};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, LogicalPlan, when};
use datafusion::optimizer::AnalyzerRule;

use crate::rewrites::fallible::{may_fail, may_overflow};

/// Wraps arguments of filtered aggregates that may fail.
#[derive(Debug)]
pub(super) struct FilterBeforeArguments;

impl AnalyzerRule for FilterBeforeArguments {
    fn name(&self) -> &'static str {
        "aggregate_filters"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|plan| {
            if !matches!(plan, LogicalPlan::Aggregate(_) | LogicalPlan::Window(_)) {
                return Ok(Transformed::no(plan));
            }
            let schema = merge_schema(&plan.inputs());
            let names = NamePreserver::new_for_projection();
            plan.map_expressions(|expr| {
                let name = names.save(&expr);
                let guarded = expr.transform_up(|part| guard_arguments(part, &schema))?;
                Ok(guarded.update_data(|expr| name.restore(expr)))
            })
        })
        .data()
    }
}

fn guard_arguments(mut expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let (filter, args, order_by) = match &mut expr {
        Expr::AggregateFunction(call) => {
            let params = &mut call.params;
            (&params.filter, &mut params.args, Some(&mut params.order_by))
        }
        Expr::WindowFunction(call) => {
            let params = &mut call.params;
            (&params.filter, &mut params.args, None)
        }
        _ => return Ok(Transformed::no(expr)),
    };
    let Some(filter) = filter.as_deref().filter(|filter| !filter.is_volatile()) else {
        return Ok(Transformed::no(expr));
    };
    let order_by = order_by.into_iter().flatten().map(|by| &mut by.expr);
    let mut is_guarded = false;
    for value in args.iter_mut().chain(order_by) {
        if may_fail(value, schema) || may_overflow(value, schema) {
            let evaluated = std::mem::take(value);
            *value = when(filter.clone(), evaluated).end()?;
            is_guarded = true;
        }
    }
    Ok(Transformed::new_transformed(expr, is_guarded))
}

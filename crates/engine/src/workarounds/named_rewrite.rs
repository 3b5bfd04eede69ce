//! Rewrites the expressions of a plan node, whose columns keep their names.

use std::sync::Arc;

use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, LogicalPlan};

/// Rewrites each expression of a plan node. `rewrite` gets an expression and the columns of the inputs.
pub(super) fn rewrite_expressions(
    plan: LogicalPlan,
    mut rewrite: impl FnMut(Expr, &DFSchema) -> Result<Transformed<Expr>>,
) -> Result<Transformed<LogicalPlan>> {
    let inputs = plan.inputs();
    let schema = match inputs.is_empty() {
        true => Arc::clone(plan.schema()),
        false => Arc::new(merge_schema(&inputs)),
    };
    let names = NamePreserver::new(&plan);
    plan.map_expressions(|expr| {
        let name = names.save(&expr);
        let expr = rewrite(expr, &schema)?;
        Ok(match expr.transformed {
            true => expr.update_data(|expr| name.restore(expr)),
            false => expr,
        })
    })
}

//! `a IS DISTINCT FROM b AND c` is refused.
//!
//! The parser takes all that follows for the right operand: `a IS DISTINCT FROM (b AND c)`. In a plan
//! that cannot be told from what somebody put in parentheses on purpose, who can write it on the left:
//! the operator is symmetric. The command line reads the text as it is meant (see `statement`).
//!
//! Upstream: <https://github.com/apache/datafusion-sqlparser-rs/pull/2436>

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{TreeNode as _, TreeNodeRecursion};
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::{Expr, LogicalPlan, Operator};
use datafusion::optimizer::AnalyzerRule;

/// The rule that does so.
#[derive(Debug)]
pub(super) struct NoDoubt;

impl AnalyzerRule for NoDoubt {
    fn name(&self) -> &'static str {
        "no_doubt_what_is_distinct"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.apply_with_subqueries(|plan| plan.apply_expressions(|expr| expr.apply(refuse)))?;
        Ok(plan)
    }
}

fn refuse(expr: &Expr) -> Result<TreeNodeRecursion> {
    let Expr::BinaryExpr(compared) = expr else {
        return Ok(TreeNodeRecursion::Continue);
    };
    let operator = match compared.op {
        Operator::IsDistinctFrom => "IS DISTINCT FROM",
        Operator::IsNotDistinctFrom => "IS NOT DISTINCT FROM",
        _ => return Ok(TreeNodeRecursion::Continue),
    };
    match compared.right.as_ref() {
        Expr::BinaryExpr(right) if matches!(right.op, Operator::And | Operator::Or) => {
            let and = right.op;
            plan_err!(
                "`a {operator} b {and} c` may mean two things\n\
                 hint: write `(a {operator} b) {and} c`, or `(b {and} c) {operator} a`"
            )
        }
        _ => Ok(TreeNodeRecursion::Continue),
    }
}

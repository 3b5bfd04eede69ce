//! Rejects `a IS DISTINCT FROM b AND c`, which the parser misreads.
//!
//! The parser takes all that follows as the right operand: `a IS DISTINCT FROM (b AND c)`. A plan does not show whether
//! the parentheses were in the query. The operator is symmetric, so they can be written on the left. The command line
//! parses the text correctly (see `statement`).
//!
//! Upstream: <https://github.com/apache/datafusion-sqlparser-rs/pull/2436>

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{TreeNode as _, TreeNodeRecursion};
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::{Expr, LogicalPlan, Operator};
use datafusion::optimizer::AnalyzerRule;

/// Rejects ambiguous operands of `IS DISTINCT FROM`.
#[derive(Debug)]
pub(super) struct RejectAmbiguousDistinctFrom;

impl AnalyzerRule for RejectAmbiguousDistinctFrom {
    fn name(&self) -> &'static str {
        "distinct_from"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.apply_with_subqueries(|plan| {
            plan.apply_expressions(|expr| expr.apply(reject_ambiguous))
        })?;
        Ok(plan)
    }
}

fn reject_ambiguous(expr: &Expr) -> Result<TreeNodeRecursion> {
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
                "`a {operator} b {and} c` is ambiguous\n\
                 hint: write `(a {operator} b) {and} c`, or `(b {and} c) {operator} a`"
            )
        }
        _ => Ok(TreeNodeRecursion::Continue),
    }
}

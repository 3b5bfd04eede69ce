//! `x IS TRUE` and its like as comparisons: `x IS NOT DISTINCT FROM TRUE`.
//!
//! That is how DataFusion runs them, as an expression that may be NULL, while its planner knows that they
//! never are: an aggregate over such a column stops with an internal error at the difference. Of the
//! comparison both say the same.
//!
//! Upstream: <https://github.com/apache/datafusion/issues/24096>

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult as _, TreeNode as _};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator, lit};
use datafusion::optimizer::AnalyzerRule;

/// The rule that writes them so.
#[derive(Debug)]
pub(super) struct ComparedWithLiterals;

impl AnalyzerRule for ComparedWithLiterals {
    fn name(&self) -> &'static str {
        "truth_compared_with_literals"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|plan| {
            let names = NamePreserver::new(&plan);
            plan.map_expressions(|expr| {
                let name = names.save(&expr);
                let compared = expr.transform_up(|part| Ok(compared(part)))?;
                Ok(compared.update_data(|expr| name.restore(expr)))
            })
        })
        .data()
    }
}

fn compared(expr: Expr) -> Transformed<Expr> {
    let (of, operator, value) = match expr {
        Expr::IsTrue(of) => (of, Operator::IsNotDistinctFrom, true),
        Expr::IsNotTrue(of) => (of, Operator::IsDistinctFrom, true),
        Expr::IsFalse(of) => (of, Operator::IsNotDistinctFrom, false),
        Expr::IsNotFalse(of) => (of, Operator::IsDistinctFrom, false),
        other => return Transformed::no(other),
    };
    let compared = BinaryExpr::new(of, operator, Box::new(lit(value)));
    Transformed::yes(Expr::BinaryExpr(compared))
}

//! Rewrites `x IS TRUE` and similar tests to comparisons: `x IS NOT DISTINCT FROM TRUE`.
//!
//! DataFusion executes these tests as comparisons that may be NULL, while its planner declares them as never NULL. An
//! aggregate over such a column fails with an internal error. For the comparison, both agree.
//!
//! Upstream: <https://github.com/apache/datafusion/issues/24096>

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult as _, TreeNode as _};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator, lit};
use datafusion::optimizer::AnalyzerRule;

/// Rewrites boolean tests to comparisons.
#[derive(Debug)]
pub(super) struct BooleanTestRewrite;

impl AnalyzerRule for BooleanTestRewrite {
    fn name(&self) -> &'static str {
        "boolean_tests"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|plan| {
            let names = NamePreserver::new(&plan);
            plan.map_expressions(|expr| {
                let name = names.save(&expr);
                let compared = expr.transform_up(|part| Ok(to_comparison(part)))?;
                Ok(compared.update_data(|expr| name.restore(expr)))
            })
        })
        .data()
    }
}

fn to_comparison(expr: Expr) -> Transformed<Expr> {
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

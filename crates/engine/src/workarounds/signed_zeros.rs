//! Makes `x IN (0.0, 1.0, ...)` match -0.0, as `x = 0.0` does.
//!
//! DataFusion looks up the values of longer lists by their bits, in which both zeros differ. Here, a list contains both
//! zeros or none. The rule runs after all rules that build lists, as from `x = 0.0 OR x = 1.0 OR ...`.
//!
//! Upstream: <https://github.com/apache/datafusion/pull/25186>

use datafusion::common::tree_node::{Transformed, TreeNode as _};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Expr, LogicalPlan, lit};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

/// Adds the zero of the other sign to lists with a zero.
#[derive(Debug)]
pub(super) struct SignedZeroRewrite;

impl OptimizerRule for SignedZeroRewrite {
    fn name(&self) -> &'static str {
        "signed_zeros"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let names = NamePreserver::new(&plan);
        plan.map_expressions(|expr| {
            let name = names.save(&expr);
            let both = expr.transform_up(|part| Ok(add_other_zero(part)))?;
            Ok(both.update_data(|expr| name.restore(expr)))
        })
    }
}

fn add_other_zero(expr: Expr) -> Transformed<Expr> {
    let Expr::InList(InList {
        expr,
        mut list,
        negated,
    }) = expr
    else {
        return Transformed::no(expr);
    };
    let other = list
        .iter()
        .filter_map(other_zero)
        .find(|zero| !list.contains(zero));
    let lacked = other.is_some();
    list.extend(other);
    Transformed::new_transformed(
        Expr::InList(InList {
            expr,
            list,
            negated,
        }),
        lacked,
    )
}

/// Returns the zero of the other sign.
fn other_zero(value: &Expr) -> Option<Expr> {
    let Expr::Literal(value, _) = value else {
        return None;
    };
    Some(lit(match value {
        ScalarValue::Float16(Some(zero)) if zero.to_f32() == 0.0 => ScalarValue::from(-*zero),
        ScalarValue::Float32(Some(zero)) if *zero == 0.0 => ScalarValue::from(-zero),
        ScalarValue::Float64(Some(zero)) if *zero == 0.0 => ScalarValue::from(-zero),
        _ => return None,
    }))
}

#[cfg(test)]
mod tests {
    use arrow::util::pretty::pretty_format_batches;

    use crate::context::new_context;
    use crate::test_queries::collect;

    #[tokio::test]
    async fn zeros_are_found_by_either() {
        let context = new_context(None).unwrap();
        for kind in ["DOUBLE", "REAL"] {
            for (condition, found) in [
                ("x IN (0.0, 3, 4, 5, 6, 7)", 2),
                ("x IN (-0e0, 3, 4, 5, 6, 7)", 2),
                ("x IN (0, 0.0, -0e0, 3, 4, 5, 6, 7)", 2),
                ("x NOT IN (-0e0, 3, 4, 5, 6, 7)", 1),
                ("x NOT IN (1, 3, 4, 5, 6, 7)", 2),
                ("x = 0 OR x = 3 OR x = 4 OR x = 5 OR x = 6 OR x = 7", 2),
                ("x <> 0 AND x <> 3 AND x <> 4 AND x <> 5 AND x <> 6", 1),
                ("x IN (1, 3, 4, 5, 6, 7)", 1),
            ] {
                let sql = format!(
                    "SELECT count(*) FROM (SELECT CAST(column1 AS {kind}) AS x FROM (VALUES ('0'), ('-0'), ('1'))) WHERE {condition}"
                );
                let rows = collect(&context, &sql).await.unwrap();
                let text = pretty_format_batches(&rows).unwrap().to_string();
                let cell = text.lines().nth(3).unwrap().trim_matches('|').trim();
                assert_eq!(cell, found.to_string(), "{kind}: {condition}");
            }
        }
    }
}

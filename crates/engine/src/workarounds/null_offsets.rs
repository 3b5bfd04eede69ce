//! Makes `lag(x, NULL)` and `lead(x, NULL)` NULL, as in PostgreSQL and DuckDB. DataFusion 55 takes NULL as 0.
//!
//! Upstream: not filed, docs/dev/upstream/null_offsets.md

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult as _, TreeNode as _};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Expr, ExprSchemable as _, LogicalPlan, lit};
use datafusion::optimizer::AnalyzerRule;

/// Replaces calls with a NULL offset by offset 0 of a NULL column.
#[derive(Debug)]
pub(super) struct NullOffsets;

impl AnalyzerRule for NullOffsets {
    fn name(&self) -> &'static str {
        "null_offsets"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|plan| {
            let LogicalPlan::Window(window) = &plan else {
                return Ok(Transformed::no(plan));
            };
            let schema = Arc::clone(window.input.schema());
            let names = NamePreserver::new_for_projection();
            plan.map_expressions(|expr| {
                let name = names.save(&expr);
                let replaced = expr.transform_up(|mut part| {
                    let is_replaced = match &mut part {
                        Expr::WindowFunction(call)
                            if ["lag", "lead"].contains(&call.fun.name()) =>
                        {
                            replace(&mut call.params.args, &schema)?
                        }
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

/// Replaces the value and the offset if the offset is NULL.
fn replace(args: &mut [Expr], schema: &DFSchema) -> Result<bool> {
    let [value, offset, ..] = args else {
        return Ok(false);
    };
    if !is_null(offset) {
        return Ok(false);
    }
    let null = ScalarValue::try_from(value.get_type(schema)?)?;
    (*value, *offset) = (lit(null), lit(0_i64));
    Ok(true)
}

fn is_null(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(value, _) => value.is_null(),
        Expr::Alias(alias) => is_null(&alias.expr),
        Expr::Cast(cast) => is_null(&cast.expr),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::rows;
    use crate::context::new_context;

    /// Expected values are DuckDB's.
    #[tokio::test]
    async fn an_offset_of_null_gives_null() {
        let context = new_context(None).unwrap();
        let t = "(VALUES (1), (3)) AS t(x)";
        let over = "OVER (ORDER BY x)";
        for (value, wanted) in [
            (format!("lag(x, NULL) {over}"), ["1|", "3|"]),
            (format!("lead(x, NULL, 9) {over}"), ["1|", "3|"]),
            (format!("lag(x, CAST(NULL AS BIGINT)) {over}"), ["1|", "3|"]),
            (format!("lag(x, 0) {over}"), ["1|1", "3|3"]),
            (format!("coalesce(lag(x, NULL) {over}, 5)"), ["1|5", "3|5"]),
        ] {
            let sql = format!("SELECT x, {value} AS v FROM {t} ORDER BY x");
            assert_eq!(rows(&context, &sql).await, wanted, "{sql}");
        }
    }
}

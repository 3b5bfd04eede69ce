//! Reports sums, differences and products that exceed BIGINT as errors.
//!
//! DataFusion 55 returns -9223372036854775808 for `9223372036854775807 + 1`. DuckDB and PostgreSQL report an error, and
//! so does this engine's `sum`. Here, the operators become calls of `checked_add` and the like. The rule runs after all
//! rules that match operators. Operators on constants become calls before they are folded.
//!
//! Narrower integers are computed in 64 bits from the start (`wide_integers`), so those of two columns cannot overflow.
//!
//! Upstream: <https://github.com/apache/datafusion/issues/17539>

use arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode as _};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable as _, LogicalPlan};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};
use tsql_functions::checked_arithmetic;

use super::float_comparisons::{Operands, is_constant};
use super::named_rewrite::rewrite_expressions;

/// Replaces operators on integers of 64 bits by checked functions.
#[derive(Debug)]
pub(super) struct CheckedIntegers {
    pub operands: Operands,
}

impl OptimizerRule for CheckedIntegers {
    fn name(&self) -> &'static str {
        "checked_integers"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        rewrite_expressions(plan, |expr, schema| {
            expr.transform_up(|part| {
                Ok(match self.operands == Operands::All || is_constant(&part) {
                    true => to_checked(part, schema),
                    false => Transformed::no(part),
                })
            })
        })
    }
}

/// Replaces an operator on two integers of 64 bits. Results of narrower integers that were widened are in range.
fn to_checked(expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = expr else {
        return Transformed::no(expr);
    };
    let is_long = |operand: &Expr| {
        let kind = operand.get_type(schema);
        kind.is_ok_and(|kind| matches!(kind, DataType::Int64 | DataType::UInt64))
    };
    let is_unchecked = is_widened(&left, schema) && is_widened(&right, schema);
    match checked_arithmetic(op) {
        Some(function) if is_long(&left) && is_long(&right) && !is_unchecked => {
            Transformed::yes(function.call(vec![*left, *right]))
        }
        _ => Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right })),
    }
}

/// Returns whether an expression is an integer of at most 32 bits that was cast to 64, or a constant as small.
fn is_widened(expr: &Expr, schema: &DFSchema) -> bool {
    match expr {
        Expr::Cast(cast) => {
            let from = cast.expr.get_type(schema);
            from.is_ok_and(|from| from.is_integer() && from.primitive_width() < Some(8))
        }
        Expr::Literal(ScalarValue::Int64(Some(value)), _) => i32::try_from(*value).is_ok(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::rows;
    use crate::context::new_context;

    const LARGE: &str = "(VALUES (9223372036854775807, 1), (5, 2)) AS t(x, y)";

    #[tokio::test]
    async fn results_that_exceed_64_bits_are_errors() {
        let context = new_context(None).unwrap();
        for (expression, operands) in [
            ("x + y", "9223372036854775807 + 1"),
            ("-2 - x", "-2 - 9223372036854775807"),
            ("x * 2", "9223372036854775807 * 2"),
            ("9223372036854775807 + 1", "9223372036854775807 + 1"),
            ("sum(x * (y + 1))", "9223372036854775807 * 2"),
            ("max(x + 1) FILTER (WHERE y > 0)", "9223372036854775807 + 1"),
            (
                "row_number() OVER (ORDER BY x + y)",
                "9223372036854775807 + 1",
            ),
        ] {
            let sql = format!("SELECT {expression} FROM {LARGE}");
            let frame = context.sql(&sql).await.unwrap();
            let error = frame.collect().await.unwrap_err().strip_backtrace();
            let expected = format!("{operands} is out of range");
            assert!(error.contains(&expected), "{sql}: {error}");
        }
    }

    #[tokio::test]
    async fn other_results_and_column_names_are_unchanged() {
        let context = new_context(None).unwrap();
        for (expression, expected) in [
            ("x - y", ["9223372036854775806", "3"]),
            ("CASE WHEN x < 9 THEN x * x ELSE -1 END", ["-1", "25"]),
            ("CAST(x AS DOUBLE) * 2", ["1.8446744073709552e19", "10.0"]),
            ("CAST(y AS INT) * CAST(y AS INT)", ["1", "4"]),
        ] {
            let sql = format!("SELECT {expression} FROM {LARGE} ORDER BY y");
            assert_eq!(rows(&context, &sql).await, expected, "{sql}");
        }
        let guarded = format!("SELECT y FROM {LARGE} WHERE x < 9 AND x * x = 25");
        assert_eq!(rows(&context, &guarded).await, ["2"]);
        let filtered =
            format!("SELECT y, sum(x * x) FILTER (WHERE x < 9) FROM {LARGE} GROUP BY y ORDER BY y");
        assert_eq!(rows(&context, &filtered).await, ["1|", "2|25"]);
        let named = format!("SELECT x + y FROM {LARGE} WHERE x < 9");
        let batches = context.sql(&named).await.unwrap().collect().await.unwrap();
        assert_eq!(batches[0].schema().field(0).name(), "t.x + t.y");
        let grouped = format!("SELECT y + x, count(*) FROM {LARGE} WHERE x < 9 GROUP BY y + x");
        assert_eq!(rows(&context, &grouped).await, ["7|1"]);
    }

    /// Fails as soon as DataFusion is correct.
    #[tokio::test]
    async fn integers_wrap_around_without_the_rule() {
        let context = new_context(None).unwrap();
        let off = "SET tsql.rules.checked_integers = false";
        context.sql(off).await.unwrap().collect().await.unwrap();
        let sql = format!("SELECT x + y FROM {LARGE} ORDER BY y LIMIT 1");
        let wrapped = rows(&context, &sql).await;
        assert_eq!(wrapped, ["-9223372036854775808"], "remove the workaround");
    }
}

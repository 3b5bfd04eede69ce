//! Adds, subtracts and multiplies integers of up to 32 bits as 64-bit integers.
//!
//! DataFusion 55 computes `x + y` of two INT columns in 32 bits, where 2147483647 + 1 is -2147483648. In 64 bits no
//! sum or product of two of them is out of range. DuckDB and PostgreSQL report such results as errors.
//!
//! Upstream: <https://github.com/apache/datafusion/issues/17539>

use arrow::datatypes::DataType;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{Expr, ExprSchemable as _, cast};
use datafusion::sql::sqlparser::ast::BinaryOperator;

/// Plans arithmetic of narrow integers.
#[derive(Debug)]
pub(super) struct WideIntegers;

impl ExprPlanner for WideIntegers {
    fn plan_binary_op(
        &self,
        expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        let may_overflow = matches!(
            expr.op,
            BinaryOperator::Plus | BinaryOperator::Minus | BinaryOperator::Multiply
        );
        if !may_overflow || !is_narrow(&expr.left, schema) || !is_narrow(&expr.right, schema) {
            return Ok(PlannerResult::Original(expr));
        }
        // The other planners see the wide operands.
        Ok(PlannerResult::Original(RawBinaryExpr {
            op: expr.op,
            left: cast(expr.left, DataType::Int64),
            right: cast(expr.right, DataType::Int64),
        }))
    }
}

/// Returns whether an expression is an integer of at most 32 bits. Errors are left to the planner.
fn is_narrow(expr: &Expr, schema: &DFSchema) -> bool {
    matches!(
        expr.get_type(schema),
        Ok(DataType::Int8
            | DataType::Int16
            | DataType::Int32
            | DataType::UInt8
            | DataType::UInt16
            | DataType::UInt32)
    )
}

#[cfg(test)]
mod tests {
    use datafusion::prelude::SessionContext;
    use tsql_test_support::row_texts;

    use super::super::tests::rows;
    use crate::context::new_context;

    #[tokio::test]
    async fn narrow_integers_do_not_wrap_around() {
        let context = new_context(None).unwrap();
        let t = "(SELECT CAST(x AS INT) AS x, CAST(x % 100 AS SMALLINT) AS y FROM (VALUES (2147483647), (-2147483648)) AS t(x))";
        for (sql, expected) in [
            (
                format!("SELECT x + x FROM {t}"),
                ["4294967294", "-4294967296"],
            ),
            (
                format!("SELECT x * x - x FROM {t}"),
                ["4611686011984936962", "4611686020574871552"],
            ),
            (format!("SELECT y * y * y FROM {t}"), ["103823", "-110592"]),
            (
                format!("SELECT x - y FROM {t}"),
                ["2147483600", "-2147483600"],
            ),
            (
                format!("SELECT sum(x * x) OVER (ORDER BY x DESC) > 0 FROM {t}"),
                ["true", "true"],
            ),
        ] {
            assert_eq!(rows(&context, &sql).await, expected, "{sql}");
        }
    }

    /// Fails as soon as DataFusion is correct.
    #[tokio::test]
    async fn integers_wrap_around_in_datafusion() {
        let theirs = SessionContext::new();
        for (sql, wrapped) in [
            (
                "SELECT CAST(2147483647 AS INT) + CAST(1 AS INT)",
                "-2147483648",
            ),
            (
                "SELECT sum(x) FROM (VALUES (9223372036854775807), (9223372036854775807)) AS t(x)",
                "-2",
            ),
        ] {
            let batches = theirs.sql(sql).await.unwrap().collect().await;
            let is_wrapped = batches.is_ok_and(|batches| row_texts(&batches) == [wrapped]);
            assert!(is_wrapped, "remove `wide_integers` or `integer_sum`: {sql}");
        }
    }
}

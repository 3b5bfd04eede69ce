//! Expressions whose evaluation may fail: division by zero, casts, functions.
//!
//! SQL does not evaluate an expression for rows that a FILTER, a branch of CASE or a join excludes. A rule that does so
//! would turn a valid query into an error. Such rules skip expressions that may fail.

use arrow::datatypes::DataType;
use datafusion::common::tree_node::{TreeNode as _, TreeNodeRecursion};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable as _, Operator};
use tsql_functions::is_checked_arithmetic;

/// Functions that return a value or NULL for all values of their argument types.
const TOTAL_FUNCTIONS: [&str; 29] = [
    "array_element",
    "array_length",
    "array_max",
    "array_min",
    "btrim",
    "ceil",
    "character_length",
    "coalesce",
    "concat",
    "cos",
    "ends_with",
    "exp",
    "floor",
    "isnan",
    "ln",
    "log10",
    "log2",
    "lower",
    "ltrim",
    "nullif",
    "nvl",
    "octet_length",
    "rtrim",
    "sin",
    "sqrt",
    "starts_with",
    "strpos",
    "substr",
    "upper",
];

/// Returns whether an expression over columns of `schema` may fail for some row. Expressions that are not known to be
/// safe may fail.
pub(crate) fn may_fail(expr: &Expr, schema: &DFSchema) -> bool {
    let mut may_fail = false;
    let visited = expr.apply(|part| {
        may_fail = !is_total(part, schema);
        Ok(if may_fail {
            TreeNodeRecursion::Stop
        } else {
            TreeNodeRecursion::Continue
        })
    });
    may_fail || visited.is_err()
}

/// Returns whether an expression divides integers or decimals by a value that may be zero, computes integers that may
/// exceed 64 bits, or parses numbers or times from text. Such expressions fail for some rows of ordinary data.
pub(crate) fn has_fallible_operator(expr: &Expr, schema: &DFSchema) -> bool {
    let is_text = |kind: DataType| kind.is_string();
    let fails = expr.exists(|part| {
        Ok(match part {
            Expr::BinaryExpr(binary) => {
                let divides = matches!(binary.op, Operator::Divide | Operator::Modulo);
                divides && !is_total_operator(part, binary, schema)
            }
            Expr::ScalarFunction(call) => is_checked_arithmetic(call.name()),
            Expr::Cast(cast) => {
                let is_read = cast.expr.get_type(schema).is_ok_and(is_text);
                is_read && !is_text(cast.field.data_type().clone())
            }
            _ => false,
        })
    });
    fails.unwrap_or(true)
}

/// Returns whether an expression adds, subtracts or multiplies integers. `checked_integers` makes such operators fail.
pub(crate) fn may_overflow(expr: &Expr, schema: &DFSchema) -> bool {
    let overflows = expr.exists(|part| {
        let Expr::BinaryExpr(BinaryExpr { op, .. }) = part else {
            return Ok(false);
        };
        let is_arithmetic = matches!(op, Operator::Plus | Operator::Minus | Operator::Multiply);
        Ok(is_arithmetic && part.get_type(schema)?.is_integer())
    });
    overflows.unwrap_or(true)
}

/// Returns whether an operator returns a value for all values of its operands.
fn is_total(expr: &Expr, schema: &DFSchema) -> bool {
    match expr {
        Expr::Alias(_)
        | Expr::Column(_)
        | Expr::Literal(..)
        | Expr::Not(_)
        | Expr::IsNull(_)
        | Expr::IsNotNull(_)
        | Expr::IsTrue(_)
        | Expr::IsFalse(_)
        | Expr::IsUnknown(_)
        | Expr::IsNotTrue(_)
        | Expr::IsNotFalse(_)
        | Expr::IsNotUnknown(_)
        | Expr::Between(_)
        | Expr::Case(_)
        | Expr::InList(_)
        | Expr::TryCast(_)
        | Expr::AggregateFunction(_) => true,
        Expr::Like(like) => matches!(like.pattern.as_ref(), Expr::Literal(..)),
        Expr::Negative(of) => of.get_type(schema).is_ok_and(|kind| kind.is_numeric()),
        Expr::BinaryExpr(binary) => is_total_operator(expr, binary, schema),
        Expr::Cast(cast) => {
            let from = cast.expr.get_type(schema);
            from.is_ok_and(|from| is_total_cast(&from, cast.field.data_type()))
        }
        Expr::ScalarFunction(call) => TOTAL_FUNCTIONS.contains(&call.name()),
        _ => false,
    }
}

fn is_total_operator(expr: &Expr, binary: &BinaryExpr, schema: &DFSchema) -> bool {
    // Floats have infinities, but decimals and times overflow. Integers of ordinary data are far from the limits of 64
    // bits, so rules may compute them for more rows.
    let kind = expr.get_type(schema);
    let (is_float, is_integer) = (
        kind.as_ref().is_ok_and(DataType::is_floating),
        kind.as_ref().is_ok_and(DataType::is_integer),
    );
    match binary.op {
        Operator::And | Operator::Or | Operator::StringConcat => true,
        Operator::Plus | Operator::Minus | Operator::Multiply => is_float || is_integer,
        Operator::Divide | Operator::Modulo => {
            is_float || (is_integer && is_safe_divisor(&binary.right))
        }
        Operator::BitwiseAnd | Operator::BitwiseOr | Operator::BitwiseXor => true,
        op => op.supports_propagation(),
    }
}

/// Returns whether all integers can be divided by this expression: it is a constant other than 0 and -1. The smallest
/// integer divided by -1 overflows.
fn is_safe_divisor(divisor: &Expr) -> bool {
    let Expr::Literal(divisor, _) = divisor else {
        return false;
    };
    let divisor = divisor.cast_to(&DataType::Int64);
    divisor.is_ok_and(
        |divisor| matches!(divisor, ScalarValue::Int64(Some(number)) if !matches!(number, 0 | -1)),
    )
}

/// Returns whether all values of one type can be cast to the other.
fn is_total_cast(from: &DataType, to: &DataType) -> bool {
    let is_text = |kind: &DataType| {
        matches!(
            kind,
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
        )
    };
    let is_simple = |kind: &DataType| {
        kind.is_numeric() || is_text(kind) || matches!(kind, DataType::Boolean | DataType::Null)
    };
    let (signed, to_signed) = (from.is_signed_integer(), to.is_signed_integer());
    let widths = from.primitive_width().zip(to.primitive_width());
    let is_wider = widths.is_some_and(|(from_width, to_width)| {
        let are_integers = from.is_integer() && to.is_integer();
        let is_same_kind = signed == to_signed && from_width <= to_width;
        are_integers && (is_same_kind || (to_signed && from_width < to_width))
    });
    from == to
        || *from == DataType::Null
        || is_wider
        || (is_text(to) && is_simple(from))
        || (to.is_floating() && (from.is_integer() || from.is_floating()))
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::{Field, Schema};
    use datafusion::prelude::SessionContext;

    use super::*;

    #[test]
    fn only_what_has_a_value_for_all_rows_cannot_fail() {
        let fields = [
            ("i", DataType::Int64),
            ("f", DataType::Float64),
            ("t", DataType::Utf8),
            ("d", DataType::Decimal128(9, 2)),
        ];
        let fields = fields.map(|(name, kind)| Field::new(name, kind, true));
        let schema = DFSchema::try_from(Schema::new(fields.to_vec())).unwrap();
        let context = SessionContext::new();
        for (sql, wanted) in [
            ("i + 1 > 2 AND f / f < 3 OR t IN ('a', 'b')", false),
            ("CASE WHEN i % 3 = 0 THEN f ELSE -f END", false),
            ("i / 2 + i % -5", false),
            ("lower(t) LIKE 'a%' AND t || 'b' IS NOT NULL", false),
            (
                "CAST(i AS DOUBLE) + CAST(CAST(i AS VARCHAR) = t AS INT)",
                true,
            ),
            ("CAST(i AS DOUBLE) > 1 AND CAST(i AS VARCHAR) = t", false),
            ("TRY_CAST(t AS INT) IS NULL", false),
            ("10 / i", true),
            ("i % i > 0", true),
            ("i / -1", true),
            ("CASE WHEN i > 0 THEN 10 / i END", true),
            ("CAST(t AS DOUBLE) > 1", true),
            ("CAST(i AS SMALLINT) = 1", true),
            ("d * d > 1", true),
            ("to_timestamp(t) IS NULL", true),
            ("t LIKE t", true),
        ] {
            let expr = context.parse_sql_expr(sql, &schema).unwrap();
            assert_eq!(may_fail(&expr, &schema), wanted, "{sql}");
        }
    }
}

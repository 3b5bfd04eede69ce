//! Quotes the number of an interval: `INTERVAL 1 HOUR` is `INTERVAL '1' HOUR`, which DataFusion 55 needs in bounds of
//! window frames.

use datafusion::sql::sqlparser::ast::{Expr, Value};

/// Quotes the number of an interval.
pub(super) fn quote_number(expr: &mut Expr) {
    if let Expr::Interval(interval) = expr
        && let Expr::Value(value) = interval.value.as_mut()
        && let Value::Number(number, _) = &value.value
    {
        value.value = Value::SingleQuotedString(number.clone());
    }
}

//! Binary operators, selections, casts and function calls on indices and tensor elements.

use super::condition::Condition;
use super::expression::{Expression, ExpressionForm};
use super::index::LinearIndex;
use crate::tvm_json::Error;

/// Pure functions: `tir.exp`, `tirx.exp`.
const PURE_FUNCTIONS: [&str; 39] = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "ceil",
    "copysign",
    "cos",
    "cosh",
    "erf",
    "exp",
    "exp10",
    "exp2",
    "fabs",
    "floor",
    "fmod",
    "hypot",
    "log",
    "log10",
    "log1p",
    "log2",
    "nearbyint",
    "pow",
    "round",
    "rsqrt",
    "shift_left",
    "shift_right",
    "sigmoid",
    "sin",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
];

/// Builds an arithmetic operation such as `a + b` on two values of one type.
///
/// # Errors
/// Returns an error if the types differ, or for unsupported operations on indices.
pub(super) fn arithmetic(
    name: &str,
    dtype: &'static str,
    a: &Expression,
    b: &Expression,
) -> Result<Expression, Error> {
    if a.dtype != dtype || b.dtype != dtype || dtype == "bool" {
        return Err(Error::wrong(format!("{name} of different types")));
    }
    let (Some(first), Some(second)) = (a.as_index(), b.as_index()) else {
        return Ok(Expression::from_operation(
            &name.to_ascii_lowercase(),
            dtype,
            &[a, b],
        ));
    };
    let index = match name {
        "Add" => first.clone().add_multiple(second, 1),
        "Sub" => first.clone().add_multiple(second, -1),
        "Mul" => match (first.value(), second.value()) {
            (_, Some(factor)) => first.multiply(factor),
            (Some(factor), _) => second.multiply(factor),
            _ => return Err(Error::wrong("a product of indexes")),
        },
        "Min" | "Max" => min_or_max(name == "Min", first, second),
        _ => {
            let positive_divisor = second.value().filter(|&divisor| divisor > 0);
            let range = first.range().zip(positive_divisor);
            // Rounding toward zero equals rounding down for non-negative operands.
            let rounds_down = matches!(name, "FloorDiv" | "FloorMod");
            let range = range.filter(|((minimum, _), _)| rounds_down || *minimum >= 0);
            let Some((range, divisor)) = range else {
                return Err(Error::wrong(format!(
                    "{name} of indexes that may be negative"
                )));
            };
            Some(divide_index(name.ends_with("Mod"), first, range, divisor))
        }
    };
    Expression::index(dtype, index)
}

/// Returns the quotient or the remainder, rounded down, of an index in this range by a positive constant.
fn divide_index(
    is_remainder: bool,
    index: &LinearIndex,
    range: (i64, i64),
    divisor: i64,
) -> LinearIndex {
    let (minimum, maximum) = (range.0.div_euclid(divisor), range.1.div_euclid(divisor));
    match (is_remainder, minimum == 0 && maximum == 0) {
        (true, true) => index.clone(),
        (true, false) => {
            LinearIndex::variable(format!("({} % {divisor})", index.text()), (0, divisor - 1))
        }
        (false, _) => LinearIndex::variable(
            format!("({} / {divisor})", index.text()),
            (minimum, maximum),
        ),
    }
}

/// Returns the minimum or the maximum of two indices.
fn min_or_max(is_minimum: bool, first: &LinearIndex, second: &LinearIndex) -> Option<LinearIndex> {
    let (a, b) = (first.range()?, second.range()?);
    let (name, range) = if is_minimum {
        ("min", (a.0.min(b.0), a.1.min(b.1)))
    } else {
        ("max", (a.0.max(b.0), a.1.max(b.1)))
    };
    let mut texts = [first.text(), second.text()];
    texts.sort();
    Some(LinearIndex::variable(
        format!("{name}({})", texts.join(", ")),
        range,
    ))
}

/// Builds a comparison of two values of one type.
///
/// # Errors
/// Returns an error if the types differ.
pub(super) fn comparison(name: &str, a: &Expression, b: &Expression) -> Result<Expression, Error> {
    if a.dtype != b.dtype {
        return Err(Error::wrong(format!("{name} of different types")));
    }
    let (name, a, b) = match name {
        "GT" => ("LT", b, a),
        "GE" => ("LE", b, a),
        same => (same, a, b),
    };
    let (Some(first), Some(second)) = (a.as_index(), b.as_index()) else {
        return Ok(Expression::from_operation(
            &name.to_ascii_lowercase(),
            "bool",
            &[a, b],
        ));
    };
    let difference = second.clone().add_multiple(first, -1);
    Expression::condition(difference.and_then(|difference| match name {
        "LE" => Condition::is_non_negative(&difference),
        "LT" => {
            Condition::is_non_negative(&difference.add_multiple(&LinearIndex::constant(1), -1)?)
        }
        "EQ" => Condition::is_zero(difference),
        _ => Condition::is_zero(difference).map(Condition::not),
    }))
}

/// Builds `And` or `Or` of two Boolean values.
///
/// # Errors
/// Returns an error if an operand is not Boolean.
pub(super) fn logic(name: &str, a: &Expression, b: &Expression) -> Result<Expression, Error> {
    if a.dtype != "bool" || b.dtype != "bool" {
        return Err(Error::wrong(format!(
            "{name} of a value that is not Boolean"
        )));
    }
    let (ExpressionForm::Condition(first), ExpressionForm::Condition(second)) = (&a.form, &b.form)
    else {
        return Ok(Expression::from_operation(
            &name.to_ascii_lowercase(),
            "bool",
            &[a, b],
        ));
    };
    let (first, second) = (first.clone(), second.clone());
    Expression::condition(Some(match name {
        "And" => first.and(second),
        _ => first.or(second),
    }))
}

/// Builds the negation of a Boolean value.
///
/// # Errors
/// Returns an error if the operand is not Boolean.
pub(super) fn not(a: &Expression) -> Result<Expression, Error> {
    match &a.form {
        ExpressionForm::Condition(condition) => {
            Expression::condition(Some(condition.clone().not()))
        }
        _ if a.dtype == "bool" => Ok(Expression::from_operation("not", "bool", &[a])),
        _ => Err(Error::wrong("Not of a value that is not Boolean")),
    }
}

/// Builds a selection: `if_true` where the condition is true, otherwise `if_false`.
///
/// # Errors
/// Returns an error without a condition or if the types differ.
pub(super) fn select(
    name: &str,
    dtype: &'static str,
    [condition, if_true, if_false]: [&Expression; 3],
) -> Result<Expression, Error> {
    if condition.dtype != "bool" || if_true.dtype != dtype || if_false.dtype != dtype {
        return Err(Error::wrong(format!("{name} of different types")));
    }
    if let ExpressionForm::Condition(inner) = &condition.form
        && let Some(is_true) = inner.value()
    {
        return Ok(if is_true {
            if_true.clone()
        } else {
            if_false.clone()
        });
    }
    let operation = Expression::from_operation(name, dtype, &[condition, if_true, if_false]);
    let (ExpressionForm::Condition(_), Some(first), Some(second)) =
        (&condition.form, if_true.as_index(), if_false.as_index())
    else {
        return Ok(operation);
    };
    let ranges = first.range().zip(second.range());
    let name = format!(
        "{name}({}, {}, {})",
        condition.text(),
        first.text(),
        second.text()
    );
    let index = ranges.map(|(a, b)| LinearIndex::variable(name, (a.0.min(b.0), a.1.max(b.1))));
    Expression::index(dtype, index)
}

/// Casts a value to another type.
///
/// # Errors
/// Returns an error if an index does not fit the type.
pub(super) fn cast(dtype: &'static str, value: &Expression) -> Result<Expression, Error> {
    match (&value.form, dtype) {
        _ if value.dtype == dtype => Ok(value.clone()),
        (ExpressionForm::Index(index), "int32" | "int64") => {
            Expression::index(dtype, Some(index.clone()))
        }
        _ => Ok(Expression::from_operation("cast", dtype, &[value])),
    }
}

/// Builds a function call.
///
/// # Errors
/// Returns an error for unknown functions and if the types differ.
pub(super) fn call(
    name: &str,
    dtype: &'static str,
    arguments: &[&Expression],
) -> Result<Expression, Error> {
    // `tir.exp`, `tirx.exp`, `prim.if_then_else`.
    let name = name.rsplit('.').next().unwrap_or(name);
    match (name, arguments) {
        ("if_then_else", &[condition, if_true, if_false]) => {
            select(name, dtype, [condition, if_true, if_false])
        }
        _ if arguments.iter().any(|argument| argument.dtype != dtype) => {
            Err(Error::wrong(format!("{name} of different types")))
        }
        _ if PURE_FUNCTIONS.contains(&name) => {
            Ok(Expression::from_operation(name, dtype, arguments))
        }
        _ => Err(Error::wrong(format!("a call of {name:?}"))),
    }
}

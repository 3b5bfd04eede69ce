//! Operators of two operands, choices, casts and functions, on indexes and on what tensors hold.

use super::condition::Condition;
use super::expression::{Expression, Form};
use super::index::Linear;
use crate::tvm_json::Error;

/// Functions that give the same for the same, and do nothing else: `tir.exp`, `tirx.exp`.
const FUNCTIONS: [&str; 39] = [
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

/// What is called `a + b` and the like, of two numbers of one type.
///
/// # Errors
/// Types that differ; of indexes, what is not understood.
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
        return Ok(Expression::made(&name.to_ascii_lowercase(), dtype, &[a, b]));
    };
    let index = match name {
        "Add" => first.clone().plus(second, 1),
        "Sub" => first.clone().plus(second, -1),
        "Mul" => match (first.value(), second.value()) {
            (_, Some(factor)) => first.times(factor),
            (Some(factor), _) => second.times(factor),
            _ => return Err(Error::wrong("a product of indexes")),
        },
        "Min" | "Max" => extreme(name == "Min", first, second),
        _ => {
            let positive = second.value().filter(|&divisor| divisor > 0);
            let range = first.range().zip(positive);
            // What rounds to zero rounds down where nothing is negative.
            let down = matches!(name, "FloorDiv" | "FloorMod");
            let range = range.filter(|((least, _), _)| down || *least >= 0);
            let Some((range, divisor)) = range else {
                return Err(Error::wrong(format!(
                    "{name} of indexes that may be negative"
                )));
            };
            Some(divided(name.ends_with("Mod"), first, range, divisor))
        }
    };
    Expression::index(dtype, index)
}

/// The quotient, or the rest, of an index of this range by a positive constant, rounded down.
fn divided(is_rest: bool, index: &Linear, range: (i64, i64), divisor: i64) -> Linear {
    let (least, greatest) = (range.0.div_euclid(divisor), range.1.div_euclid(divisor));
    match (is_rest, least == 0 && greatest == 0) {
        (true, true) => index.clone(),
        (true, false) => Linear::named(format!("({} % {divisor})", index.text()), (0, divisor - 1)),
        (false, _) => Linear::named(format!("({} / {divisor})", index.text()), (least, greatest)),
    }
}

/// The least of two indexes, or the greatest.
fn extreme(is_least: bool, first: &Linear, second: &Linear) -> Option<Linear> {
    let (a, b) = (first.range()?, second.range()?);
    let (name, range) = if is_least {
        ("min", (a.0.min(b.0), a.1.min(b.1)))
    } else {
        ("max", (a.0.max(b.0), a.1.max(b.1)))
    };
    let mut texts = [first.text(), second.text()];
    texts.sort();
    Some(Linear::named(
        format!("{name}({})", texts.join(", ")),
        range,
    ))
}

/// A comparison of two numbers of one type.
///
/// # Errors
/// Types that differ.
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
        return Ok(Expression::made(
            &name.to_ascii_lowercase(),
            "bool",
            &[a, b],
        ));
    };
    let difference = second.clone().plus(first, -1);
    Expression::condition(difference.and_then(|difference| match name {
        "LE" => Condition::not_negative(&difference),
        "LT" => Condition::not_negative(&difference.plus(&Linear::constant(1), -1)?),
        "EQ" => Condition::zero(difference),
        _ => Condition::zero(difference).map(Condition::not),
    }))
}

/// `And` or `Or` of two truths.
///
/// # Errors
/// They are none.
pub(super) fn logic(name: &str, a: &Expression, b: &Expression) -> Result<Expression, Error> {
    if a.dtype != "bool" || b.dtype != "bool" {
        return Err(Error::wrong(format!("{name} of what is no truth")));
    }
    let (Form::Condition(first), Form::Condition(second)) = (&a.form, &b.form) else {
        return Ok(Expression::made(
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

/// That something is not true.
///
/// # Errors
/// It is no truth.
pub(super) fn not(a: &Expression) -> Result<Expression, Error> {
    match &a.form {
        Form::Condition(condition) => Expression::condition(Some(condition.clone().not())),
        _ if a.dtype == "bool" => Ok(Expression::made("not", "bool", &[a])),
        _ => Err(Error::wrong("Not of what is no truth")),
    }
}

/// A choice of this name: the one where a condition holds, else the other.
///
/// # Errors
/// No condition; types that differ.
pub(super) fn choice(
    name: &str,
    dtype: &'static str,
    [condition, yes, no]: [&Expression; 3],
) -> Result<Expression, Error> {
    if condition.dtype != "bool" || yes.dtype != dtype || no.dtype != dtype {
        return Err(Error::wrong(format!("{name} of different types")));
    }
    if let Form::Condition(known) = &condition.form
        && let Some(holds) = known.value()
    {
        return Ok(if holds { yes.clone() } else { no.clone() });
    }
    let made = Expression::made(name, dtype, &[condition, yes, no]);
    let (Form::Condition(_), Some(first), Some(second)) =
        (&condition.form, yes.as_index(), no.as_index())
    else {
        return Ok(made);
    };
    let ranges = first.range().zip(second.range());
    let name = format!(
        "{name}({}, {}, {})",
        condition.text(),
        first.text(),
        second.text()
    );
    let index = ranges.map(|(a, b)| Linear::named(name, (a.0.min(b.0), a.1.max(b.1))));
    Expression::index(dtype, index)
}

/// A number as one of another type.
///
/// # Errors
/// An index that does not fit into the type.
pub(super) fn cast(dtype: &'static str, value: &Expression) -> Result<Expression, Error> {
    match (&value.form, dtype) {
        _ if value.dtype == dtype => Ok(value.clone()),
        (Form::Index(index), "int32" | "int64") => Expression::index(dtype, Some(index.clone())),
        _ => Ok(Expression::made("cast", dtype, &[value])),
    }
}

/// A function called with arguments.
///
/// # Errors
/// One that is not known; types that differ.
pub(super) fn call(
    name: &str,
    dtype: &'static str,
    arguments: &[&Expression],
) -> Result<Expression, Error> {
    // `tir.exp`, `tirx.exp`, `prim.if_then_else`.
    let name = name.rsplit('.').next().unwrap_or(name);
    match (name, arguments) {
        ("if_then_else", &[condition, yes, no]) => choice(name, dtype, [condition, yes, no]),
        _ if arguments.iter().any(|argument| argument.dtype != dtype) => {
            Err(Error::wrong(format!("{name} of different types")))
        }
        _ if FUNCTIONS.contains(&name) => Ok(Expression::made(name, dtype, arguments)),
        _ => Err(Error::wrong(format!("a call of {name:?}"))),
    }
}

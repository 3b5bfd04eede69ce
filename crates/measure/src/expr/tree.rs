//! Syntax tree of an expression, and its evaluation.

use std::collections::BTreeSet;
use std::fmt;

/// A node with its children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Node {
    Literal(i64),
    Name(String),
    Not(Box<Node>),
    Negate(Box<Node>),
    Binary(Operator, Box<Node>, Box<Node>),
    Call(Function, Vec<Node>),
}

/// A binary operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

/// A function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Ceildiv,
    Min,
    Max,
    Abs,
}

impl Function {
    /// Returns the function with this name.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "ceildiv" => Self::Ceildiv,
            "min" => Self::Min,
            "max" => Self::Max,
            "abs" => Self::Abs,
            _ => return None,
        })
    }
}

/// Reason why an expression has no value.
pub(super) enum EvalError {
    Overflow,
    DivisionByZero,
    Unknown(String),
}

impl fmt::Display for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Overflow => f.write_str("overflow of 64 bits"),
            Self::DivisionByZero => f.write_str("division by zero"),
            Self::Unknown(name) => write!(f, "unknown name `{name}`"),
        }
    }
}

impl Node {
    /// Adds all names in the tree.
    pub(super) fn collect_names<'a>(&'a self, names: &mut BTreeSet<&'a str>) {
        match self {
            Self::Literal(_) => {}
            Self::Name(name) => {
                names.insert(name);
            }
            Self::Not(inner) | Self::Negate(inner) => inner.collect_names(names),
            Self::Binary(_, left, right) => {
                left.collect_names(names);
                right.collect_names(names);
            }
            Self::Call(_, arguments) => arguments
                .iter()
                .for_each(|argument| argument.collect_names(names)),
        }
    }

    /// Evaluates the node; `lookup` returns the values of names.
    pub(super) fn evaluate(&self, lookup: &dyn Fn(&str) -> Option<i64>) -> Result<i64, EvalError> {
        match self {
            Self::Literal(value) => Ok(*value),
            Self::Name(name) => lookup(name).ok_or_else(|| EvalError::Unknown(name.clone())),
            Self::Not(inner) => Ok(i64::from(inner.evaluate(lookup)? == 0)),
            Self::Negate(inner) => inner
                .evaluate(lookup)?
                .checked_neg()
                .ok_or(EvalError::Overflow),
            Self::Binary(operator, left, right) => {
                let left = left.evaluate(lookup)?;
                // Short-circuit: the right side is not evaluated if the left side decides, as in `T != 0 &&
                // N % T == 0`.
                match operator {
                    Operator::And if left == 0 => Ok(0),
                    Operator::Or if left != 0 => Ok(1),
                    _ => operator.apply(left, right.evaluate(lookup)?),
                }
            }
            Self::Call(function, arguments) => {
                let values = arguments
                    .iter()
                    .map(|argument| argument.evaluate(lookup))
                    .collect::<Result<Vec<i64>, EvalError>>()?;
                function.apply(&values)
            }
        }
    }
}

impl Operator {
    fn apply(self, left: i64, right: i64) -> Result<i64, EvalError> {
        let value = match self {
            Self::Or => Some(i64::from(left != 0 || right != 0)),
            Self::And => Some(i64::from(left != 0 && right != 0)),
            Self::Equal => Some(i64::from(left == right)),
            Self::NotEqual => Some(i64::from(left != right)),
            Self::Less => Some(i64::from(left < right)),
            Self::LessEqual => Some(i64::from(left <= right)),
            Self::Greater => Some(i64::from(left > right)),
            Self::GreaterEqual => Some(i64::from(left >= right)),
            Self::Add => left.checked_add(right),
            Self::Subtract => left.checked_sub(right),
            Self::Multiply => left.checked_mul(right),
            Self::Divide => return Ok(floor_division(left, right)?.0),
            Self::Remainder => return Ok(floor_division(left, right)?.1),
        };
        value.ok_or(EvalError::Overflow)
    }
}

impl Function {
    /// The parser guarantees the number of `values`: two for `ceildiv`, one for `abs`, at least one for the
    /// others.
    fn apply(self, values: &[i64]) -> Result<i64, EvalError> {
        let value = match (self, values) {
            (Self::Ceildiv, [left, right]) => {
                let (quotient, remainder) = floor_division(*left, *right)?;
                quotient.checked_add(i64::from(remainder != 0))
            }
            (Self::Abs, [value]) => value.checked_abs(),
            (Self::Max, values) => values.iter().copied().max(),
            (_, values) => values.iter().copied().min(),
        };
        value.ok_or(EvalError::Overflow)
    }
}

/// Quotient rounded down, and remainder with the sign of `right`.
fn floor_division(left: i64, right: i64) -> Result<(i64, i64), EvalError> {
    if right == 0 {
        return Err(EvalError::DivisionByZero);
    }
    let quotient = left.checked_div(right).ok_or(EvalError::Overflow)?;
    let remainder = left.checked_rem(right).ok_or(EvalError::Overflow)?;
    if remainder != 0 && (remainder < 0) != (right < 0) {
        Ok((quotient - 1, remainder + right))
    } else {
        Ok((quotient, remainder))
    }
}

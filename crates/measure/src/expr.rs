//! The integer expressions of a manifest: sizes, launch shapes and constraints over names such as `TILE_M`.
//!
//! Integers of 64 bits, `+ - * / %`, comparisons, `&& || !`, parentheses, `ceildiv(a, b)`, `min`, `max`, `abs`;
//! no more, so that a manifest from elsewhere cannot do anything. Precedence is that of C; a comparison is 1 or 0 and
//! cannot be chained. `/` rounds down and `%` has the sign of the divisor, which is what C does for positive numbers.
//! Whatever leaves 64 bits, or divides by zero, is an error that names the expression.

use std::collections::BTreeSet;
use std::fmt;

mod parse;

/// An expression, parsed once and evaluated for many configurations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Expression {
    text: String,
    root: Node,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Node {
    Literal(i64),
    Name(String),
    Not(Box<Node>),
    Negate(Box<Node>),
    Binary(Operator, Box<Node>, Box<Node>),
    Call(Function, Vec<Node>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Function {
    Ceildiv,
    Min,
    Max,
    Abs,
}

impl Function {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "ceildiv" => Self::Ceildiv,
            "min" => Self::Min,
            "max" => Self::Max,
            "abs" => Self::Abs,
            _ => return None,
        })
    }
}

/// Whether `name` means a function here and so cannot name a parameter.
pub(crate) fn is_function(name: &str) -> bool {
    Function::named(name).is_some()
}

impl Expression {
    /// Parses `text`; the error says what is wrong in it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let root = parse::parse(text).map_err(|reason| format!("{reason} in `{text}`"))?;
        Ok(Self {
            text: text.to_owned(),
            root,
        })
    }

    /// The expression that is always `value`.
    pub(crate) fn literal(value: i64) -> Self {
        Self {
            text: value.to_string(),
            root: Node::Literal(value),
        }
    }

    /// All names in it.
    pub(crate) fn names(&self) -> BTreeSet<&str> {
        let mut names = BTreeSet::new();
        self.root.collect_names(&mut names);
        names
    }

    /// Its value where `lookup` gives the names theirs.
    pub(crate) fn evaluate(&self, lookup: &dyn Fn(&str) -> Option<i64>) -> Result<i64, String> {
        self.root
            .evaluate(lookup)
            .map_err(|fault| format!("{fault} in `{}`", self.text))
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Why an expression has no value.
enum Fault {
    Overflow,
    DivisionByZero,
    Unknown(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Overflow => f.write_str("overflow of 64 bits"),
            Self::DivisionByZero => f.write_str("division by zero"),
            Self::Unknown(name) => write!(f, "unknown name `{name}`"),
        }
    }
}

impl Node {
    fn collect_names<'a>(&'a self, names: &mut BTreeSet<&'a str>) {
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
            Self::Call(_, arguments) => arguments.iter().for_each(|one| one.collect_names(names)),
        }
    }

    fn evaluate(&self, lookup: &dyn Fn(&str) -> Option<i64>) -> Result<i64, Fault> {
        match self {
            Self::Literal(value) => Ok(*value),
            Self::Name(name) => lookup(name).ok_or_else(|| Fault::Unknown(name.clone())),
            Self::Not(inner) => Ok(i64::from(inner.evaluate(lookup)? == 0)),
            Self::Negate(inner) => inner.evaluate(lookup)?.checked_neg().ok_or(Fault::Overflow),
            Self::Binary(operator, left, right) => {
                let left = left.evaluate(lookup)?;
                // The right side is left alone where the left decides: `T != 0 && N % T == 0`.
                match operator {
                    Operator::And if left == 0 => Ok(0),
                    Operator::Or if left != 0 => Ok(1),
                    _ => operator.apply(left, right.evaluate(lookup)?),
                }
            }
            Self::Call(function, arguments) => {
                let values = arguments
                    .iter()
                    .map(|one| one.evaluate(lookup))
                    .collect::<Result<Vec<i64>, Fault>>()?;
                function.apply(&values)
            }
        }
    }
}

impl Operator {
    fn apply(self, left: i64, right: i64) -> Result<i64, Fault> {
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
        value.ok_or(Fault::Overflow)
    }
}

impl Function {
    /// `values` has as many as the parser let through: two for `ceildiv`, one for `abs`, some for the others.
    fn apply(self, values: &[i64]) -> Result<i64, Fault> {
        let value = match (self, values) {
            (Self::Ceildiv, [left, right]) => {
                let (quotient, remainder) = floor_division(*left, *right)?;
                quotient.checked_add(i64::from(remainder != 0))
            }
            (Self::Abs, [value]) => value.checked_abs(),
            (Self::Max, values) => values.iter().copied().max(),
            (_, values) => values.iter().copied().min(),
        };
        value.ok_or(Fault::Overflow)
    }
}

/// Quotient rounded down, and what remains, with the sign of `right`.
fn floor_division(left: i64, right: i64) -> Result<(i64, i64), Fault> {
    if right == 0 {
        return Err(Fault::DivisionByZero);
    }
    let quotient = left.checked_div(right).ok_or(Fault::Overflow)?;
    let remainder = left.checked_rem(right).ok_or(Fault::Overflow)?;
    if remainder != 0 && (remainder < 0) != (right < 0) {
        Ok((quotient - 1, remainder + right))
    } else {
        Ok((quotient, remainder))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<i64, String> {
        Expression::parse(text)?.evaluate(&|name| match name {
            "M" => Some(100),
            "TILE" => Some(32),
            "ZERO" => Some(0),
            _ => None,
        })
    }

    #[test]
    fn precedence_is_that_of_c() {
        assert_eq!(value("1 + 2 * 3"), Ok(7));
        assert_eq!(value("(1 + 2) * 3"), Ok(9));
        assert_eq!(value("10 - 4 - 3"), Ok(3));
        assert_eq!(value("100 / 10 * 2"), Ok(20));
        assert_eq!(value("-2 * -3"), Ok(6));
        assert_eq!(value("1 < 2 && 3 >= 4 || 5 != 6"), Ok(1));
        assert_eq!(value("!(M == 100) || M % TILE == 4"), Ok(1));
        assert_eq!(value("!M + 1"), Ok(1));
    }

    #[test]
    fn functions_take_names_and_expressions() {
        assert_eq!(value("ceildiv(M, TILE)"), Ok(4));
        assert_eq!(value("ceildiv(96, TILE)"), Ok(3));
        assert_eq!(value("min(M, TILE, 7)"), Ok(7));
        assert_eq!(value("max(M - 200, abs(-3))"), Ok(3));
    }

    #[test]
    fn division_rounds_down_on_both_sides_of_zero() {
        assert_eq!(value("7 / 2"), Ok(3));
        assert_eq!(value("-7 / 2"), Ok(-4));
        assert_eq!(value("-7 % 2"), Ok(1));
        assert_eq!(value("7 % -2"), Ok(-1));
        assert_eq!(value("ceildiv(-7, 2)"), Ok(-3));
        assert_eq!(value("ceildiv(7, -2)"), Ok(-3));
    }

    #[test]
    fn what_has_no_value_is_an_error_with_the_expression() {
        let reason = |text| value(text).unwrap_err();
        assert_eq!(reason("M / ZERO"), "division by zero in `M / ZERO`");
        assert_eq!(
            reason("ceildiv(M, 0)"),
            "division by zero in `ceildiv(M, 0)`"
        );
        assert_eq!(
            reason("9223372036854775807 + 1"),
            "overflow of 64 bits in `9223372036854775807 + 1`"
        );
        assert!(reason("(-9223372036854775807 - 1) / -1").contains("overflow"));
        assert!(reason("NO + 1").contains("unknown name `NO`"));
    }

    #[test]
    fn a_side_that_is_decided_already_is_not_evaluated() {
        assert_eq!(value("ZERO != 0 && M / ZERO == 1"), Ok(0));
        assert_eq!(value("ZERO == 0 || M / ZERO == 1"), Ok(1));
    }

    #[test]
    fn names_are_found_wherever_they_stand() {
        let parsed = Expression::parse("!A + -B * min(C, max(D, 1)) == E").unwrap();
        assert_eq!(
            parsed.names().into_iter().collect::<Vec<_>>(),
            ["A", "B", "C", "D", "E"]
        );
    }
}

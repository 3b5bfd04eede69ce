//! Integer expressions of a manifest: sizes, launch shapes and constraints over names such as `TILE_M`.
//!
//! 64-bit integers, `+ - * / %`, comparisons, `&& || !`, parentheses, `ceildiv(a, b)`, `min`, `max`, `abs`.
//! Nothing more, so that an untrusted manifest cannot do anything else. Precedence is that of C. A
//! comparison is 1 or 0 and cannot be chained. `/` rounds down and `%` has the sign of the divisor, as in C
//! for positive numbers. Overflow of 64 bits and division by zero are errors that name the expression.

mod parse;
mod tree;

use std::collections::BTreeSet;
use std::fmt;

use tree::{Function, Node};

/// An expression, parsed once and evaluated for many configurations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Expression {
    text: String,
    root: Node,
}

/// Returns whether `name` is a function, which cannot name a parameter.
pub(crate) fn is_function(name: &str) -> bool {
    Function::from_name(name).is_some()
}

impl Expression {
    /// Parses `text`; the error is a message.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let root = parse::parse(text).map_err(|reason| format!("{reason} in `{text}`"))?;
        Ok(Self {
            text: text.to_owned(),
            root,
        })
    }

    /// A constant expression.
    pub(crate) fn literal(value: i64) -> Self {
        Self {
            text: value.to_string(),
            root: Node::Literal(value),
        }
    }

    /// All names in the expression.
    pub(crate) fn names(&self) -> BTreeSet<&str> {
        let mut names = BTreeSet::new();
        self.root.collect_names(&mut names);
        names
    }

    /// Evaluates the expression; `lookup` returns the values of names.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn evaluate_text(text: &str) -> Result<i64, String> {
        Expression::parse(text)?.evaluate(&|name| match name {
            "M" => Some(100),
            "TILE" => Some(32),
            "ZERO" => Some(0),
            _ => None,
        })
    }

    #[test]
    fn precedence_is_that_of_c() {
        assert_eq!(evaluate_text("1 + 2 * 3"), Ok(7));
        assert_eq!(evaluate_text("(1 + 2) * 3"), Ok(9));
        assert_eq!(evaluate_text("10 - 4 - 3"), Ok(3));
        assert_eq!(evaluate_text("100 / 10 * 2"), Ok(20));
        assert_eq!(evaluate_text("-2 * -3"), Ok(6));
        assert_eq!(evaluate_text("1 < 2 && 3 >= 4 || 5 != 6"), Ok(1));
        assert_eq!(evaluate_text("!(M == 100) || M % TILE == 4"), Ok(1));
        assert_eq!(evaluate_text("!M + 1"), Ok(1));
    }

    #[test]
    fn functions_take_names_and_expressions() {
        assert_eq!(evaluate_text("ceildiv(M, TILE)"), Ok(4));
        assert_eq!(evaluate_text("ceildiv(96, TILE)"), Ok(3));
        assert_eq!(evaluate_text("min(M, TILE, 7)"), Ok(7));
        assert_eq!(evaluate_text("max(M - 200, abs(-3))"), Ok(3));
    }

    #[test]
    fn division_rounds_down_on_both_sides_of_zero() {
        assert_eq!(evaluate_text("7 / 2"), Ok(3));
        assert_eq!(evaluate_text("-7 / 2"), Ok(-4));
        assert_eq!(evaluate_text("-7 % 2"), Ok(1));
        assert_eq!(evaluate_text("7 % -2"), Ok(-1));
        assert_eq!(evaluate_text("ceildiv(-7, 2)"), Ok(-3));
        assert_eq!(evaluate_text("ceildiv(7, -2)"), Ok(-3));
    }

    #[test]
    fn evaluation_errors_name_the_expression() {
        let reason = |text| evaluate_text(text).unwrap_err();
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
    fn logical_operators_short_circuit() {
        assert_eq!(evaluate_text("ZERO != 0 && M / ZERO == 1"), Ok(0));
        assert_eq!(evaluate_text("ZERO == 0 || M / ZERO == 1"), Ok(1));
    }

    #[test]
    fn names_are_found_anywhere_in_an_expression() {
        let parsed = Expression::parse("!A + -B * min(C, max(D, 1)) == E").unwrap();
        assert_eq!(
            parsed.names().into_iter().collect::<Vec<_>>(),
            ["A", "B", "C", "D", "E"]
        );
    }
}

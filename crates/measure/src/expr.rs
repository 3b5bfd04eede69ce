//! The integer expressions of a manifest: sizes, launch shapes and constraints over names such as `TILE_M`.
//!
//! Integers of 64 bits, `+ - * / %`, comparisons, `&& || !`, parentheses, `ceildiv(a, b)`, `min`, `max`, `abs`;
//! no more, so that a manifest from elsewhere cannot do anything. Precedence is that of C; a comparison is 1 or 0 and
//! cannot be chained. `/` rounds down and `%` has the sign of the divisor, which is what C does for positive numbers.
//! Whatever leaves 64 bits, or divides by zero, is an error that names the expression.

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

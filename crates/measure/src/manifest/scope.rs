//! The expressions of a manifest, and the names that they are evaluated with.

use std::collections::BTreeMap;

use super::super::expr::Expression;
use super::super::space::Config;
use super::typed::Formula;

impl Formula {
    /// As an expression; the error says what is wrong in it.
    pub(super) fn parse(self) -> Result<Expression, String> {
        match self {
            Self::Number(value) => Ok(Expression::literal(value)),
            Self::Text(text) => Expression::parse(&text),
        }
    }
}

/// Names and their values, as an expression sees them.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    pub(super) params: &'a BTreeMap<String, i64>,
    pub(super) config: &'a Config,
}

impl Scope<'_> {
    /// The value of an expression; the error says why it has none.
    pub(super) fn evaluate(self, expression: &Expression) -> Result<i64, String> {
        expression.evaluate(&|name| {
            let value = self.config.get(name).or_else(|| self.params.get(name));
            value.copied()
        })
    }
}

/// The nearest `f64`.
#[expect(
    clippy::cast_precision_loss,
    reason = "sizes and counts of operations; beyond 2^53 the nearest will do"
)]
pub(super) fn float(value: i64) -> f64 {
    value as f64
}

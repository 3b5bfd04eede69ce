//! Evaluation scope of a manifest's expressions.

use std::collections::BTreeMap;

use super::super::expr::Expression;
use super::super::space::Config;
use super::raw_manifest::Formula;

impl Formula {
    /// Parses the expression; the error is a message.
    pub(super) fn parse(self) -> Result<Expression, String> {
        match self {
            Self::Number(value) => Ok(Expression::literal(value)),
            Self::Text(text) => Expression::parse(&text),
        }
    }
}

/// Names and their values for the evaluation of an expression.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    pub(super) params: &'a BTreeMap<String, i64>,
    pub(super) config: &'a Config,
}

impl Scope<'_> {
    /// Evaluates an expression; the error is the reason why it has no value.
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
pub(super) fn to_f64(value: i64) -> f64 {
    value as f64
}

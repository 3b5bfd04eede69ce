//! Search spaces: parameters with values, and conditions that are parsed but never executed as code.

mod evaluate;
mod expression;

pub use evaluate::{EvaluationError, Operand};
pub use expression::{Expression, ExpressionError};

use crate::value::Value;

/// A parameter of a space.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// Name.
    pub name: String,
    /// Type as the source names it (`int`, `uint`, `string`), if stated.
    pub type_name: Option<String>,
    /// Allowed values in order.
    pub values: Vec<Value>,
    /// Text of the values where the source has an expression.
    pub expression: Option<String>,
    /// Default value, if stated.
    pub default: Option<Value>,
}

/// A condition of a space.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// Text in the source.
    pub text: String,
    /// Parsed condition; `None` if it is outside the grammar, which makes the valid set unknown.
    pub expression: Option<Expression>,
}

/// A search space.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Space {
    /// Parameters in order.
    pub parameters: Vec<Parameter>,
    /// Conditions; `None` if the source cannot state them (a Kernel Tuner cache has the product only).
    pub conditions: Option<Vec<Condition>>,
}

impl Space {
    /// Number of points of the Cartesian product; saturates.
    #[must_use]
    pub fn cartesian(&self) -> u64 {
        let sizes = self
            .parameters
            .iter()
            .map(|parameter| parameter.values.len() as u64);
        sizes.fold(1, u64::saturating_mul)
    }

    /// Counts the valid points. `None` if the conditions are unknown, or one is outside the grammar or fails, or the
    /// product has more than `limit` points.
    #[must_use]
    pub fn count_valid(&self, limit: u64) -> Option<u64> {
        let mut count = 0;
        self.for_each_valid(limit, |_| count += 1)?;
        Some(count)
    }

    /// Calls `visit` with the values of each valid point, last parameter fastest. `None` as for
    /// [`count_valid`](Self::count_valid).
    pub fn for_each_valid<'a>(
        &'a self,
        limit: u64,
        mut visit: impl FnMut(&[&'a Value]),
    ) -> Option<()> {
        let conditions = self.conditions.as_ref()?;
        if self.cartesian() > limit {
            return None;
        }
        let parsed: Option<Vec<&Expression>> = conditions
            .iter()
            .map(|condition| condition.expression.as_ref())
            .collect();
        let mut point = Vec::with_capacity(self.parameters.len());
        self.visit(&parsed?, &mut point, &mut visit)
    }

    /// Returns whether a point, an object of parameter values, is in the space: it has the parameters of the space and no
    /// others, each with an allowed value, and satisfies the conditions that are known. `None` if a condition cannot be
    /// evaluated.
    #[must_use]
    pub fn contains(&self, point: &Value) -> Option<bool> {
        let Some(fields) = point.as_object() else {
            return Some(false);
        };
        let has_value = |parameter: &Parameter| {
            let value = point.get(&parameter.name).map(Operand::from);
            let mut allowed = parameter.values.iter().map(Operand::from);
            value.is_some_and(|value| allowed.any(|other| value.equals(&other)))
        };
        if fields.len() != self.parameters.len() || !self.parameters.iter().all(has_value) {
            return Some(false);
        }
        let lookup = |name: &str| point.get(name).map(Operand::from);
        for condition in self.conditions.iter().flatten() {
            let expression = condition.expression.as_ref()?;
            if !expression.evaluate(&lookup).ok()?.is_true() {
                return Some(false);
            }
        }
        Some(true)
    }

    fn visit<'a>(
        &'a self,
        conditions: &[&Expression],
        point: &mut Vec<&'a Value>,
        visit: &mut impl FnMut(&[&'a Value]),
    ) -> Option<()> {
        let Some(parameter) = self.parameters.get(point.len()) else {
            let lookup = |name: &str| {
                let at = self
                    .parameters
                    .iter()
                    .position(|parameter| parameter.name == name)?;
                point.get(at).map(|value| Operand::from(*value))
            };
            for condition in conditions {
                if !condition.evaluate(&lookup).ok()?.is_true() {
                    return Some(());
                }
            }
            visit(point);
            return Some(());
        };
        for value in &parameter.values {
            point.push(value);
            self.visit(conditions, point, visit)?;
            point.pop();
        }
        Some(())
    }
}

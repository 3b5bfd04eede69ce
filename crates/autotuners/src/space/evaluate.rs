//! Evaluation of expressions with the number semantics of Python.

use super::expression::{Expression, Node, Operator};
use crate::value::{Number, Value};

/// Maximum number of elements of a list.
const MAX_ELEMENTS: usize = 1 << 20;

/// A value during evaluation.
#[derive(Debug, Clone, PartialEq)]
pub enum Operand {
    /// A boolean; a number 0 or 1 in arithmetic.
    Bool(bool),
    /// An integer.
    Integer(i64),
    /// A double.
    Float(f64),
    /// Text.
    Text(String),
    /// A list.
    List(Vec<Operand>),
}

/// Reason why an expression has no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct EvaluationError(pub String);

impl From<&Value> for Operand {
    fn from(value: &Value) -> Self {
        match value {
            Value::Null => Self::Text("None".to_owned()),
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(number) => {
                let integer = number.text().parse().ok().filter(|_| number.is_integer());
                integer.map_or(Self::Float(number.value()), Self::Integer)
            }
            Value::Text(text) => Self::Text(text.clone()),
            Value::List(list) => Self::List(list.iter().map(Self::from).collect()),
            Value::Object(_) => Self::Text(value.to_json()),
        }
    }
}

impl Operand {
    /// Truth as Python defines it.
    #[must_use]
    pub fn is_true(&self) -> bool {
        match self {
            Self::Bool(value) => *value,
            Self::Integer(value) => *value != 0,
            Self::Float(value) => *value != 0.0,
            Self::Text(text) => !text.is_empty(),
            Self::List(list) => !list.is_empty(),
        }
    }

    /// Equality as Python defines it: `1`, `1.0` and `True` are equal.
    #[must_use]
    pub fn equals(&self, other: &Self) -> bool {
        compare(Operator::Equal, self, other).unwrap_or(false)
    }

    /// Converts to a value of the model. Floats have a point, as in Python.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let number = |text: String| Number::parse(&text).map_or(Value::Null, Value::Number);
        match self {
            Self::Bool(value) => Value::Bool(*value),
            Self::Integer(value) => number(value.to_string()),
            Self::Float(value) => number(format!("{value:?}")),
            Self::Text(text) => Value::text(text),
            Self::List(list) => Value::List(list.iter().map(Self::to_value).collect()),
        }
    }

    fn float(&self) -> Result<f64, EvaluationError> {
        match self {
            Self::Float(value) => Ok(*value),
            other => {
                let integer = other.integer().ok_or_else(|| not_a_number(other))?;
                Ok(integer_to_float(integer))
            }
        }
    }

    fn integer(&self) -> Option<i64> {
        match self {
            Self::Bool(value) => Some(i64::from(*value)),
            Self::Integer(value) => Some(*value),
            _ => None,
        }
    }
}

#[allow(
    clippy::cast_precision_loss,
    reason = "Python rounds integers to the nearest double, too"
)]
fn integer_to_float(value: i64) -> f64 {
    value as f64
}

fn not_a_number(operand: &Operand) -> EvaluationError {
    EvaluationError(format!(
        "`{}` is not a number",
        operand.to_value().to_json()
    ))
}

impl Expression {
    /// Evaluates the expression; `lookup` returns the value of a name.
    ///
    /// # Errors
    /// A name is unknown, an operand has the wrong type, a division by zero or an integer beyond 64 bits.
    pub fn evaluate(
        &self,
        lookup: &dyn Fn(&str) -> Option<Operand>,
    ) -> Result<Operand, EvaluationError> {
        evaluate(&self.0, lookup)
    }
}

fn evaluate(
    node: &Node,
    lookup: &dyn Fn(&str) -> Option<Operand>,
) -> Result<Operand, EvaluationError> {
    match node {
        Node::Integer(value) => Ok(Operand::Integer(*value)),
        Node::Float(value) => Ok(Operand::Float(*value)),
        Node::Text(text) => Ok(Operand::Text(text.clone())),
        Node::Bool(value) => Ok(Operand::Bool(*value)),
        Node::Name(name) => {
            lookup(name).ok_or_else(|| EvaluationError(format!("unknown name `{name}`")))
        }
        Node::Negate(inner) => binary(
            Operator::Subtract,
            &Operand::Integer(0),
            &evaluate(inner, lookup)?,
        ),
        Node::Not(inner) => Ok(Operand::Bool(!evaluate(inner, lookup)?.is_true())),
        Node::And(nodes) => short_circuit(nodes, false, lookup),
        Node::Or(nodes) => short_circuit(nodes, true, lookup),
        Node::Binary(operator, left, right) => binary(
            *operator,
            &evaluate(left, lookup)?,
            &evaluate(right, lookup)?,
        ),
        Node::Compare(first, rest) => {
            let mut left = evaluate(first, lookup)?;
            for (operator, node) in rest {
                let right = evaluate(node, lookup)?;
                if !compare(*operator, &left, &right)? {
                    return Ok(Operand::Bool(false));
                }
                left = right;
            }
            Ok(Operand::Bool(true))
        }
        Node::List(nodes) => {
            let list: Result<_, _> = nodes.iter().map(|node| evaluate(node, lookup)).collect();
            list.map(Operand::List)
        }
        Node::Range(arguments) => range(arguments, lookup),
        Node::Comprehension(element, name, source) => {
            let Operand::List(source) = evaluate(source, lookup)? else {
                return Err(EvaluationError("a comprehension needs a list".to_owned()));
            };
            let mut list = Vec::with_capacity(source.len());
            for value in source {
                let inner = |wanted: &str| {
                    if wanted == name {
                        Some(value.clone())
                    } else {
                        lookup(wanted)
                    }
                };
                list.push(evaluate(element, &inner)?);
            }
            Ok(Operand::List(list))
        }
    }
}

/// `and` and `or` return the operand that decides.
fn short_circuit(
    nodes: &[Node],
    stop: bool,
    lookup: &dyn Fn(&str) -> Option<Operand>,
) -> Result<Operand, EvaluationError> {
    let mut last = Operand::Bool(!stop);
    for node in nodes {
        last = evaluate(node, lookup)?;
        if last.is_true() == stop {
            break;
        }
    }
    Ok(last)
}

fn range(
    arguments: &[Node],
    lookup: &dyn Fn(&str) -> Option<Operand>,
) -> Result<Operand, EvaluationError> {
    let mut bounds = Vec::new();
    for argument in arguments {
        let operand = evaluate(argument, lookup)?;
        bounds.push(operand.integer().ok_or_else(|| not_a_number(&operand))?);
    }
    let (start, stop, step) = match bounds.as_slice() {
        [stop] => (0, *stop, 1),
        [start, stop] => (*start, *stop, 1),
        [start, stop, step] => (*start, *stop, *step),
        _ => {
            return Err(EvaluationError(
                "range needs one to three numbers".to_owned(),
            ));
        }
    };
    if step == 0 {
        return Err(EvaluationError("a range with step 0".to_owned()));
    }
    let mut list = Vec::new();
    let mut value = start;
    while (step > 0 && value < stop) || (step < 0 && value > stop) {
        if list.len() == MAX_ELEMENTS {
            return Err(EvaluationError(
                "a list of more than 1048576 values".to_owned(),
            ));
        }
        list.push(Operand::Integer(value));
        let Some(next) = value.checked_add(step) else {
            break;
        };
        value = next;
    }
    Ok(Operand::List(list))
}

fn compare(operator: Operator, left: &Operand, right: &Operand) -> Result<bool, EvaluationError> {
    use std::cmp::Ordering;
    let order = match (left, right) {
        (Operand::Text(left), Operand::Text(right)) => Some(left.cmp(right)),
        (Operand::List(left), Operand::List(right)) if left == right => Some(Ordering::Equal),
        _ => match (left.integer(), right.integer()) {
            (Some(left), Some(right)) => Some(left.cmp(&right)),
            _ => match (left.float(), right.float()) {
                (Ok(left), Ok(right)) => left.partial_cmp(&right),
                _ if matches!(operator, Operator::Equal | Operator::NotEqual) => None,
                (Err(error), _) | (_, Err(error)) => return Err(error),
            },
        },
    };
    Ok(match operator {
        Operator::NotEqual => order != Some(Ordering::Equal),
        Operator::Less => order == Some(Ordering::Less),
        Operator::LessEqual => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        Operator::Greater => order == Some(Ordering::Greater),
        Operator::GreaterEqual => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
        _ => order == Some(Ordering::Equal),
    })
}

fn binary(operator: Operator, left: &Operand, right: &Operand) -> Result<Operand, EvaluationError> {
    if let (Operator::Add, Operand::List(left), Operand::List(right)) = (operator, left, right) {
        return Ok(Operand::List(left.iter().chain(right).cloned().collect()));
    }
    match (left.integer(), right.integer()) {
        (Some(left), Some(right)) if operator != Operator::Divide => {
            integers(operator, left, right)
        }
        _ => floats(operator, left.float()?, right.float()?).map(Operand::Float),
    }
}

fn division_by_zero() -> EvaluationError {
    EvaluationError("division by zero".to_owned())
}

fn integers(operator: Operator, left: i64, right: i64) -> Result<Operand, EvaluationError> {
    if matches!(operator, Operator::FloorDivide | Operator::Modulo) && right == 0 {
        return Err(division_by_zero());
    }
    let result = match operator {
        Operator::Add => left.checked_add(right),
        Operator::Subtract => left.checked_sub(right),
        Operator::Multiply => left.checked_mul(right),
        Operator::FloorDivide => {
            let inexact = left.checked_rem(right).is_some_and(|rest| rest != 0);
            let down = i64::from(inexact && (left < 0) != (right < 0));
            left.checked_div(right).map(|quotient| quotient - down)
        }
        Operator::Modulo => left.checked_rem(right).map(|rest| {
            if rest != 0 && (rest < 0) != (right < 0) {
                rest + right
            } else {
                rest
            }
        }),
        Operator::Power if right < 0 => {
            let power = integer_to_float(left).powf(integer_to_float(right));
            return Ok(Operand::Float(power));
        }
        Operator::Power => u32::try_from(right)
            .ok()
            .and_then(|power| left.checked_pow(power)),
        _ => None,
    };
    let overflow = || EvaluationError("an integer beyond 64 bits".to_owned());
    result.map(Operand::Integer).ok_or_else(overflow)
}

fn floats(operator: Operator, left: f64, right: f64) -> Result<f64, EvaluationError> {
    let divides = matches!(
        operator,
        Operator::Divide | Operator::FloorDivide | Operator::Modulo
    );
    if divides && right == 0.0 {
        return Err(division_by_zero());
    }
    Ok(match operator {
        Operator::Add => left + right,
        Operator::Subtract => left - right,
        Operator::Multiply => left * right,
        Operator::Divide => left / right,
        Operator::FloorDivide => (left / right).floor(),
        Operator::Modulo => {
            let rest = left % right;
            if rest != 0.0 && (rest < 0.0) != (right < 0.0) {
                rest + right
            } else {
                rest
            }
        }
        _ => left.powf(right),
    })
}

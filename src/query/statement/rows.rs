//! Comparisons of rows and of a value with several, as comparisons of values.
//!
//! | typed | planned |
//! |---|---|
//! | `(a, b) = (1, 2)` | `a = 1 AND b = 2` |
//! | `(a, b) < (1, 2)` | `a < 1 OR a = 1 AND b < 2` |
//! | `(a, b) IN ((1, 2), (3, 4))` | `a = 1 AND b = 2 OR a = 3 AND b = 4` |
//! | `CASE x WHEN 1 THEN y END` | `CASE WHEN x = 1 THEN y END` |
//!
//! The planner compares rows as structs and values of CASE by their bits: NULL and both zeros are compared otherwise than in SQL.

use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, UnaryOperator};

use super::super::dialect::pieces::{binary, nothing, unnested};

/// Rows of a list at most that are compared one by one; more stay structs.
const MOST: usize = 64;

/// Rewrites a comparison.
pub(super) fn compare(expr: &mut Expr) {
    let rewritten = match expr {
        Expr::BinaryOp { left, op, right } => match (unnested(left), unnested(right)) {
            (Expr::Tuple(left), Expr::Tuple(right)) if left.len() == right.len() => {
                compared(left, op, right)
            }
            _ => None,
        },
        Expr::InList {
            expr,
            list,
            negated,
        } => match unnested(expr) {
            Expr::Tuple(row) if list.len() <= MOST => among(row, list, *negated),
            _ => None,
        },
        Expr::Case {
            operand,
            conditions,
            ..
        } => {
            let is_column = |value: &mut Box<Expr>| {
                matches!(
                    value.as_ref(),
                    Expr::Identifier(_) | Expr::CompoundIdentifier(_)
                )
            };
            // Whatever else is computed once.
            if let Some(value) = operand.take_if(is_column) {
                for when in conditions {
                    let condition = std::mem::replace(&mut when.condition, nothing());
                    when.condition = binary(value.as_ref().clone(), BinaryOperator::Eq, condition);
                }
            }
            None
        }
        _ => None,
    };
    if let Some(rewritten) = rewritten {
        *expr = rewritten;
    }
}

/// Compares two rows of as many values; `None` for other operators.
fn compared(left: &[Expr], op: &BinaryOperator, right: &[Expr]) -> Option<Expr> {
    let pairs = || left.iter().cloned().zip(right.iter().cloned());
    match op {
        BinaryOperator::Eq => all_equal(pairs()),
        BinaryOperator::NotEq => Some(not(all_equal(pairs())?)),
        BinaryOperator::Lt | BinaryOperator::LtEq => ordered(pairs(), BinaryOperator::Lt, op),
        BinaryOperator::Gt | BinaryOperator::GtEq => ordered(pairs(), BinaryOperator::Gt, op),
        _ => None,
    }
}

fn all_equal(pairs: impl Iterator<Item = (Expr, Expr)>) -> Option<Expr> {
    let equal = pairs.map(|(left, right)| binary(left, BinaryOperator::Eq, right));
    equal
        .reduce(|all, next| binary(all, BinaryOperator::And, next))
        .map(nested)
}

/// The last pair is compared by `last`, those before by `strict`.
fn ordered(
    pairs: impl DoubleEndedIterator<Item = (Expr, Expr)>,
    strict: BinaryOperator,
    last: &BinaryOperator,
) -> Option<Expr> {
    let mut pairs = pairs.rev();
    let (left, right) = pairs.next()?;
    let least = binary(left, last.clone(), right);
    Some(pairs.fold(nested(least), |rest, (left, right)| {
        let is_before = binary(left.clone(), strict.clone(), right.clone());
        let is_equal = binary(left, BinaryOperator::Eq, right);
        nested(binary(
            is_before,
            BinaryOperator::Or,
            binary(is_equal, BinaryOperator::And, rest),
        ))
    }))
}

fn among(row: &[Expr], list: &[Expr], negated: bool) -> Option<Expr> {
    let mut any: Option<Expr> = None;
    for other in list {
        let Expr::Tuple(other) = unnested(other) else {
            return None;
        };
        if other.len() != row.len() {
            return None;
        }
        let equal = compared(row, &BinaryOperator::Eq, other)?;
        any = Some(match any {
            Some(any) => binary(any, BinaryOperator::Or, equal),
            None => equal,
        });
    }
    let any = nested(any?);
    Some(if negated { not(any) } else { any })
}

fn nested(expr: Expr) -> Expr {
    Expr::Nested(Box::new(expr))
}

fn not(expr: Expr) -> Expr {
    Expr::UnaryOp {
        op: UnaryOperator::Not,
        expr: Box::new(expr),
    }
}

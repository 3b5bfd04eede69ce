//! Rewrites comparisons of rows, and simple CASE expressions, to comparisons of values.
//!
//! | input | rewritten |
//! |---|---|
//! | `(a, b) = (1, 2)` | `a = 1 AND b = 2` |
//! | `(a, b) < (1, 2)` | `a < 1 OR a = 1 AND b < 2` |
//! | `(a, b) IN ((1, 2), (3, 4))` | `a = 1 AND b = 2 OR a = 3 AND b = 4` |
//! | `CASE x WHEN 1 THEN y END` | `CASE WHEN x = 1 THEN y END` |
//!
//! The planner compares rows as structs, and values of CASE bitwise. Both treat NULL and signed zeros differently than
//! SQL.

use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, UnaryOperator};

use crate::syntax::pieces::{binary_expr, null_expr, strip_parentheses};

/// Maximum number of rows of a list that are compared one by one. Longer lists remain structs.
const MAX_COMPARED_ROWS: usize = 64;

/// Rewrites a comparison.
pub(super) fn rewrite_comparison(expr: &mut Expr) {
    let rewritten = match expr {
        Expr::BinaryOp { left, op, right } => {
            match (strip_parentheses(left), strip_parentheses(right)) {
                (Expr::Tuple(left), Expr::Tuple(right)) if left.len() == right.len() => {
                    compare_rows(left, op, right)
                }
                _ => None,
            }
        }
        Expr::InList {
            expr,
            list,
            negated,
        } => match strip_parentheses(expr) {
            Expr::Tuple(row) if list.len() <= MAX_COMPARED_ROWS => any_equal(row, list, *negated),
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
            // Other operands are evaluated once.
            if let Some(value) = operand.take_if(is_column) {
                for when in conditions {
                    let condition = std::mem::replace(&mut when.condition, null_expr());
                    when.condition =
                        binary_expr(value.as_ref().clone(), BinaryOperator::Eq, condition);
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

/// Compares two rows of the same length; `None` for other operators.
fn compare_rows(left: &[Expr], op: &BinaryOperator, right: &[Expr]) -> Option<Expr> {
    let pairs = || left.iter().cloned().zip(right.iter().cloned());
    match op {
        BinaryOperator::Eq => all_equal(pairs()),
        BinaryOperator::NotEq => Some(negate(all_equal(pairs())?)),
        BinaryOperator::Lt | BinaryOperator::LtEq => {
            compare_lexicographically(pairs(), BinaryOperator::Lt, op)
        }
        BinaryOperator::Gt | BinaryOperator::GtEq => {
            compare_lexicographically(pairs(), BinaryOperator::Gt, op)
        }
        _ => None,
    }
}

fn all_equal(pairs: impl Iterator<Item = (Expr, Expr)>) -> Option<Expr> {
    let equal = pairs.map(|(left, right)| binary_expr(left, BinaryOperator::Eq, right));
    equal
        .reduce(|all, next| binary_expr(all, BinaryOperator::And, next))
        .map(parenthesize)
}

/// Lexicographic comparison: `last` compares the last pair, `strict` those before.
fn compare_lexicographically(
    pairs: impl DoubleEndedIterator<Item = (Expr, Expr)>,
    strict: BinaryOperator,
    last: &BinaryOperator,
) -> Option<Expr> {
    let mut pairs = pairs.rev();
    let (left, right) = pairs.next()?;
    let least = binary_expr(left, last.clone(), right);
    Some(pairs.fold(parenthesize(least), |rest, (left, right)| {
        let is_before = binary_expr(left.clone(), strict.clone(), right.clone());
        let is_equal = binary_expr(left, BinaryOperator::Eq, right);
        parenthesize(binary_expr(
            is_before,
            BinaryOperator::Or,
            binary_expr(is_equal, BinaryOperator::And, rest),
        ))
    }))
}

fn any_equal(row: &[Expr], list: &[Expr], negated: bool) -> Option<Expr> {
    let mut any: Option<Expr> = None;
    for other in list {
        let Expr::Tuple(other) = strip_parentheses(other) else {
            return None;
        };
        if other.len() != row.len() {
            return None;
        }
        let equal = compare_rows(row, &BinaryOperator::Eq, other)?;
        any = Some(match any {
            Some(any) => binary_expr(any, BinaryOperator::Or, equal),
            None => equal,
        });
    }
    let any = parenthesize(any?);
    Some(if negated { negate(any) } else { any })
}

fn parenthesize(expr: Expr) -> Expr {
    Expr::Nested(Box::new(expr))
}

fn negate(expr: Expr) -> Expr {
    Expr::UnaryOp {
        op: UnaryOperator::Not,
        expr: Box::new(expr),
    }
}

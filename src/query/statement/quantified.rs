//! `x = ANY(list)`, where the list may hold NULL.
//!
//! | typed | planned |
//! |---|---|
//! | `x = ANY([1, 2])` | `x IN (1, 2)` |
//! | `x > ANY(list)` | `NOT x <= ALL(list)` |
//!
//! The planner takes a comparison with NULL for false in `ANY`, and for NULL in `ALL`.

use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, UnaryOperator};

use super::super::dialect::pieces::{nothing, unnested};

/// Rewrites `ANY` of a list.
pub(super) fn write(expr: &mut Expr) {
    if let Expr::AnyOp {
        left,
        compare_op,
        right,
        ..
    } = expr
    {
        let left = Box::new(std::mem::replace(left.as_mut(), nothing()));
        let right = Box::new(std::mem::replace(right.as_mut(), nothing()));
        *expr = any(left, compare_op.clone(), right);
    }
}

fn any(left: Box<Expr>, compare_op: BinaryOperator, right: Box<Expr>) -> Expr {
    let same = |right| Expr::AnyOp {
        left: left.clone(),
        compare_op: compare_op.clone(),
        right,
        is_some: false,
    };
    let Some(opposite) = opposite(&compare_op) else {
        return same(right);
    };
    match unnested(&right).clone() {
        Expr::Array(list) if compare_op == BinaryOperator::Eq && !list.elem.is_empty() => {
            Expr::InList {
                expr: left,
                list: list.elem,
                negated: false,
            }
        }
        Expr::Subquery(subquery) => same(Box::new(Expr::Subquery(subquery))),
        right => {
            let all = Expr::AllOp {
                left,
                compare_op: opposite,
                right: Box::new(right),
            };
            Expr::UnaryOp {
                op: UnaryOperator::Not,
                expr: Box::new(all),
            }
        }
    }
}

/// The comparison that is true where `operator` is false; `None` for other operators.
fn opposite(operator: &BinaryOperator) -> Option<BinaryOperator> {
    Some(match operator {
        BinaryOperator::Eq => BinaryOperator::NotEq,
        BinaryOperator::NotEq => BinaryOperator::Eq,
        BinaryOperator::Lt => BinaryOperator::GtEq,
        BinaryOperator::LtEq => BinaryOperator::Gt,
        BinaryOperator::Gt => BinaryOperator::LtEq,
        BinaryOperator::GtEq => BinaryOperator::Lt,
        _ => return None,
    })
}

//! `x = ANY(list)` for lists with NULL.
//!
//! | input | rewritten |
//! |---|---|
//! | `x = ANY([1, 2])` | `x IN (1, 2)` |
//! | `x > ANY(list)` | `NOT x <= ALL(list)` |
//!
//! The planner evaluates a comparison with NULL as false in `ANY`, and as NULL in `ALL`.

use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, UnaryOperator};

use crate::syntax::pieces::{null_expr, strip_parentheses};

/// Rewrites `ANY` of a list.
pub(super) fn rewrite_any(expr: &mut Expr) {
    if let Expr::AnyOp {
        left,
        compare_op,
        right,
        ..
    } = expr
    {
        let left = Box::new(std::mem::replace(left.as_mut(), null_expr()));
        let right = Box::new(std::mem::replace(right.as_mut(), null_expr()));
        *expr = any_of_list(left, compare_op.clone(), right);
    }
}

fn any_of_list(left: Box<Expr>, compare_op: BinaryOperator, right: Box<Expr>) -> Expr {
    let same = |right| Expr::AnyOp {
        left: left.clone(),
        compare_op: compare_op.clone(),
        right,
        is_some: false,
    };
    let Some(opposite) = negate_comparison(&compare_op) else {
        return same(right);
    };
    match strip_parentheses(&right).clone() {
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

/// The comparison that is true if `operator` is false; `None` for other operators.
fn negate_comparison(operator: &BinaryOperator) -> Option<BinaryOperator> {
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

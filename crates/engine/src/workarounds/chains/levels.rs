//! Depth of chains.

use datafusion::logical_expr::{Expr, Operator};

/// Returns the operands if the expression has this operator.
pub(super) fn sides(expr: &Expr, op: Operator) -> Option<(&Expr, &Expr)> {
    match expr {
        Expr::BinaryExpr(binary) if binary.op == op => Some((&binary.left, &binary.right)),
        _ => None,
    }
}

/// Returns the depth of the leftmost path of this operator.
pub(super) fn levels(expr: &Expr, op: Operator) -> usize {
    let left = std::iter::successors(Some(expr), |expr| Some(sides(expr, op)?.0));
    left.count() - 1
}

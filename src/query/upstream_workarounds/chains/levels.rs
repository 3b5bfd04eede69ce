//! How deep a chain is.

use datafusion::logical_expr::{Expr, Operator};

/// The sides of a node of this operator.
pub(super) fn sides(expr: &Expr, op: Operator) -> Option<(&Expr, &Expr)> {
    match expr {
        Expr::BinaryExpr(binary) if binary.op == op => Some((&binary.left, &binary.right)),
        _ => None,
    }
}

/// Levels on the left.
pub(super) fn levels(expr: &Expr, op: Operator) -> usize {
    let left = std::iter::successors(Some(expr), |expr| Some(sides(expr, op)?.0));
    left.count() - 1
}

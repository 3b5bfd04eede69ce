//! Operator precedence of `a IS DISTINCT FROM b AND c`, which the parser reads as `a IS DISTINCT FROM (b AND c)`.
//!
//! `AND` and `OR` bind less tightly. A condition is split at these words and combined again:
//!
//! ```text
//! p AND (x IS DISTINCT FROM (y OR z))   ─▶   p, AND, x IS DISTINCT FROM y, OR, z
//!                                       ─▶   (p AND (x IS DISTINCT FROM y)) OR z
//! ```
//!
//! Parentheses stay intact. A parenthesized right operand moves to the left side, which is equivalent and unambiguous
//! (see `workarounds::distinct_from` of `tensorsql-engine`).

use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, UnaryOperator};

use crate::syntax::pieces::{binary_expr, null_expr};

/// Corrects the grouping of a condition.
pub(super) fn regroup(expr: &mut Expr) {
    if !is_boolean(expr) {
        return;
    }
    let mut parts = BooleanChain::default();
    parts.take(std::mem::replace(expr, null_expr()));
    *expr = parts.into_expr();
}

fn is_boolean(expr: &Expr) -> bool {
    match expr {
        Expr::IsDistinctFrom(..) | Expr::IsNotDistinctFrom(..) => true,
        Expr::UnaryOp { op, .. } => *op == UnaryOperator::Not,
        Expr::BinaryOp { op, .. } => is_logical(op),
        _ => false,
    }
}

fn is_logical(operator: &BinaryOperator) -> bool {
    matches!(operator, BinaryOperator::And | BinaryOperator::Or)
}

/// Operands between `AND` and `OR`: the first one, then each with the operator before it.
#[derive(Default)]
struct BooleanChain {
    first: Option<Expr>,
    rest: Vec<(BinaryOperator, Expr)>,
}

impl BooleanChain {
    fn from_expr(expr: Expr) -> Self {
        let mut parts = Self::default();
        parts.take(expr);
        parts
    }

    /// Appends the operands of `expr`, which is the first of a chain or follows an operator.
    fn take(&mut self, expr: Expr) {
        // Chains are left-deep and may be long.
        let (mut expr, mut after) = (expr, Vec::new());
        loop {
            match expr {
                Expr::BinaryOp { left, op, right } if is_logical(&op) => {
                    after.push((op, *right));
                    expr = *left;
                }
                other => {
                    self.append(None, other);
                    break;
                }
            }
        }
        for (word, right) in after.into_iter().rev() {
            self.append(Some(word), right);
        }
    }

    fn append(&mut self, word: Option<BinaryOperator>, expr: Expr) {
        let Self { first, rest } = split_operand(expr);
        match word {
            Some(word) => self.rest.extend(first.map(|first| (word, first))),
            None => self.first = first,
        }
        self.rest.extend(rest);
    }

    fn into_expr(self) -> Expr {
        let mut alternatives = Vec::new();
        let mut all = self.first.unwrap_or_else(null_expr);
        for (word, part) in self.rest {
            if word == BinaryOperator::And {
                all = binary_expr(all, BinaryOperator::And, part);
            } else {
                alternatives.push(std::mem::replace(&mut all, part));
            }
        }
        alternatives.push(all);
        let either = |left, right| binary_expr(left, BinaryOperator::Or, right);
        alternatives
            .into_iter()
            .reduce(either)
            .unwrap_or_else(null_expr)
    }
}

/// Splits an operand, which may contain the operators that follow it.
fn split_operand(expr: Expr) -> BooleanChain {
    let with_first = |expr: Expr, of: &dyn Fn(Box<Expr>) -> Expr| {
        let mut parts = BooleanChain::from_expr(expr);
        parts.first = parts.first.map(|first| of(Box::new(first)));
        parts
    };
    match expr {
        Expr::IsDistinctFrom(left, right) => match *right {
            Expr::Nested(_) => single_chain(Expr::IsDistinctFrom(right, left)),
            right => with_first(right, &|first| Expr::IsDistinctFrom(left.clone(), first)),
        },
        Expr::IsNotDistinctFrom(left, right) => match *right {
            Expr::Nested(_) => single_chain(Expr::IsNotDistinctFrom(right, left)),
            right => with_first(right, &|first| Expr::IsNotDistinctFrom(left.clone(), first)),
        },
        Expr::UnaryOp { op, expr } if op == UnaryOperator::Not => {
            with_first(*expr, &|expr| Expr::UnaryOp { op, expr })
        }
        // Parenthesized expressions are visited separately.
        other => single_chain(other),
    }
}

fn single_chain(expr: Expr) -> BooleanChain {
    BooleanChain {
        first: Some(expr),
        rest: Vec::new(),
    }
}

//! `a IS DISTINCT FROM b AND c`: the parser takes `b AND c` for the right operand, and whatever follows.
//!
//! `AND` and `OR` bind less. So a condition is taken apart into what stands between these words, and put
//! together again:
//!
//! ```text
//! p AND (x IS DISTINCT FROM (y OR z))   ─▶   p, AND, x IS DISTINCT FROM y, OR, z
//!                                       ─▶   (p AND (x IS DISTINCT FROM y)) OR z
//! ```
//!
//! What is in parentheses stays together. On the right of the operator it moves to the left, which is
//! the same and leaves no doubt (see `upstream_workarounds::distinct_from`).

use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, UnaryOperator};

use super::super::dialect::pieces::{binary, nothing};

/// Groups a condition as it is meant.
pub(super) fn regroup(expr: &mut Expr) {
    if !is_boolean(expr) {
        return;
    }
    let mut parts = Parts::default();
    parts.take(std::mem::replace(expr, nothing()));
    *expr = parts.together();
}

fn is_boolean(expr: &Expr) -> bool {
    match expr {
        Expr::IsDistinctFrom(..) | Expr::IsNotDistinctFrom(..) => true,
        Expr::UnaryOp { op, .. } => *op == UnaryOperator::Not,
        Expr::BinaryOp { op, .. } => is_word(op),
        _ => false,
    }
}

fn is_word(operator: &BinaryOperator) -> bool {
    matches!(operator, BinaryOperator::And | BinaryOperator::Or)
}

/// What stands between `AND` and `OR`: the first, then each with the word before it.
#[derive(Default)]
struct Parts {
    first: Option<Expr>,
    rest: Vec<(BinaryOperator, Expr)>,
}

impl Parts {
    fn of(expr: Expr) -> Self {
        let mut parts = Self::default();
        parts.take(expr);
        parts
    }

    /// Appends the parts of `expr`, the first of a chain or what stands after a word.
    fn take(&mut self, expr: Expr) {
        // Chains lean to the left and may be long.
        let (mut expr, mut after) = (expr, Vec::new());
        loop {
            match expr {
                Expr::BinaryOp { left, op, right } if is_word(&op) => {
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
        let Self { first, rest } = apart(expr);
        match word {
            Some(word) => self.rest.extend(first.map(|first| (word, first))),
            None => self.first = first,
        }
        self.rest.extend(rest);
    }

    fn together(self) -> Expr {
        let mut alternatives = Vec::new();
        let mut all = self.first.unwrap_or_else(nothing);
        for (word, part) in self.rest {
            if word == BinaryOperator::And {
                all = binary(all, BinaryOperator::And, part);
            } else {
                alternatives.push(std::mem::replace(&mut all, part));
            }
        }
        alternatives.push(all);
        let either = |left, right| binary(left, BinaryOperator::Or, right);
        alternatives
            .into_iter()
            .reduce(either)
            .unwrap_or_else(nothing)
    }
}

/// The parts of an operand, which are several where it swallowed what follows.
fn apart(expr: Expr) -> Parts {
    let with_first = |expr: Expr, of: &dyn Fn(Box<Expr>) -> Expr| {
        let mut parts = Parts::of(expr);
        parts.first = parts.first.map(|first| of(Box::new(first)));
        parts
    };
    match expr {
        Expr::IsDistinctFrom(left, right) => match *right {
            Expr::Nested(_) => only(Expr::IsDistinctFrom(right, left)),
            right => with_first(right, &|first| Expr::IsDistinctFrom(left.clone(), first)),
        },
        Expr::IsNotDistinctFrom(left, right) => match *right {
            Expr::Nested(_) => only(Expr::IsNotDistinctFrom(right, left)),
            right => with_first(right, &|first| Expr::IsNotDistinctFrom(left.clone(), first)),
        },
        Expr::UnaryOp { op, expr } if op == UnaryOperator::Not => {
            with_first(*expr, &|expr| Expr::UnaryOp { op, expr })
        }
        // In parentheses: it has a turn of its own.
        other => only(other),
    }
}

fn only(expr: Expr) -> Parts {
    Parts {
        first: Some(expr),
        rest: Vec::new(),
    }
}

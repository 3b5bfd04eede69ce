//! Limits of the length and depth of a statement.
//!
//! The parser itself rejects 50 levels of parentheses. It reads chains (`a + b + c`, `x::a::b`, `UNION` after `UNION`)
//! in a loop, and builds a tree whose depth is the chain length. Even dropping such a tree takes that much stack. The
//! tokens of a text are therefore counted before parsing.

use std::ops::ControlFlow::{Break, Continue};

use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, Query, SetExpr};
use datafusion::sql::sqlparser::dialect::Dialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

use crate::syntax::pieces::null_expr;
use tsql_engine::{MAX_FLAT_TERMS, balanced_tree, flatten_chain};
use tsql_engine::{MAX_OPERATOR_DEPTH, too_deep_message};
use tsql_error::{Error, Result};

/// Maximum number of operators of a chain, including the chains around it.
const LONGEST: usize = 100_000;

/// Maximum number of queries that set operations such as `UNION` combine.
const MAX_SET_OPERATIONS: usize = 1000;

/// Rejects a text with a chain that is too long even for parsing.
///
/// # Errors
/// [`Error::Refused`] with an alternative.
pub(super) fn check_chain_length(sql: &str, dialect: &dyn Dialect) -> Result<()> {
    // An operator and its operand take at least two bytes.
    if sql.len() < 2 * LONGEST {
        return Ok(());
    }
    let Ok(tokens) = Tokenizer::new(dialect, sql).tokenize() else {
        // The parser reports the error.
        return Ok(());
    };
    let (mut around, mut sum, mut here) = (Vec::new(), 0_usize, 0_usize);
    for token in &tokens {
        match token {
            Token::LParen | Token::LBracket => {
                around.push(here);
                here = 0;
            }
            Token::RParen | Token::RBracket => {
                sum -= here;
                here = around.pop().unwrap_or(0);
            }
            Token::Comma | Token::SemiColon => {
                sum -= here;
                here = 0;
            }
            token if deepens(token) => {
                here += 1;
                sum += 1;
            }
            _ => {}
        }
        if sum > LONGEST {
            return Err(Error::Refused(format!(
                "a chain of more than {LONGEST} operators\n\
                 hint: use `x IN (...)` for many comparisons, a table or `VALUES (...)` for many \
                 rows"
            )));
        }
    }
    Ok(())
}

/// Returns whether a token may deepen the tree.
fn deepens(token: &Token) -> bool {
    match token {
        Token::Word(word) => matches!(
            word.keyword,
            Keyword::AND
                | Keyword::OR
                | Keyword::IS
                | Keyword::IN
                | Keyword::LIKE
                | Keyword::ILIKE
                | Keyword::SIMILAR
                | Keyword::BETWEEN
                | Keyword::COLLATE
                | Keyword::AT
                | Keyword::JOIN
                | Keyword::UNION
                | Keyword::EXCEPT
                | Keyword::INTERSECT
        ),
        Token::Number(..)
        | Token::SingleQuotedString(_)
        | Token::DoubleQuotedString(_)
        | Token::EscapedStringLiteral(_)
        | Token::NationalStringLiteral(_)
        | Token::HexStringLiteral(_)
        | Token::Whitespace(_)
        | Token::Period => false,
        _ => true,
    }
}

/// Rejects too many queries in one set operation.
pub(super) fn check_set_operations(query: &Query) -> Result<()> {
    let mut body = query.body.as_ref();
    let mut count = 1;
    while let SetExpr::SetOperation { left, .. } = body {
        count += 1;
        body = left;
    }
    if count <= MAX_SET_OPERATIONS {
        return Ok(());
    }
    Err(Error::Refused(format!(
        "{count} queries in one UNION, EXCEPT or INTERSECT, expected at most \
         {MAX_SET_OPERATIONS}\n\
         hint: use `VALUES (...), (...)` for constant rows, `IN (...)` for many values of a column"
    )))
}

/// Balances the tree of a long chain of conditions.
pub(super) fn balance(expr: &mut Expr) {
    let op = match expr {
        Expr::BinaryOp { op, .. } if is_logical(op) => op.clone(),
        _ => return,
    };
    let chain = std::iter::successors(Some(&*expr), |expr| match expr {
        Expr::BinaryOp { left, op: own, .. } if *own == op => Some(left.as_ref()),
        _ => None,
    });
    if chain.count() <= MAX_FLAT_TERMS {
        return;
    }
    let terms = flatten_chain(std::mem::replace(expr, null_expr()), |expr| match expr {
        Expr::BinaryOp {
            left,
            op: own,
            right,
        } if own == op => Continue([*left, *right]),
        other => Break(other),
    });
    let join = |left, right| {
        let (left, right, op) = (Box::new(left), Box::new(right), op.clone());
        Expr::BinaryOp { left, op, right }
    };
    *expr = balanced_tree(terms, join).unwrap_or_else(null_expr);
}

fn is_logical(op: &BinaryOperator) -> bool {
    matches!(op, BinaryOperator::And | BinaryOperator::Or)
}

/// Depth of a visitor in operators other than AND and OR, whose trees are balanced.
#[derive(Default)]
pub(super) struct OperatorDepth(usize);

impl OperatorDepth {
    pub(super) fn enter(&mut self, expr: &Expr) -> Result<()> {
        self.0 += operator_count(expr);
        if self.0 > MAX_OPERATOR_DEPTH {
            return Err(Error::Refused(too_deep_message()));
        }
        Ok(())
    }

    pub(super) fn leave(&mut self, expr: &Expr) {
        self.0 = self.0.saturating_sub(operator_count(expr));
    }
}

fn operator_count(expr: &Expr) -> usize {
    let balanced = matches!(expr, Expr::BinaryOp { op, .. } if is_logical(op));
    usize::from(!balanced)
}

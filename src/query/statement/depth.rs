//! How long and deep a statement may be.
//!
//! The parser itself refuses what nests 50 deep in parentheses. Chains (`a + b + c`, `x::a::b`, `UNION`
//! after `UNION`) it reads in a loop, and makes of them a tree as deep as they are long, which even to
//! drop takes as much stack. So the words of a text are counted before it is parsed.

use std::ops::ControlFlow::{Break, Continue};

use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, Query, SetExpr};
use datafusion::sql::sqlparser::dialect::Dialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

use super::super::dialect::pieces::nothing;
use crate::error::{Error, Result};
use crate::query::upstream_workarounds::chains::trees::{FLAT, terms, tree};
use crate::query::upstream_workarounds::chains::{DEEPEST, too_deep};

/// Operators of a chain, those of the chains around it among them.
const LONGEST: usize = 100_000;

/// Queries that `UNION` and its like join.
const UNITED: usize = 1000;

/// Refuses a text with a chain that is too long even to be parsed.
///
/// # Errors
/// [`Error::Refused`] with what may be written instead.
pub(super) fn bounded(sql: &str, dialect: &dyn Dialect) -> Result<()> {
    // Two bytes at least are an operator and what it is applied to.
    if sql.len() < 2 * LONGEST {
        return Ok(());
    }
    let Ok(tokens) = Tokenizer::new(dialect, sql).tokenize() else {
        // The parser says what is wrong.
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
            token if links(token) => {
                here += 1;
                sum += 1;
            }
            _ => {}
        }
        if sum > LONGEST {
            return Err(Error::Refused(format!(
                "a chain of more than {LONGEST} operators\n\
                 hint: `x IN (...)` for many comparisons, a table or `VALUES (...)` for many rows"
            )));
        }
    }
    Ok(())
}

/// May it make a tree deeper?
fn links(token: &Token) -> bool {
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

/// Refuses too many queries in a row.
pub(super) fn united(query: &Query) -> Result<()> {
    let mut body = query.body.as_ref();
    let mut count = 1;
    while let SetExpr::SetOperation { left, .. } = body {
        count += 1;
        body = left;
    }
    if count <= UNITED {
        return Ok(());
    }
    Err(Error::Refused(format!(
        "{count} queries in one UNION, EXCEPT or INTERSECT: at most {UNITED} are taken\n\
         hint: `VALUES (...), (...)` for rows that are written out, `IN (...)` for many values of a column"
    )))
}

/// Makes a tree of a long chain of conditions.
pub(super) fn balance(expr: &mut Expr) {
    let op = match expr {
        Expr::BinaryOp { op, .. } if is_word(op) => op.clone(),
        _ => return,
    };
    let chain = std::iter::successors(Some(&*expr), |expr| match expr {
        Expr::BinaryOp { left, op: own, .. } if *own == op => Some(left.as_ref()),
        _ => None,
    });
    if chain.count() <= FLAT {
        return;
    }
    let terms = terms(std::mem::replace(expr, nothing()), |expr| match expr {
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
    *expr = tree(terms, join).unwrap_or_else(nothing);
}

fn is_word(op: &BinaryOperator) -> bool {
    matches!(op, BinaryOperator::And | BinaryOperator::Or)
}

/// Counts how deep a visitor is in operators other than AND and OR, of which trees are balanced.
#[derive(Default)]
pub(super) struct Depth(usize);

impl Depth {
    pub(super) fn enter(&mut self, expr: &Expr) -> Result<()> {
        self.0 += counts(expr);
        if self.0 > DEEPEST {
            return Err(Error::Refused(too_deep()));
        }
        Ok(())
    }

    pub(super) fn leave(&mut self, expr: &Expr) {
        self.0 = self.0.saturating_sub(counts(expr));
    }
}

fn counts(expr: &Expr) -> usize {
    let balanced = matches!(expr, Expr::BinaryOp { op, .. } if is_word(op));
    usize::from(!balanced)
}

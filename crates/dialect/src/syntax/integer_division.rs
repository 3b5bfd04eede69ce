//! `a // b` of DuckDB, which is `a / b`: a division of integers gives an integer.

use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr};
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;

use super::pieces::binary_expr;

/// Parses two slashes and the divisor after `expr`; `None` if something else follows.
pub(super) fn parse(
    parser: &mut Parser<'_>,
    expr: &Expr,
    precedence: u8,
) -> Option<Result<Expr, ParserError>> {
    let is_slash = |index| parser.token_at(index).token == Token::Div;
    // Blanks are tokens, so the slashes are adjacent.
    let first = (parser.index()..)
        .find(|index| !matches!(parser.token_at(*index).token, Token::Whitespace(_)))?;
    if !is_slash(first) || !is_slash(first + 1) {
        return None;
    }
    parser.next_token();
    parser.next_token();
    let divisor = parser.parse_subexpr(precedence);
    Some(divisor.map(|divisor| binary_expr(expr.clone(), BinaryOperator::Divide, divisor)))
}

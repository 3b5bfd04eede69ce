//! `x IN ((SELECT a), 8)`: a list whose first value is a subquery. The parser would read the subquery as the whole
//! list.

use datafusion::sql::sqlparser::ast::Expr;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;

/// Parses a list that begins with a parenthesized value, after `expr`; `None` if something else follows.
pub(super) fn parse_in_list(
    parser: &mut Parser<'_>,
    expr: &Expr,
) -> Option<Result<Expr, ParserError>> {
    let negated = peek_in_list(parser)?;
    if negated {
        parser.next_token();
    }
    parser.next_token();
    Some(parse_list(parser).map(|list| Expr::InList {
        expr: Box::new(expr.clone()),
        list,
        negated,
    }))
}

fn parse_list(parser: &mut Parser<'_>) -> Result<Vec<Expr>, ParserError> {
    parser.expect_token(&Token::LParen)?;
    let list = parser.parse_comma_separated(Parser::parse_expr)?;
    parser.expect_token(&Token::RParen)?;
    Ok(list)
}

/// Returns `Some(true)` if the next tokens are `NOT IN ((...),`, `Some(false)` for `IN ((...),`, and `None` otherwise.
fn peek_in_list(parser: &Parser<'_>) -> Option<bool> {
    let tokens = (parser.index()..).map(|index| &parser.token_at(index).token);
    let mut tokens = tokens
        .filter(|token| !matches!(token, Token::Whitespace(_)))
        .peekable();
    let is = |token: &Token, keyword: Keyword| matches!(token, Token::Word(word) if word.keyword == keyword);
    let negated = tokens.next_if(|token| is(token, Keyword::NOT)).is_some();
    tokens.next_if(|token| is(token, Keyword::IN))?;
    tokens.next_if_eq(&&Token::LParen)?;
    tokens.next_if_eq(&&Token::LParen)?;
    let mut depth = 1_usize;
    while depth > 0 {
        match tokens.next()? {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            Token::EOF => return None,
            _ => (),
        }
    }
    tokens.next_if_eq(&&Token::Comma).map(|_| negated)
}

#[cfg(test)]
mod tests {
    use arrow::util::pretty::pretty_format_batches;

    use crate::collect;
    use tsql_engine::new_context;

    #[tokio::test]
    async fn the_first_value_of_a_list_may_be_a_subquery() {
        let context = new_context(None).unwrap();
        for (condition, count) in [
            ("x IN ((SELECT 1), 2)", 2),
            ("x NOT IN ((SELECT 1), (SELECT 2))", 1),
            ("x IN ((SELECT 1))", 1),
            ("x IN ((SELECT 1) UNION SELECT 2)", 2),
            ("x IN (SELECT 1 UNION SELECT (SELECT 3))", 2),
            ("x IN ((1 + 1) * 1, 1)", 2),
            ("x IN ((1), (2), (7))", 2),
            ("(x, 1) IN ((1, 1), (2, 5))", 1),
            ("x NOT  IN\n( (SELECT 1 -- )\n), 3)", 1),
            ("NOT x IN ((SELECT 1), 3) AND x IN ((SELECT 2), 3)", 1),
        ] {
            let sql = format!(
                "SELECT count(*) AS n FROM (VALUES (1), (2), (3)) AS t(x) WHERE {condition}"
            );
            let rows = collect(&context, &sql).await.unwrap();
            let text = pretty_format_batches(&rows).unwrap().to_string();
            assert!(text.contains(&format!("| {count} |")), "{sql}: {text}");
        }
    }
}

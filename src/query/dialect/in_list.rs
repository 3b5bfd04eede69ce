//! `x IN ((SELECT a), 8)`: a list whose first value is a subquery, which the parser takes for the whole list.

use datafusion::sql::sqlparser::ast::Expr;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;

/// The list of values that comes next; `None` where something else does.
pub(super) fn parsed(parser: &mut Parser<'_>, expr: &Expr) -> Option<Result<Expr, ParserError>> {
    let is_keyword = |place: usize, keyword: Keyword| {
        let token = &parser.peek_nth_token_ref(place).token;
        matches!(token, Token::Word(word) if word.keyword == keyword)
    };
    let negated = is_keyword(0, Keyword::NOT);
    let place = usize::from(negated);
    if !is_keyword(place, Keyword::IN) || !begins_with_parenthesized(parser, place + 1) {
        return None;
    }
    for _ in 0..=place {
        parser.next_token();
    }
    Some(list(parser).map(|list| Expr::InList {
        expr: Box::new(expr.clone()),
        list,
        negated,
    }))
}

fn list(parser: &mut Parser<'_>) -> Result<Vec<Expr>, ParserError> {
    parser.expect_token(&Token::LParen)?;
    let list = parser.parse_comma_separated(Parser::parse_expr)?;
    parser.expect_token(&Token::RParen)?;
    Ok(list)
}

/// Whether the tokens from a place on are `((...), `.
fn begins_with_parenthesized(parser: &Parser<'_>, place: usize) -> bool {
    let token = |place: usize| &parser.peek_nth_token_ref(place).token;
    if *token(place) != Token::LParen || *token(place + 1) != Token::LParen {
        return false;
    }
    let mut depth = 1_usize;
    for place in place + 2.. {
        match token(place) {
            Token::LParen => depth += 1,
            Token::RParen if depth == 1 => return *token(place + 1) == Token::Comma,
            Token::RParen => depth -= 1,
            Token::EOF => break,
            _ => (),
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use arrow::util::pretty::pretty_format_batches;

    use crate::query::collect;
    use crate::query::engine::engine;

    #[tokio::test]
    async fn the_first_value_of_a_list_may_be_a_subquery() {
        let context = engine(None).unwrap();
        for (condition, count) in [
            ("x IN ((SELECT 1), 2)", 2),
            ("x NOT IN ((SELECT 1), (SELECT 2))", 1),
            ("x IN ((SELECT 1))", 1),
            ("x IN ((SELECT 1) UNION SELECT 2)", 2),
            ("x IN (SELECT 1 UNION SELECT (SELECT 3))", 2),
            ("x IN ((1 + 1) * 1, 1)", 2),
            ("x IN ((1), (2), (7))", 2),
            ("(x, 1) IN ((1, 1), (2, 5))", 1),
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

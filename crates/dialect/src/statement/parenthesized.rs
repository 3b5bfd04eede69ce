//! DuckDB statements in parentheses: `FROM (SUMMARIZE t)`, `WITH p AS (PIVOT t ON k) ...`.
//!
//! The parser accepts only queries there. Each such statement is parsed separately, and a table with a reserved name
//! replaces it in the text. After parsing, the query replaces that table.

use datafusion::sql::sqlparser::ast::{Query, Statement, TableFactor};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};

use crate::syntax::pieces::derived_table;
use crate::syntax::{TsqlDialect, leading};

/// Maximum nesting depth of statements. The parser rejects deeper ones.
const MAX_DEPTH: usize = 16;

/// Prefix of the reserved table names, before a number.
const NAME: &str = "__statement_";

/// Replaces parenthesized statements by reserved tables, and returns the statements as queries.
///
/// # Errors
/// The syntax error of a statement.
pub(super) fn extract_statements(
    words: Vec<TokenWithSpan>,
    found: &mut Vec<Query>,
) -> Result<Vec<TokenWithSpan>, ParserError> {
    extract_nested(words, found, MAX_DEPTH)
}

/// Like [`extract_statements`], with a maximum nesting depth.
fn extract_nested(
    words: Vec<TokenWithSpan>,
    found: &mut Vec<Query>,
    deepest: usize,
) -> Result<Vec<TokenWithSpan>, ParserError> {
    let Some(deepest) = deepest.checked_sub(1) else {
        return Ok(words);
    };
    let mut left = Vec::with_capacity(words.len());
    let mut rest = words.as_slice();
    while let Some((word, after)) = rest.split_first() {
        left.push(word.clone());
        rest = after;
        if word.token != Token::LParen || !begins_statement(after) {
            continue;
        }
        let Some((inner, after)) = split_at_parenthesis(after) else {
            continue;
        };
        let inner = extract_nested(inner.to_vec(), found, deepest)?;
        let place = format!("{NAME}{}", found.len());
        found.push(*parse_query(inner)?);
        left.extend(select_all_tokens(&place, word));
        rest = after;
    }
    Ok(left)
}

/// Returns whether such a statement begins here. Its first word may also be the name of a column or function.
fn begins_statement(words: &[TokenWithSpan]) -> bool {
    let is_blank = |word: &&TokenWithSpan| matches!(word.token, Token::Whitespace(_));
    let mut words = words.iter().skip_while(is_blank);
    let first = words.next().map(|word| &word.token);
    let Some(Token::Word(first)) = first else {
        return false;
    };
    let known = ["SUMMARIZE", "DESC", "DESCRIBE", "PIVOT", "UNPIVOT"];
    let is_known = known
        .iter()
        .any(|known| first.value.eq_ignore_ascii_case(known));
    let mut words = words.peekable();
    let is_apart = words.peek().is_some_and(is_blank);
    let next = words.find(|word| !is_blank(word)).map(|word| &word.token);
    let follows = match next {
        Some(Token::Word(word)) => word.quote_style.is_some() || !can_follow_name(word.keyword),
        Some(Token::SingleQuotedString(_)) => true,
        Some(Token::LParen) => is_apart,
        _ => false,
    };
    is_known && first.quote_style.is_none() && follows
}

/// Returns whether a word may follow a column name.
fn can_follow_name(word: Keyword) -> bool {
    use Keyword::{
        AND, AS, ASC, AT, BETWEEN, COLLATE, DESC, DIV, ELSE, END, FILTER, FOR, ILIKE, IN, IS, LIKE,
        LIMIT, NOT, NOTNULL, NULLS, OR, ORDER, OVER, RLIKE, SIMILAR, THEN, WHEN, XOR,
    };
    matches!(
        word,
        AND | AS
            | ASC
            | AT
            | BETWEEN
            | COLLATE
            | DESC
            | DIV
            | ELSE
            | END
            | FILTER
            | FOR
            | ILIKE
            | IN
            | IS
            | LIKE
            | LIMIT
            | NOT
            | NOTNULL
            | NULLS
            | OR
            | ORDER
            | OVER
            | RLIKE
            | SIMILAR
            | THEN
            | WHEN
            | XOR
    )
}

/// Splits at the closing parenthesis: the tokens before it, and the rest with it.
fn split_at_parenthesis(words: &[TokenWithSpan]) -> Option<(&[TokenWithSpan], &[TokenWithSpan])> {
    let mut depth = 0_usize;
    let end = words.iter().position(|word| {
        match word.token {
            Token::LParen => depth += 1,
            Token::RParen if depth == 0 => return true,
            Token::RParen => depth -= 1,
            _ => {}
        }
        false
    });
    words.split_at_checked(end?)
}

fn parse_query(words: Vec<TokenWithSpan>) -> Result<Box<Query>, ParserError> {
    let mut parser = Parser::new(&TsqlDialect).with_tokens_with_locations(words);
    let statement = leading::parse_statement(&mut parser);
    let parsed =
        statement.unwrap_or_else(|| parser.expected_ref("a statement", parser.peek_token_ref()))?;
    parser.expect_token(&Token::EOF)?;
    match parsed {
        Statement::Query(query) => Ok(query),
        other => Err(ParserError::ParserError(format!(
            "expected a query, found: {other}"
        ))),
    }
}

/// `SELECT * FROM "name"`, at the position of a token.
fn select_all_tokens(name: &str, place: &TokenWithSpan) -> Vec<TokenWithSpan> {
    let blank = || Token::Whitespace(Whitespace::Space);
    let words = [
        Token::make_keyword("SELECT"),
        blank(),
        Token::Mul,
        blank(),
        Token::make_keyword("FROM"),
        blank(),
        Token::make_word(name, Some('"')),
    ];
    let words = words.into_iter();
    words
        .map(|word| TokenWithSpan::new(word, place.span))
        .collect()
}

/// Replaces a reserved table by its statement.
pub(super) fn restore_statement(factor: &mut TableFactor, found: &[Query]) {
    let TableFactor::Table { name, .. } = factor else {
        return;
    };
    let [part] = name.0.as_slice() else {
        return;
    };
    let name = part.as_ident().map(|ident| ident.value.as_str());
    let number = name.and_then(|name| name.strip_prefix(NAME)?.parse::<usize>().ok());
    if let Some(query) = number.and_then(|number| found.get(number)) {
        *factor = derived_table(Box::new(query.clone()));
    }
}

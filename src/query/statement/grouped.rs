//! Statements of DuckDB that stand in parentheses: `FROM (SUMMARIZE t)`, `WITH p AS (PIVOT t ON k) ...`.
//!
//! The parser takes only a query there. So each is parsed by itself, a table of a name that nobody gives stands in
//! its place, and where the parser has found that, the query takes it.

use datafusion::sql::sqlparser::ast::{Query, Statement, TableFactor};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};

use super::super::dialect::Typed;
use super::super::dialect::leading;
use super::super::dialect::pieces::derived;

/// Statements that stand in one another; what is deeper the parser refuses.
const DEEPEST: usize = 16;

/// What the tables that stand for statements are called, before a number.
const NAME: &str = "__statement_";

/// Takes out the statements that stand in parentheses, and gives them as queries.
///
/// # Errors
/// What is wrong with one of them.
pub(super) fn taken_out(
    words: Vec<TokenWithSpan>,
    found: &mut Vec<Query>,
) -> Result<Vec<TokenWithSpan>, ParserError> {
    within(words, found, DEEPEST)
}

/// As [`taken_out`], of so many statements in one another.
fn within(
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
        if word.token != Token::LParen || !begins(after) {
            continue;
        }
        let Some((inner, after)) = group(after) else {
            continue;
        };
        let inner = within(inner.to_vec(), found, deepest)?;
        let place = format!("{NAME}{}", found.len());
        found.push(*parsed(inner)?);
        left.extend(all_of(&place, word));
        rest = after;
    }
    Ok(left)
}

/// Does a statement of this kind begin here? Its word may also be the name of a column or a function.
fn begins(words: &[TokenWithSpan]) -> bool {
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
        Some(Token::Word(word)) => word.quote_style.is_some() || !goes_on(word.keyword),
        Some(Token::SingleQuotedString(_)) => true,
        Some(Token::LParen) => is_apart,
        _ => false,
    };
    is_known && first.quote_style.is_none() && follows
}

/// May it stand behind the name of a column?
fn goes_on(word: Keyword) -> bool {
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

/// What stands before the parenthesis that closes, and that with what follows it.
fn group(words: &[TokenWithSpan]) -> Option<(&[TokenWithSpan], &[TokenWithSpan])> {
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

fn parsed(words: Vec<TokenWithSpan>) -> Result<Box<Query>, ParserError> {
    let mut parser = Parser::new(&Typed).with_tokens_with_locations(words);
    let statement = leading::parsed(&mut parser);
    let parsed =
        statement.unwrap_or_else(|| parser.expected_ref("a statement", parser.peek_token_ref()))?;
    parser.expect_token(&Token::EOF)?;
    match parsed {
        Statement::Query(query) => Ok(query),
        other => Err(ParserError::ParserError(format!("no query: {other}"))),
    }
}

/// `SELECT * FROM "name"`, where a word stands.
fn all_of(name: &str, place: &TokenWithSpan) -> Vec<TokenWithSpan> {
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

/// Puts a statement into the place that was kept for it.
pub(super) fn put_back(factor: &mut TableFactor, found: &[Query]) {
    let TableFactor::Table { name, .. } = factor else {
        return;
    };
    let [part] = name.0.as_slice() else {
        return;
    };
    let name = part.as_ident().map(|ident| ident.value.as_str());
    let number = name.and_then(|name| name.strip_prefix(NAME)?.parse::<usize>().ok());
    if let Some(query) = number.and_then(|number| found.get(number)) {
        *factor = derived(Box::new(query.clone()));
    }
}

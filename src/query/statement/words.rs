//! The words of a text, before they are parsed: with what may be left out put in, and without what may be too much.
//!
//! - A comma before the end of a list goes: `SELECT a, FROM t`.
//! - `FROM t WHERE a > 1` gets its `SELECT *`.

use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer, TokenizerError};

use super::super::dialect::Typed;

/// The words of a text.
pub(super) fn words(sql: &str) -> Result<Vec<TokenWithSpan>, TokenizerError> {
    let words = Tokenizer::new(&Typed, sql).tokenize_with_location()?;
    Ok(with_select(without_last_commas(words)))
}

/// The word that is meant as one of SQL.
fn keyword(word: Option<&TokenWithSpan>) -> Option<Keyword> {
    match word.map(|word| &word.token) {
        Some(Token::Word(word)) if word.quote_style.is_none() => Some(word.keyword),
        _ => None,
    }
}

fn is_blank(word: &TokenWithSpan) -> bool {
    matches!(word.token, Token::Whitespace(_))
}

/// Drops a comma that nothing follows in its list.
fn without_last_commas(words: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut kept: Vec<TokenWithSpan> = Vec::with_capacity(words.len());
    let mut rest = words.as_slice();
    while let Some((word, after)) = rest.split_first() {
        let before = kept.iter().rev().find(|word| !is_blank(word));
        let follows = before.is_some_and(|before| !opens(&before.token));
        if word.token != Token::Comma || !follows || !ends_list(after) {
            kept.push(word.clone());
        }
        rest = after;
    }
    kept
}

fn opens(token: &Token) -> bool {
    use Token::{Comma, LBrace, LBracket, LParen, SemiColon};
    matches!(token, Comma | LBrace | LBracket | LParen | SemiColon)
}

/// Does a list end here? Words that may also be names do so only where something of theirs follows.
fn ends_list(after: &[TokenWithSpan]) -> bool {
    let mut after = after.iter().filter(|word| !is_blank(word));
    let Some(next) = after.next() else {
        return true;
    };
    if let Token::RParen | Token::RBracket | Token::RBrace | Token::SemiColon | Token::EOF =
        next.token
    {
        return true;
    }
    let second = after.next();
    match keyword(Some(next)) {
        Some(Keyword::FROM) => true,
        Some(Keyword::GROUP | Keyword::ORDER) => keyword(second) == Some(Keyword::BY),
        Some(Keyword::WHERE | Keyword::HAVING | Keyword::QUALIFY | Keyword::LIMIT) => second
            .is_some_and(|second| {
                use Token::{LParen, Number, SingleQuotedString};
                let is_name = keyword(Some(second)) == Some(Keyword::NoKeyword);
                is_name || matches!(second.token, LParen | Number(..) | SingleQuotedString(_))
            }),
        _ => false,
    }
}

/// What may come next, between two parentheses.
#[derive(Clone, Copy, PartialEq)]
enum Next {
    /// A query: nothing of one has come.
    Query,
    /// A query, behind those of `WITH`.
    Named,
    /// Something else.
    Other,
}

/// Puts `SELECT *` before a `FROM` with which a query begins, and which no `SELECT` follows.
fn with_select(words: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut made = Vec::with_capacity(words.len());
    let (mut around, mut next, mut creates) = (Vec::new(), Next::Query, false);
    let mut rest = words.as_slice();
    while let Some((word, after)) = rest.split_first() {
        rest = after;
        match &word.token {
            Token::Whitespace(_) => {}
            Token::LParen => {
                around.push(if next == Next::Query {
                    Next::Other
                } else {
                    next
                });
                next = Next::Query;
            }
            Token::RParen => next = around.pop().unwrap_or(Next::Other),
            Token::SemiColon => (next, creates) = (Next::Query, false),
            _ => match keyword(Some(word)) {
                Some(Keyword::FROM) if next != Next::Other => {
                    if !selects(after) {
                        made.extend(select_all(word));
                    }
                    next = Next::Other;
                }
                Some(Keyword::CREATE) => (next, creates) = (Next::Other, true),
                Some(Keyword::AS) if creates && around.is_empty() => next = Next::Query,
                Some(Keyword::UNION | Keyword::EXCEPT | Keyword::INTERSECT) => next = Next::Query,
                Some(Keyword::WITH) if next == Next::Query => next = Next::Named,
                Some(word) if next == Next::Query && leads(word) => {}
                Some(Keyword::SELECT | Keyword::INSERT | Keyword::VALUES) => next = Next::Other,
                _ if next == Next::Named => {}
                _ if summarizes(word) => {}
                _ => next = Next::Other,
            },
        }
        made.push(word.clone());
    }
    made
}

/// May stand before a query.
fn leads(word: Keyword) -> bool {
    use Keyword::{ALL, ANALYZE, BY, DESC, DESCRIBE, DISTINCT, EXPLAIN, NAME, VERBOSE};
    matches!(
        word,
        ALL | ANALYZE | BY | DESC | DESCRIBE | DISTINCT | EXPLAIN | NAME | VERBOSE
    )
}

fn summarizes(word: &TokenWithSpan) -> bool {
    matches!(&word.token, Token::Word(word) if word.value.eq_ignore_ascii_case("summarize"))
}

/// Has the query that begins here a `SELECT` of its own?
fn selects(words: &[TokenWithSpan]) -> bool {
    let mut depth = 0_usize;
    for word in words {
        match &word.token {
            Token::LParen => depth += 1,
            Token::RParen if depth == 0 => return false,
            Token::RParen => depth -= 1,
            Token::SemiColon => return false,
            _ if depth == 0 => match keyword(Some(word)) {
                Some(Keyword::SELECT) => return true,
                Some(Keyword::UNION | Keyword::EXCEPT | Keyword::INTERSECT) => return false,
                _ => {}
            },
            _ => {}
        }
    }
    false
}

/// `SELECT *`, where a word stands.
fn select_all(place: &TokenWithSpan) -> [TokenWithSpan; 4] {
    use datafusion::sql::sqlparser::tokenizer::Whitespace::Space;
    let blank = || Token::Whitespace(Space);
    let select = Token::make_keyword("SELECT");
    [select, blank(), Token::Mul, blank()].map(|token| TokenWithSpan::new(token, place.span))
}

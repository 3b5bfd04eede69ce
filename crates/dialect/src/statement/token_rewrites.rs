//! Token rewrites before parsing: inserts optional words and removes superfluous ones.
//!
//! - Removes a comma before the end of a list: `SELECT a, FROM t`.
//! - Inserts `SELECT *` into `FROM t WHERE a > 1`.

use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer, TokenizerError};

use crate::syntax::TsqlDialect;

/// Tokenizes a text and rewrites the tokens.
pub(super) fn rewrite_tokens(sql: &str) -> Result<Vec<TokenWithSpan>, TokenizerError> {
    let words = Tokenizer::new(&TsqlDialect, sql).tokenize_with_location()?;
    Ok(insert_select(drop_trailing_commas(words)))
}

/// The keyword of an unquoted word.
fn keyword_of(word: Option<&TokenWithSpan>) -> Option<Keyword> {
    match word.map(|word| &word.token) {
        Some(Token::Word(word)) if word.quote_style.is_none() => Some(word.keyword),
        _ => None,
    }
}

fn is_blank(word: &TokenWithSpan) -> bool {
    matches!(word.token, Token::Whitespace(_))
}

/// Removes trailing commas from lists.
fn drop_trailing_commas(words: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut kept: Vec<TokenWithSpan> = Vec::with_capacity(words.len());
    let mut rest = words.as_slice();
    while let Some((word, after)) = rest.split_first() {
        let before = kept.iter().rev().find(|word| !is_blank(word));
        let follows = before.is_some_and(|before| !opens_parenthesis(&before.token));
        if word.token != Token::Comma || !follows || !ends_list(after) {
            kept.push(word.clone());
        }
        rest = after;
    }
    kept
}

fn opens_parenthesis(token: &Token) -> bool {
    use Token::{Comma, LBrace, LBracket, LParen, SemiColon};
    matches!(token, Comma | LBrace | LBracket | LParen | SemiColon)
}

/// Returns whether a list ends here. Words that may also be names end it only if a matching word follows.
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
    match keyword_of(Some(next)) {
        Some(Keyword::FROM) => true,
        Some(Keyword::GROUP | Keyword::ORDER) => keyword_of(second) == Some(Keyword::BY),
        Some(Keyword::WHERE | Keyword::HAVING | Keyword::QUALIFY | Keyword::LIMIT) => second
            .is_some_and(|second| {
                use Token::{LParen, Number, SingleQuotedString};
                let is_name = keyword_of(Some(second)) == Some(Keyword::NoKeyword);
                is_name || matches!(second.token, LParen | Number(..) | SingleQuotedString(_))
            }),
        _ => false,
    }
}

/// Tokens that may follow inside a pair of parentheses.
#[derive(Clone, Copy, PartialEq)]
enum Next {
    /// A query, of which nothing has been read.
    Query,
    /// A query after those of `WITH`.
    Named,
    /// Anything else.
    Other,
}

/// Inserts `SELECT *` before a `FROM` that begins a query and has no `SELECT` after it.
fn insert_select(words: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
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
            _ => match keyword_of(Some(word)) {
                Some(Keyword::FROM) if next != Next::Other => {
                    if !has_select(after) {
                        made.extend(select_all_tokens(word));
                    }
                    next = Next::Other;
                }
                Some(Keyword::CREATE) => (next, creates) = (Next::Other, true),
                Some(Keyword::AS) if creates && around.is_empty() => next = Next::Query,
                Some(Keyword::UNION | Keyword::EXCEPT | Keyword::INTERSECT) => next = Next::Query,
                Some(Keyword::WITH) if next == Next::Query => next = Next::Named,
                Some(word) if next == Next::Query && can_precede_query(word) => {}
                Some(Keyword::SELECT | Keyword::INSERT | Keyword::VALUES) => next = Next::Other,
                _ if next == Next::Named => {}
                _ if is_summarize(word) => {}
                _ => next = Next::Other,
            },
        }
        made.push(word.clone());
    }
    made
}

/// Returns whether a word may precede a query.
fn can_precede_query(word: Keyword) -> bool {
    use Keyword::{ALL, ANALYZE, BY, DESC, DESCRIBE, DISTINCT, EXPLAIN, NAME, VERBOSE};
    matches!(
        word,
        ALL | ANALYZE | BY | DESC | DESCRIBE | DISTINCT | EXPLAIN | NAME | VERBOSE
    )
}

fn is_summarize(word: &TokenWithSpan) -> bool {
    matches!(&word.token, Token::Word(word) if word.value.eq_ignore_ascii_case("summarize"))
}

/// Returns whether the query that begins here has its own `SELECT`.
fn has_select(words: &[TokenWithSpan]) -> bool {
    let mut depth = 0_usize;
    for word in words {
        match &word.token {
            Token::LParen => depth += 1,
            Token::RParen if depth == 0 => return false,
            Token::RParen => depth -= 1,
            Token::SemiColon => return false,
            _ if depth == 0 => match keyword_of(Some(word)) {
                Some(Keyword::SELECT) => return true,
                Some(Keyword::UNION | Keyword::EXCEPT | Keyword::INTERSECT) => return false,
                _ => {}
            },
            _ => {}
        }
    }
    false
}

/// `SELECT *`, at the position of a token.
fn select_all_tokens(place: &TokenWithSpan) -> [TokenWithSpan; 4] {
    use datafusion::sql::sqlparser::tokenizer::Whitespace::Space;
    let blank = || Token::Whitespace(Space);
    let select = Token::make_keyword("SELECT");
    [select, blank(), Token::Mul, blank()].map(|token| TokenWithSpan::new(token, place.span))
}

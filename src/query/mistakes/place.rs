//! Where in a text a mistake is.

use datafusion::common::Span;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

use super::super::dialect::Typed;
use crate::error::SqlSpan;

/// What the planner points at; the rest of the line where it goes over several.
pub(super) fn of_span(span: Span, sql: &str) -> Option<SqlSpan> {
    let number = |number: u64| usize::try_from(number).ok();
    let (line, column) = (number(span.start.line)?, number(span.start.column)?);
    let end = if span.end.line == span.start.line {
        number(span.end.column)?
    } else {
        let text = sql.lines().nth(line.checked_sub(1)?)?;
        text.chars().count() + 1
    };
    Some(SqlSpan {
        line,
        column,
        length: end.saturating_sub(column).max(1),
    })
}

/// Where this name stands, if it does so once.
pub(super) fn of_word(sql: &str, name: &str) -> Option<SqlSpan> {
    if name.is_empty() {
        return None;
    }
    let tokens = Tokenizer::new(&Typed, sql).tokenize_with_location().ok()?;
    let mut found = tokens.iter().filter(|token| match &token.token {
        Token::Word(word) => word.value.eq_ignore_ascii_case(name),
        Token::SingleQuotedString(text) => text == name,
        _ => false,
    });
    let only = found.next()?;
    if found.next().is_some() {
        return None;
    }
    of_span(Span::try_from_sqlparser_span(only.span)?, sql)
}

/// The word that begins here, or the character.
pub(super) fn at(sql: &str, line: usize, column: usize) -> SqlSpan {
    let text = sql.lines().nth(line.saturating_sub(1)).unwrap_or_default();
    let rest = text.chars().skip(column.saturating_sub(1));
    let word = rest.take_while(|one| one.is_alphanumeric() || *one == '_');
    SqlSpan {
        line,
        column,
        length: word.count().max(1),
    }
}

/// Behind the last word of the text.
pub(super) fn end(sql: &str) -> SqlSpan {
    let text = sql.trim_end();
    let line = text.lines().count().max(1);
    let last = text.lines().last().unwrap_or_default();
    SqlSpan {
        line,
        column: last.chars().count() + 1,
        length: 1,
    }
}

//! Positions of errors in the SQL text.

use datafusion::common::Span;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

use crate::syntax::TsqlDialect;
use tsql_error::SqlSpan;

/// Converts a span of the planner. A span of several lines ends with its first line.
pub(super) fn from_datafusion(span: Span, sql: &str) -> Option<SqlSpan> {
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

/// Position of a name, if it occurs exactly once.
pub(super) fn find_word(sql: &str, name: &str) -> Option<SqlSpan> {
    if name.is_empty() {
        return None;
    }
    let tokens = Tokenizer::new(&TsqlDialect, sql)
        .tokenize_with_location()
        .ok()?;
    let mut found = tokens.iter().filter(|token| match &token.token {
        Token::Word(word) => word.value.eq_ignore_ascii_case(name),
        Token::SingleQuotedString(text) => text == name,
        _ => false,
    });
    let only = found.next()?;
    if found.next().is_some() {
        return None;
    }
    from_datafusion(Span::try_from_sqlparser_span(only.span)?, sql)
}

/// The word, or else the character, at a position.
pub(super) fn word_at(sql: &str, line: usize, column: usize) -> SqlSpan {
    let text = sql.lines().nth(line.saturating_sub(1)).unwrap_or_default();
    let rest = text.chars().skip(column.saturating_sub(1));
    let word = rest.take_while(|one| one.is_alphanumeric() || *one == '_');
    SqlSpan {
        line,
        column,
        length: word.count().max(1),
    }
}

/// Position after the last word of the text.
pub(super) fn end_of_text(sql: &str) -> SqlSpan {
    let text = sql.trim_end();
    let line = text.lines().count().max(1);
    let last = text.lines().last().unwrap_or_default();
    SqlSpan {
        line,
        column: last.chars().count() + 1,
        length: 1,
    }
}

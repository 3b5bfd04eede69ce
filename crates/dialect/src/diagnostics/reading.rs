//! Syntax errors: the expected and the found token, and the position.

use datafusion::sql::sqlparser::parser::ParserError;

use super::position;
use tsql_error::{SqlError, SqlSpan, nearest, plain_message, sql_hint};

/// First words of statements.
const BEGINNINGS: [&str; 16] = [
    "select",
    "with",
    "from",
    "explain",
    "show",
    "describe",
    "summarize",
    "pivot",
    "create",
    "drop",
    "copy",
    "set",
    "reset",
    "values",
    "insert",
    "prepare",
];

/// Describes a syntax error.
pub(super) fn syntax_error(found: &ParserError, sql: &str) -> SqlError {
    let text = match found {
        ParserError::TokenizerError(text) | ParserError::ParserError(text) => text,
        ParserError::RecursionLimitExceeded => {
            let message = "the SQL is nested too deeply".to_owned();
            let hint = "split the query with WITH name AS (...)".to_owned();
            return SqlError::new(sql, message, None, Some(hint));
        }
    };
    let (text, span) = split_location(text, sql);
    let Some((expected, found)) = split_expectation(text) else {
        return SqlError::new(
            sql,
            plain_message(text),
            span,
            sql_hint(text).map(str::to_owned),
        );
    };
    let at_the_end = found == "EOF";
    let span = span.or_else(|| at_the_end.then(|| position::end_of_text(sql)));
    let message = if at_the_end {
        format!("expected {expected}, found the end")
    } else {
        format!("expected {expected}, found `{found}`")
    };
    let begun = expected
        .contains("statement")
        .then(|| nearest(found, BEGINNINGS));
    let hint = match begun.flatten() {
        Some(word) => Some(format!("did you mean `{}`?", word.to_uppercase())),
        None => sql_hint(text).map(str::to_owned),
    };
    SqlError::new(sql, message, span, hint)
}

/// Splits the suffix ` at Line: 1, Column: 9` off a message, and parses it.
fn split_location<'a>(text: &'a str, sql: &str) -> (&'a str, Option<SqlSpan>) {
    let split = || {
        let (before, place) = text.rsplit_once(" at Line: ")?;
        let (line, column) = place.split_once(", Column: ")?;
        let column: String = column.chars().take_while(char::is_ascii_digit).collect();
        Some((before, line.parse().ok()?, column.parse().ok()?))
    };
    match split() {
        Some((before, line, column)) => (before, Some(position::word_at(sql, line, column))),
        None => (text, None),
    }
}

/// Splits `ExpectedRows: a, found: b` into `a` and `b`.
fn split_expectation(text: &str) -> Option<(&str, &str)> {
    let (expected, found) = text.strip_prefix("Expected: ")?.rsplit_once(", found: ")?;
    Some((expected, found))
}

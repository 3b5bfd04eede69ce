//! Errors in SQL text: message, span and hint.

use std::fmt;

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::redact::redact_urls;

/// Maximum number of characters of the line that are shown around the span.
const SHOWN: usize = 100;

/// A position in a text: lines and columns from 1, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SqlSpan {
    /// The line.
    pub line: usize,
    /// The first character of the span.
    pub column: usize,
    /// Length in characters, on this line.
    pub length: usize,
}

/// Why SQL was rejected.
///
/// `Display` gives the message, the line with `^` below the span, and the hint on a line of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SqlError {
    /// The fact, on one line.
    pub message: String,
    /// The affected words, if known.
    pub span: Option<SqlSpan>,
    /// Suggested fix, if known.
    pub hint: Option<String>,
    /// The line of the text, and below it `^`; empty without a span.
    excerpt: String,
}

impl SqlError {
    /// Creates an error about `sql`.
    pub fn new(sql: &str, message: String, span: Option<SqlSpan>, hint: Option<String>) -> Self {
        let drawn = span.and_then(|span| Some((span, render_excerpt(sql, span)?)));
        let (span, excerpt) = drawn.unzip();
        Self {
            message,
            span,
            hint,
            excerpt: excerpt.unwrap_or_default(),
        }
    }

    /// Returns the affected line, and below it `^`. Empty without a span.
    #[must_use]
    pub fn excerpt(&self) -> &str {
        &self.excerpt
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&redact_urls(&self.message))?;
        if !self.excerpt.is_empty() {
            write!(f, "\n{}", redact_urls(&self.excerpt))?;
        }
        match &self.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

/// Renders the affected line, and `^` below it.
fn render_excerpt(sql: &str, span: SqlSpan) -> Option<String> {
    let line = sql
        .lines()
        .nth(span.line.checked_sub(1)?)
        .unwrap_or_default();
    let characters: Vec<char> = line
        .chars()
        .map(|one| if one == '\t' { ' ' } else { one })
        .collect();
    let first = span.column.checked_sub(1)?.min(characters.len());
    let length = span.length.clamp(1, (characters.len() - first).max(1));
    // A long line is shortened to the text around the span.
    let from = match first + length.min(SHOWN) {
        end if end > SHOWN => first.saturating_sub(SHOWN / 2),
        _ => 0,
    };
    let shown: String = characters.iter().skip(from).take(SHOWN).collect();
    let before: String = characters.iter().take(first).skip(from).collect();
    let meant = characters.iter().skip(first).take(length.min(SHOWN));
    let meant: usize = meant.map(|one| one.width().unwrap_or(0)).sum();
    let mut margin = "  ".to_owned();
    if sql.trim_end().contains('\n') {
        margin = format!("  line {}: ", span.line);
    }
    if from > 0 {
        margin.push('…');
    }
    let cut = if characters.len() > from + SHOWN {
        "…"
    } else {
        ""
    };
    let space = " ".repeat(margin.width() + before.width());
    let marks = "^".repeat(meant.max(1));
    Some(format!("{margin}{shown}{cut}\n{space}{marks}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn render(sql: &str, line: usize, column: usize, length: usize) -> String {
        let span = SqlSpan {
            line,
            column,
            length,
        };
        SqlError::new(sql, "no".to_owned(), Some(span), None).to_string()
    }

    #[test]
    fn the_caret_is_below_the_word() {
        assert_eq!(
            render("SELECT a FROM b", 1, 8, 1),
            "no\n  SELECT a FROM b\n         ^"
        );
        assert_eq!(
            render("SELECT\n\tabc FROM b\n", 2, 2, 3),
            "no\n  line 2:  abc FROM b\n           ^^^"
        );
        assert_eq!(
            render("SELECT '日本', abc", 1, 14, 3),
            "no\n  SELECT '日本', abc\n                 ^^^"
        );
        // After the last character.
        assert_eq!(
            render("SELECT 1 +", 1, 11, 1),
            "no\n  SELECT 1 +\n            ^"
        );
        assert_eq!(render("", 1, 1, 1), "no\n  \n  ^");
    }

    #[test]
    fn of_a_long_line_the_mistake_is_shown() {
        let sql = format!("SELECT {}abc, {}", "1, ".repeat(100), "2, ".repeat(100));
        let text = render(&sql, 1, 308, 3);
        let lines: Vec<&str> = text.lines().collect();
        let [_, line, marks] = lines.as_slice() else {
            panic!("{text}")
        };
        assert!(
            line.width() < 110 && line.starts_with("  …") && line.ends_with('…'),
            "{text}"
        );
        let at = marks.find('^').unwrap();
        let pointed: String = line.chars().skip(at).take(3).collect();
        assert_eq!(pointed, "abc", "{text}");
    }

    #[test]
    fn an_error_ends_with_its_hint_and_has_no_secrets() {
        let found = SqlError::new(
            "SELECT 1",
            "s3://KEY:SECRET@b/x is not there".to_owned(),
            None,
            Some("look".to_owned()),
        );
        assert_eq!(found.to_string(), "s3://***@b/x is not there\nhint: look");
        assert_eq!(found.excerpt(), "");
    }
}

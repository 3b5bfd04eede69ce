//! Tokens of unfinished SQL: words, strings, numbers and comments.
//!
//! The lexer of the parser rejects unfinished text, which is the normal case while somebody types.

/// Kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// White space.
    Space,
    /// A keyword or an identifier.
    Word,
    /// A name in double quotes.
    Name,
    /// A string in single quotes or dollars.
    Text,
    /// A number.
    Number,
    /// A comment.
    Comment,
    /// An operator or a punctuation mark.
    Sign,
}

/// A token of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    /// Kind of the token.
    pub kind: TokenKind,
    /// Text of the token, as it was typed.
    pub text: &'a str,
    /// Byte offset of its first byte.
    pub start: usize,
    /// Whether its closing delimiter is missing.
    pub is_open: bool,
}

impl Token<'_> {
    /// Byte offset after its last byte.
    pub fn end(&self) -> usize {
        self.start + self.text.len()
    }

    /// Returns whether the token is neither whitespace nor a comment.
    pub fn is_significant(&self) -> bool {
        !matches!(self.kind, TokenKind::Space | TokenKind::Comment)
    }

    /// The identifier without quotes, in lower case unless quoted; `None` for other tokens.
    pub fn identifier(&self) -> Option<String> {
        match self.kind {
            TokenKind::Word => Some(self.text.to_ascii_lowercase()),
            TokenKind::Name => Some(self.text.trim_matches('"').replace("\"\"", "\"")),
            _ => None,
        }
    }
}

/// Splits a text into tokens, whose concatenation is the text.
pub fn tokenize(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let (mut rest, mut start) = (text, 0);
    while let Some(first) = rest.chars().next() {
        let (kind, length, is_open) = next_token(first, rest);
        let length = length.max(first.len_utf8());
        let (text, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
        tokens.push(Token {
            kind,
            text,
            start,
            is_open,
        });
        start += text.len();
        rest = after;
    }
    tokens
}

/// Reads the token at the start of `rest`: its kind, its length in bytes, and whether its closing delimiter is missing.
fn next_token(first: char, rest: &str) -> (TokenKind, usize, bool) {
    let escapes = matches!(first, 'e' | 'E') && rest.chars().nth(1) == Some('\'');
    match first {
        _ if first.is_whitespace() => (
            TokenKind::Space,
            prefix_length(rest, char::is_whitespace),
            false,
        ),
        _ if escapes => delimited(TokenKind::Text, end_of_quoted(rest, 1, '\'', true), rest),
        '\'' => delimited(TokenKind::Text, end_of_quoted(rest, 0, '\'', false), rest),
        '"' => delimited(TokenKind::Name, end_of_quoted(rest, 0, '"', false), rest),
        '-' if rest.starts_with("--") => (
            TokenKind::Comment,
            prefix_length(rest, |c| c != '\n'),
            false,
        ),
        '/' if rest.starts_with("/*") => delimited(TokenKind::Comment, end_of_comment(rest), rest),
        '$' => dollar_token(rest),
        '0'..='9' => (TokenKind::Number, number_length(rest), false),
        _ if is_word_char(first) => (TokenKind::Word, prefix_length(rest, is_word_char), false),
        _ => (TokenKind::Sign, first.len_utf8(), false),
    }
}

fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Length in bytes of the longest prefix whose characters are all `wanted`.
fn prefix_length(text: &str, wanted: impl Fn(char) -> bool) -> usize {
    text.find(|c| !wanted(c)).unwrap_or(text.len())
}

fn delimited(kind: TokenKind, end: Option<usize>, rest: &str) -> (TokenKind, usize, bool) {
    (kind, end.unwrap_or(rest.len()), end.is_none())
}

/// Byte offset after the closing quote. A doubled quote is part of the content. The opening quote follows `before`
/// bytes.
fn end_of_quoted(text: &str, before: usize, quote: char, escapes: bool) -> Option<usize> {
    let mut chars = text.char_indices().skip(before + 1).peekable();
    while let Some((at, c)) = chars.next() {
        if escapes && c == '\\' {
            chars.next();
        } else if c == quote && chars.next_if(|(_, next)| *next == quote).is_none() {
            return Some(at + c.len_utf8());
        }
    }
    None
}

/// Byte offset after the end of a comment. Comments nest.
fn end_of_comment(text: &str) -> Option<usize> {
    let (mut depth, mut before) = (0_usize, ' ');
    for (at, c) in text.char_indices() {
        match (before, c) {
            ('/', '*') => depth += 1,
            ('*', '/') => depth = depth.saturating_sub(1),
            _ => {
                before = c;
                continue;
            }
        }
        if depth == 0 {
            return Some(at + c.len_utf8());
        }
        before = ' ';
    }
    None
}

/// Reads a string between `$$` or `$tag$`, or a placeholder `$name`.
fn dollar_token(rest: &str) -> (TokenKind, usize, bool) {
    let after = rest.strip_prefix('$').unwrap_or_default();
    let length = prefix_length(after, is_word_char);
    let Some((tag, body)) = after
        .split_at_checked(length)
        .filter(|(_, body)| body.starts_with('$'))
    else {
        return (TokenKind::Sign, 1 + length, false);
    };
    let mark = format!("${tag}$");
    let opened = mark.len();
    let end = body.strip_prefix('$').and_then(|body| body.find(&mark));
    let end = end.map(|at| opened + at + opened);
    delimited(TokenKind::Text, end, rest)
}

/// Length in bytes of digits, a fraction and an exponent.
fn number_length(text: &str) -> usize {
    let mut before = '0';
    let end = text.find(|c: char| {
        let sign = matches!(c, '+' | '-') && matches!(before, 'e' | 'E');
        before = c;
        !(sign || c.is_ascii_alphanumeric() || matches!(c, '.' | '_'))
    });
    end.unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn significant_tokens(text: &str) -> Vec<(TokenKind, &str)> {
        let all = tokenize(text);
        let whole: String = all.iter().map(|token| token.text).collect();
        assert_eq!(whole, text);
        let mut said: Vec<_> = all
            .iter()
            .map(|token| (token.kind, token.text))
            .filter(|(kind, _)| *kind != TokenKind::Space)
            .collect();
        if all.iter().any(|token| token.is_open) {
            said.push((TokenKind::Sign, "open"));
        }
        said
    }

    #[test]
    fn tokens_are_classified() {
        use TokenKind::{Comment, Name, Number, Sign, Text, Word};
        assert_eq!(
            significant_tokens("SELECT a.\"b\"\"c\", 'it''s', 1.5e-3 -- x;"),
            [
                (Word, "SELECT"),
                (Word, "a"),
                (Sign, "."),
                (Name, "\"b\"\"c\""),
                (Sign, ","),
                (Text, "'it''s'"),
                (Sign, ","),
                (Number, "1.5e-3"),
                (Comment, "-- x;"),
            ]
        );
        assert_eq!(
            significant_tokens("E'a\\'b' $$x;'$$ $t$ $$ $t$ $platform /* a /* b */ c */ größe>=1"),
            [
                (Text, "E'a\\'b'"),
                (Text, "$$x;'$$"),
                (Text, "$t$ $$ $t$"),
                (Sign, "$platform"),
                (Comment, "/* a /* b */ c */"),
                (Word, "größe"),
                (Sign, ">"),
                (Sign, "="),
                (Number, "1"),
            ]
        );
    }

    #[test]
    fn what_is_not_finished_is_open() {
        for open in ["'a", "E'a\\'", "\"a", "/* a /* b */", "$$a", "$t$a$$"] {
            assert_eq!(
                significant_tokens(open).last(),
                Some(&(TokenKind::Sign, "open")),
                "{open}"
            );
        }
        for closed in ["", "'a'", "-- a", "$a", "'", "/"] {
            let is_open = significant_tokens(closed).last() == Some(&(TokenKind::Sign, "open"));
            assert_eq!(is_open, closed == "'", "{closed}");
        }
    }
}

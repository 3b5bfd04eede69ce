//! The words, strings, numbers and comments of SQL that may not be finished yet.
//!
//! The parser's own lexer refuses what is not finished, which is what stands in a line while somebody types it.

/// What a piece of text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Space,
    Word,
    /// A name in double quotes.
    Name,
    /// A string in single quotes or dollars.
    Text,
    Number,
    Comment,
    Sign,
}

/// A piece of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    pub(crate) kind: Kind,
    pub(crate) text: &'a str,
    /// Where it begins, in bytes.
    pub(crate) start: usize,
    /// Its end has not been typed yet.
    pub(crate) is_open: bool,
}

impl Token<'_> {
    /// The byte after its last.
    pub(crate) fn end(&self) -> usize {
        self.start + self.text.len()
    }

    /// Neither space nor comment?
    pub(crate) fn is_said(&self) -> bool {
        !matches!(self.kind, Kind::Space | Kind::Comment)
    }

    /// The name that it is, without its quotes.
    pub(crate) fn name(&self) -> Option<String> {
        match self.kind {
            Kind::Word => Some(self.text.to_ascii_lowercase()),
            Kind::Name => Some(self.text.trim_matches('"').replace("\"\"", "\"")),
            _ => None,
        }
    }
}

/// The pieces of a text, which together are the text.
pub(crate) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let (mut rest, mut start) = (text, 0);
    while let Some(first) = rest.chars().next() {
        let (kind, length, is_open) = piece(first, rest);
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

/// What `rest` begins with: its kind, its bytes, and whether its end is missing.
fn piece(first: char, rest: &str) -> (Kind, usize, bool) {
    let escapes = matches!(first, 'e' | 'E') && rest.chars().nth(1) == Some('\'');
    match first {
        _ if first.is_whitespace() => (Kind::Space, run(rest, char::is_whitespace), false),
        _ if escapes => closed(Kind::Text, quoted(rest, 1, '\'', true), rest),
        '\'' => closed(Kind::Text, quoted(rest, 0, '\'', false), rest),
        '"' => closed(Kind::Name, quoted(rest, 0, '"', false), rest),
        '-' if rest.starts_with("--") => (Kind::Comment, run(rest, |c| c != '\n'), false),
        '/' if rest.starts_with("/*") => closed(Kind::Comment, comment(rest), rest),
        '$' => dollars(rest),
        '0'..='9' => (Kind::Number, number(rest), false),
        _ if is_of_word(first) => (Kind::Word, run(rest, is_of_word), false),
        _ => (Kind::Sign, first.len_utf8(), false),
    }
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Bytes of the characters at the beginning that are `wanted`.
fn run(text: &str, wanted: impl Fn(char) -> bool) -> usize {
    text.find(|c| !wanted(c)).unwrap_or(text.len())
}

fn closed(kind: Kind, end: Option<usize>, rest: &str) -> (Kind, usize, bool) {
    (kind, end.unwrap_or(rest.len()), end.is_none())
}

/// Where what is quoted ends; the quote twice is one that belongs to it. It opens after `before` bytes.
fn quoted(text: &str, before: usize, quote: char, escapes: bool) -> Option<usize> {
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

/// Where a comment ends; comments nest.
fn comment(text: &str) -> Option<usize> {
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

/// A string between `$$` or `$tag$`, or a placeholder `$name`.
fn dollars(rest: &str) -> (Kind, usize, bool) {
    let after = rest.strip_prefix('$').unwrap_or_default();
    let length = run(after, is_of_word);
    let Some((tag, body)) = after
        .split_at_checked(length)
        .filter(|(_, body)| body.starts_with('$'))
    else {
        return (Kind::Sign, 1 + length, false);
    };
    let mark = format!("${tag}$");
    let opened = mark.len();
    let end = body.strip_prefix('$').and_then(|body| body.find(&mark));
    let end = end.map(|at| opened + at + opened);
    closed(Kind::Text, end, rest)
}

/// Digits, a fraction and an exponent.
fn number(text: &str) -> usize {
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

    fn said(text: &str) -> Vec<(Kind, &str)> {
        let all = tokens(text);
        let whole: String = all.iter().map(|token| token.text).collect();
        assert_eq!(whole, text);
        let mut said: Vec<_> = all
            .iter()
            .map(|token| (token.kind, token.text))
            .filter(|(kind, _)| *kind != Kind::Space)
            .collect();
        if all.iter().any(|token| token.is_open) {
            said.push((Kind::Sign, "open"));
        }
        said
    }

    #[test]
    fn pieces_of_sql_are_told_apart() {
        use Kind::{Comment, Name, Number, Sign, Text, Word};
        assert_eq!(
            said("SELECT a.\"b\"\"c\", 'it''s', 1.5e-3 -- x;"),
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
            said("E'a\\'b' $$x;'$$ $t$ $$ $t$ $platform /* a /* b */ c */ größe>=1"),
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
            assert_eq!(said(open).last(), Some(&(Kind::Sign, "open")), "{open}");
        }
        for closed in ["", "'a'", "-- a", "$a", "'", "/"] {
            let is_open = said(closed).last() == Some(&(Kind::Sign, "open"));
            assert_eq!(is_open, closed == "'", "{closed}");
        }
    }
}

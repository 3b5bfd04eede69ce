//! Syntax highlighting of SQL in the shell.

use reedline::{Color, Highlighter, StyledText};
use tsql_dialect::completion::{SharedVocabulary, Token, TokenKind, is_keyword, tokenize};

use super::input_lines::is_command;

/// Colors keywords, strings, numbers, comments and functions that the session knows.
pub(super) struct SqlHighlighter {
    pub(super) words: SharedVocabulary,
}

impl Highlighter for SqlHighlighter {
    fn highlight(&self, line: &str, _: usize) -> StyledText {
        let mut styled = StyledText::new();
        let tokens = tokenize(line);
        let is_command = is_command(line);
        for (place, token) in tokens.iter().enumerate() {
            let next = tokens
                .iter()
                .skip(place + 1)
                .find(|token| token.is_significant());
            let is_called = next.is_some_and(|next| next.text == "(");
            let color = if is_command && !self.is_colored_in_commands(token) {
                None
            } else {
                self.color(token, is_called)
            };
            let style = color.map(|(color, bold)| match bold {
                true => color.bold(),
                false => color.normal(),
            });
            styled.push((style.unwrap_or_default(), token.text.to_owned()));
        }
        styled
    }
}

impl SqlHighlighter {
    fn is_colored_in_commands(&self, token: &Token<'_>) -> bool {
        token.kind == TokenKind::Text
    }

    /// Returns the color of a token, and whether it is bold.
    fn color(&self, token: &Token<'_>, is_called: bool) -> Option<(Color, bool)> {
        match token.kind {
            TokenKind::Text => Some((Color::Yellow, false)),
            TokenKind::Number => Some((Color::Magenta, false)),
            TokenKind::Comment => Some((Color::DarkGray, false)),
            TokenKind::Word if is_called && self.is_function(token.text) => {
                Some((Color::Cyan, false))
            }
            TokenKind::Word if is_keyword(token.text) => Some((Color::Blue, true)),
            _ => None,
        }
    }

    fn is_function(&self, word: &str) -> bool {
        let name = word.to_ascii_lowercase();
        self.words.read(|words| words.functions.contains_key(&name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tsql_dialect::completion::Vocabulary;

    #[test]
    fn each_kind_has_its_color_and_no_text_is_lost() {
        let words = SharedVocabulary::default();
        let functions = [("median".to_owned(), String::new())];
        words.replace(Vocabulary {
            functions: functions.into(),
            ..Vocabulary::default()
        });
        let line = "select Median(x), other(y), 'it' -- why\nFROM t WHERE n > 1.5";
        let styled = SqlHighlighter { words }.highlight(line, 0).buffer;
        let joined: String = styled.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(joined, line);
        let color = |word: &str| {
            let found = styled.iter().find(|(_, text)| text == word);
            found.unwrap().0.foreground
        };
        assert_eq!(color("select"), Some(Color::Blue));
        assert_eq!(color("Median"), Some(Color::Cyan));
        assert_eq!(color("other"), None);
        assert_eq!(color("'it'"), Some(Color::Yellow));
        assert_eq!(color("-- why"), Some(Color::DarkGray));
        assert_eq!(color("1.5"), Some(Color::Magenta));
    }
}

//! Colours of SQL while it is typed.

use reedline::{Color, Highlighter, StyledText};

use super::input_lines::is_command;
use crate::query::completion::{SharedVocabulary, Token, TokenKind, is_keyword, tokenize};

/// Colours keywords, strings, numbers, comments and functions that the session knows.
pub(super) struct Colours {
    pub(super) words: SharedVocabulary,
}

impl Highlighter for Colours {
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
            let colour = if is_command && !self.is_coloured_in_commands(token) {
                None
            } else {
                self.colour(token, is_called)
            };
            let style = colour.map(|(colour, bold)| match bold {
                true => colour.bold(),
                false => colour.normal(),
            });
            styled.push((style.unwrap_or_default(), token.text.to_owned()));
        }
        styled
    }
}

impl Colours {
    fn is_coloured_in_commands(&self, token: &Token<'_>) -> bool {
        token.kind == TokenKind::Text
    }

    /// The colour of a token, and whether it is bold.
    fn colour(&self, token: &Token<'_>, is_called: bool) -> Option<(Color, bool)> {
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
    use crate::query::completion::Vocabulary;

    #[test]
    fn each_kind_has_its_colour_and_no_text_is_lost() {
        let words = SharedVocabulary::default();
        let functions = [("median".to_owned(), String::new())];
        words.replace(Vocabulary {
            functions: functions.into(),
            ..Vocabulary::default()
        });
        let line = "select Median(x), other(y), 'it' -- why\nFROM t WHERE n > 1.5";
        let styled = Colours { words }.highlight(line, 0).buffer;
        let whole: String = styled.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(whole, line);
        let colour = |word: &str| {
            let found = styled.iter().find(|(_, text)| text == word);
            found.unwrap().0.foreground
        };
        assert_eq!(colour("select"), Some(Color::Blue));
        assert_eq!(colour("Median"), Some(Color::Cyan));
        assert_eq!(colour("other"), None);
        assert_eq!(colour("'it'"), Some(Color::Yellow));
        assert_eq!(colour("-- why"), Some(Color::DarkGray));
        assert_eq!(colour("1.5"), Some(Color::Magenta));
    }
}

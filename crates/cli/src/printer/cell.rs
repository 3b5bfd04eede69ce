//! Text in a cell of a table: lines of a limited width, in terminal columns.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Returns the first line of `text`, at most `width` wide, with `…` in place of omitted text.
/// Control characters are escaped, because they would move the cursor.
pub(super) fn shorten(text: &str, width: usize) -> Cow<'_, str> {
    if !text.contains(char::is_control) && text.width() <= width {
        return Cow::Borrowed(text);
    }
    let line = text.split(['\n', '\r']).next().unwrap_or_default();
    let shown = escape_control(line);
    if line.len() == text.len() && shown.width() <= width {
        return Cow::Owned(shown);
    }
    let room = width.saturating_sub(1);
    let mut cut = fitting_prefix(&shown, room).to_owned();
    cut.push('…');
    Cow::Owned(cut)
}

/// Breaks `text` into lines of at most `width`, between words if possible.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in text.lines() {
        let paragraph = escape_control(paragraph);
        let mut line = String::new();
        for word in paragraph.split(' ') {
            let space = usize::from(!line.is_empty());
            if line.width() + space + word.width() <= width {
                line.extend(std::iter::repeat_n(' ', space));
                line.push_str(word);
                continue;
            }
            if !line.is_empty() {
                lines.push(std::mem::take(&mut line));
            }
            line = break_word(word, width, &mut lines);
        }
        lines.push(line);
    }
    if lines.is_empty() {
        lines.push(String::new());
    }
    lines
}

/// Breaks a long word: appends all but its last line to `lines`, and returns the last one.
fn break_word(word: &str, width: usize, lines: &mut Vec<String>) -> String {
    let mut rest = word;
    while rest.width() > width && rest.chars().nth(1).is_some() {
        let first = match fitting_prefix(rest, width) {
            // A character that is wider than the column has its own line.
            "" => rest.split_inclusive(|_| true).next().unwrap_or(rest),
            first => first,
        };
        lines.push(first.to_owned());
        rest = rest.strip_prefix(first).unwrap_or_default();
    }
    rest.to_owned()
}

/// Returns the longest prefix of `text` that fits into `width`. Combining marks stay with their character.
fn fitting_prefix(text: &str, width: usize) -> &str {
    let (mut end, mut used) = (0, 0);
    for (at, character) in text.char_indices() {
        used += character.width().unwrap_or(0);
        if used > width {
            break;
        }
        end = at + character.len_utf8();
    }
    text.get(..end).unwrap_or_default()
}

fn escape_control(line: &str) -> String {
    let mut shown = String::with_capacity(line.len());
    for character in line.chars() {
        if character.is_control() {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_end_in_an_ellipsis() {
        assert_eq!(shorten(&"x".repeat(80), 80), "x".repeat(80));
        assert_eq!(shorten(&"x".repeat(81), 80), "x".repeat(79) + "…");
        assert_eq!(shorten(&"日".repeat(41), 80), "日".repeat(39) + "…");
        assert_eq!(shorten("one\r\ntwo", 80), "one…");
        assert_eq!(shorten(&("x".repeat(80) + "\n"), 80), "x".repeat(79) + "…");
        assert_eq!(shorten("\u{1b}[2J", 80), "\\u{1b}[2J");
        assert_eq!(shorten("abc", 1), "…");
    }

    #[test]
    fn marks_stay_with_their_letter() {
        // Each letter is two characters and one column.
        let letters = "e\u{301}".repeat(5);
        assert_eq!(shorten(&letters, 5), letters);
        assert_eq!(shorten(&letters, 3), "e\u{301}e\u{301}…");
    }

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("a\nb", 7), ["a", "b"]);
        assert_eq!(wrap("", 7), [""]);
        assert_eq!(wrap("abcdefgh i", 3), ["abc", "def", "gh", "i"]);
        assert_eq!(wrap("日本語", 4), ["日本", "語"]);
        assert_eq!(wrap("日本", 1), ["日", "本"]);
    }
}

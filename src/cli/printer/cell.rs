//! Text in the cell of a table: on lines of a given width, in terminal columns.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The first line of `text`, at most `width` wide, with `…` where something is left out.
/// Control characters are spelled out: they would move the cursor.
pub(super) fn shorten(text: &str, width: usize) -> Cow<'_, str> {
    if !text.contains(char::is_control) && text.width() <= width {
        return Cow::Borrowed(text);
    }
    let line = text.split(['\n', '\r']).next().unwrap_or_default();
    let shown = spelled_out(line);
    if line.len() == text.len() && shown.width() <= width {
        return Cow::Owned(shown);
    }
    let room = width.saturating_sub(1);
    let mut cut = beginning(&shown, room).to_owned();
    cut.push('…');
    Cow::Owned(cut)
}

/// `text` on lines of at most `width`, broken between words where that is possible.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in text.lines() {
        let paragraph = spelled_out(paragraph);
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
            line = broken(word, width, &mut lines);
        }
        lines.push(line);
    }
    if lines.is_empty() {
        lines.push(String::new());
    }
    lines
}

/// Puts all of a word but its last line into `lines`, and gives that.
fn broken(word: &str, width: usize, lines: &mut Vec<String>) -> String {
    let mut rest = word;
    while rest.width() > width && rest.chars().nth(1).is_some() {
        let first = match beginning(rest, width) {
            // A character that is wider than the column stands by itself.
            "" => rest.split_inclusive(|_| true).next().unwrap_or(rest),
            first => first,
        };
        lines.push(first.to_owned());
        rest = rest.strip_prefix(first).unwrap_or_default();
    }
    rest.to_owned()
}

/// As much of `text` as `width` has room for; marks stay with the letter that they are on.
fn beginning(text: &str, width: usize) -> &str {
    let (mut end, mut taken) = (0, 0);
    for (at, character) in text.char_indices() {
        taken += character.width().unwrap_or(0);
        if taken > width {
            break;
        }
        end = at + character.len_utf8();
    }
    text.get(..end).unwrap_or_default()
}

fn spelled_out(line: &str) -> String {
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

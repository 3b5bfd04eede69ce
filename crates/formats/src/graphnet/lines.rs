//! Splits Python text into logical lines. A logical line ends at a line break outside of all brackets.

/// Logical line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LogicalLine<'a> {
    /// Number of its first line in the file, from 1.
    pub(super) number: u64,
    /// Preceding blanks; a tab counts as four.
    pub(super) indent: usize,
    /// Text from its first to its last token.
    pub(super) text: &'a str,
    /// Comment line directly before it, without `#` and blanks.
    pub(super) comment: Option<&'a str>,
}

/// Iterator over the logical lines of a file. An unclosed bracket extends its line to the end of the file.
pub(super) struct LogicalLines<'a> {
    rest: &'a str,
    number: u64,
}

impl<'a> LogicalLines<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            rest: text,
            number: 1,
        }
    }

    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at_checked(bytes).unwrap_or((self.rest, ""));
        self.number += taken.bytes().filter(|&byte| byte == b'\n').count() as u64;
        self.rest = rest;
        taken
    }
}

impl<'a> Iterator for LogicalLines<'a> {
    type Item = LogicalLine<'a>;

    fn next(&mut self) -> Option<LogicalLine<'a>> {
        let mut comment = None;
        loop {
            if self.rest.is_empty() {
                return None;
            }
            let blanks = self.rest.bytes().take_while(|byte| b" \t\r".contains(byte));
            let blanks = blanks.count();
            let before = self.take(blanks);
            let number = self.number;
            let (end, closed) = logical_line_end(self.rest);
            let text = self.take(end).trim_end();
            if closed {
                self.take(1);
            }
            if text.is_empty() {
                comment = None;
            } else if let Some(said) = text.strip_prefix('#') {
                comment = Some(said.trim());
            } else {
                let tabs = before.bytes().filter(|&byte| byte == b'\t').count();
                return Some(LogicalLine {
                    number,
                    indent: blanks + 3 * tabs,
                    text,
                    comment,
                });
            }
        }
    }
}

/// Returns the end of the logical line at the start of `text`, and whether a line break follows.
fn logical_line_end(text: &str) -> (usize, bool) {
    let bytes = text.as_bytes();
    let at = |place: usize| bytes.get(place).copied();
    let (mut place, mut depth) = (0, 0_usize);
    while let Some(byte) = at(place) {
        match byte {
            b'\n' if depth == 0 => return (place, true),
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b'#' => {
                let rest = bytes.get(place..).unwrap_or(&[]);
                place += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                continue;
            }
            b'\\' => place += 1,
            b'\'' | b'"' => {
                place += string_length(bytes.get(place..).unwrap_or(&[]));
                continue;
            }
            _ => {}
        }
        place += 1;
    }
    (bytes.len(), false)
}

/// Returns the length of the string literal at the start of `bytes`, including quotes. An unclosed literal ends with
/// its line, or with the text if it has three quotes.
pub(super) fn string_length(bytes: &[u8]) -> usize {
    let Some(&quote) = bytes.first() else {
        return 0;
    };
    let triple = bytes.get(..3) == Some(&[quote; 3]);
    let mut place = if triple { 3 } else { 1 };
    while let Some(&byte) = bytes.get(place) {
        match byte {
            b'\\' => place += 1,
            b'\n' if !triple => return place,
            byte if byte == quote && !triple => return place + 1,
            byte if byte == quote && bytes.get(place..place + 3) == Some(&[quote; 3]) => {
                return place + 3;
            }
            _ => {}
        }
        place += 1;
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_strings_and_comments_hold_lines_together() {
        let text = "a = (1,  # )\n  2)\n\n    # pd_op.x: () <- ()\n\tb = '\\'#('\n# c\n\nd = \"\"\"\n(\"\"\"\r\ne = [";
        let lines: Vec<LogicalLine<'_>> = LogicalLines::new(text).collect();
        let texts: Vec<&str> = lines.iter().map(|line| line.text).collect();
        assert_eq!(
            texts,
            [
                "a = (1,  # )\n  2)",
                "b = '\\'#('",
                "d = \"\"\"\n(\"\"\"",
                "e = ["
            ]
        );
        let numbers: Vec<u64> = lines.iter().map(|line| line.number).collect();
        assert_eq!(numbers, [1, 5, 8, 10]);
        assert_eq!(lines.get(1).unwrap().comment, Some("pd_op.x: () <- ()"));
        assert_eq!(lines.get(1).unwrap().indent, 4);
        assert_eq!(lines.get(2).unwrap().comment, None, "a blank line between");
    }
}

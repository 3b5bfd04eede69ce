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
        let (prefix, rest) = self.rest.split_at_checked(bytes).unwrap_or((self.rest, ""));
        self.number += prefix.bytes().filter(|&byte| byte == b'\n').count() as u64;
        self.rest = rest;
        prefix
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
            let indentation = self.take(blanks);
            let number = self.number;
            let (end, is_closed) = logical_line_end(self.rest);
            let text = self.take(end).trim_end();
            if is_closed {
                self.take(1);
            }
            if text.is_empty() {
                comment = None;
            } else if let Some(comment_text) = text.strip_prefix('#') {
                comment = Some(comment_text.trim());
            } else {
                let tabs = indentation.bytes().filter(|&byte| byte == b'\t').count();
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
    let byte_at = |position: usize| bytes.get(position).copied();
    let (mut position, mut depth) = (0, 0_usize);
    while let Some(byte) = byte_at(position) {
        match byte {
            b'\n' if depth == 0 => return (position, true),
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b'#' => {
                let rest = bytes.get(position..).unwrap_or(&[]);
                position += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                continue;
            }
            b'\\' => position += 1,
            b'\'' | b'"' => {
                position += string_length(bytes.get(position..).unwrap_or(&[]));
                continue;
            }
            _ => {}
        }
        position += 1;
    }
    (bytes.len(), false)
}

/// Returns the length of the string literal at the start of `bytes`, including quotes. An unclosed literal ends with
/// its line, or with the text if it has three quotes.
pub(super) fn string_length(bytes: &[u8]) -> usize {
    let Some(&quote) = bytes.first() else {
        return 0;
    };
    let is_triple = bytes.get(..3) == Some(&[quote; 3]);
    let mut position = if is_triple { 3 } else { 1 };
    while let Some(&byte) = bytes.get(position) {
        match byte {
            b'\\' => position += 1,
            b'\n' if !is_triple => return position,
            byte if byte == quote && !is_triple => return position + 1,
            byte if byte == quote && bytes.get(position..position + 3) == Some(&[quote; 3]) => {
                return position + 3;
            }
            _ => {}
        }
        position += 1;
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

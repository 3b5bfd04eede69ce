//! Standard output for text. On a terminal, control characters are escaped, so that no text can control the terminal.

use std::io::{self, IsTerminal as _, Write};

use tsql_error::redact::escape_control_characters;

/// Returns standard output for text: escaped on a terminal, unchanged elsewhere.
pub(super) fn stdout() -> Text<io::Stdout> {
    let out = io::stdout();
    Text {
        escapes: out.is_terminal(),
        out,
        incomplete: Vec::new(),
    }
}

/// Returns a writer of escaped text, for output that finally reaches a terminal.
pub(super) fn escaping<W: Write>(out: W) -> Text<W> {
    Text {
        escapes: true,
        out,
        incomplete: Vec::new(),
    }
}

/// Writer of text to `out`.
pub(super) struct Text<W> {
    out: W,
    escapes: bool,
    /// First bytes of a character whose other bytes are not written yet.
    incomplete: Vec<u8>,
}

impl<W: Write> Write for Text<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.escapes {
            return self.out.write(bytes);
        }
        self.incomplete.extend_from_slice(bytes);
        let waiting = split_unfinished(&self.incomplete);
        let complete = self.incomplete.len() - waiting;
        let rest = self.incomplete.split_off(complete);
        let complete = std::mem::replace(&mut self.incomplete, rest);
        let text = String::from_utf8_lossy(&complete);
        self.out
            .write_all(escape_control_characters(&text).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Returns the number of bytes at the end that may begin a character.
fn split_unfinished(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => bytes.len() - error.valid_up_to(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_no_escape_sequences_whatever_the_pieces() {
        let text = "name\n\u{1b}[2J,größe\u{9b}x\n";
        for piece in 1..text.len() {
            let mut out = Text {
                out: Vec::new(),
                escapes: true,
                incomplete: Vec::new(),
            };
            for bytes in text.as_bytes().chunks(piece) {
                out.write_all(bytes).unwrap();
            }
            let shown = String::from_utf8(out.out).unwrap();
            assert_eq!(shown, "name\n\\u{1b}[2J,größe\\u{9b}x\n", "{piece}");
        }
    }
}

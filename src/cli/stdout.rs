//! Standard output, for text. Where a terminal shows it, nothing in it steers the terminal.

use std::io::{self, IsTerminal as _, Write};

use crate::error::redact::escape_control_characters;

/// Standard output for text: escaped on a terminal, as it is elsewhere.
pub(super) fn stdout() -> Text<io::Stdout> {
    let out = io::stdout();
    Text {
        escapes: out.is_terminal(),
        out,
        begun: Vec::new(),
    }
}

/// Text that a terminal shows in the end.
pub(super) fn escaping<W: Write>(out: W) -> Text<W> {
    Text {
        escapes: true,
        out,
        begun: Vec::new(),
    }
}

/// Text on its way to `out`.
pub(super) struct Text<W> {
    out: W,
    escapes: bool,
    /// Bytes of a character whose other bytes have not come yet.
    begun: Vec<u8>,
}

impl<W: Write> Write for Text<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.escapes {
            return self.out.write(bytes);
        }
        self.begun.extend_from_slice(bytes);
        let waiting = split_unfinished(&self.begun);
        let whole = self.begun.len() - waiting;
        let rest = self.begun.split_off(whole);
        let whole = std::mem::replace(&mut self.begun, rest);
        let text = String::from_utf8_lossy(&whole);
        self.out
            .write_all(escape_control_characters(&text).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Bytes at the end that may be the beginning of a character.
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
                begun: Vec::new(),
            };
            for bytes in text.as_bytes().chunks(piece) {
                out.write_all(bytes).unwrap();
            }
            let shown = String::from_utf8(out.out).unwrap();
            assert_eq!(shown, "name\n\\u{1b}[2J,größe\\u{9b}x\n", "{piece}");
        }
    }
}

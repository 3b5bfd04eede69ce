//! Benchmark logs of GraphNet, as its test compilers and device tests write them.
//!
//! Lines are recognised by their bracket tags anywhere in a line. Child processes write to the same
//! stream, so everything else is skipped, and several tags in one line are read one by one.
//! What cannot be read ends up in the notes of its record.

pub mod lines;
mod open;
mod run;
mod style;
mod tag;
mod text;
mod tolerance;

pub use run::{Block, Performance, Run, Trial, passes, stated_status, upstream_status};
#[cfg(test)]
pub(crate) use tolerance::{is_known_key, tolerance, tolerance_key};

use open::Open;
use tag::{Piece, Tag, pieces};

/// Reads a log line by line.
#[derive(Debug, Default)]
pub struct Parser {
    line: u64,
    stray: u64,
    prompt: String,
    open: Option<Open>,
    done: Vec<Run>,
}

impl Parser {
    /// A parser at the start of a log.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next line, with or without its line ending. A carriage return inside the line also
    /// ends a line, as it does for upstream's reader, but does not count in line numbers.
    pub fn push_line(&mut self, line: &[u8]) {
        self.line += 1;
        let text = String::from_utf8_lossy(line);
        for part in text.trim_end_matches(['\n', '\r']).split('\r') {
            self.push_part(part);
        }
    }

    /// The records that ended since the last call.
    pub(crate) fn take_done(&mut self) -> Vec<Run> {
        std::mem::take(&mut self.done)
    }

    /// Ends the log; returns the records that were not taken yet.
    pub fn finish(&mut self) -> Vec<Run> {
        self.end_run(self.line, "cut off: the log ends before any result");
        self.take_done()
    }

    /// Number of tagged lines before the first `[Processing]`; they belong to no record.
    pub fn stray_lines(&self) -> u64 {
        self.stray
    }

    fn push_part(&mut self, text: &str) {
        let pieces = pieces(text);
        let starts = pieces.iter().position(|piece| piece.tag == Tag::Processing);
        let (before, after) = pieces
            .split_at_checked(starts.unwrap_or(0))
            .unwrap_or_default();
        if starts.is_some() {
            self.read(before);
            self.end_run(
                self.line.saturating_sub(1),
                "cut off: the next record starts before any result",
            );
            let ahead = text.split("[Processing]").next().unwrap_or_default();
            self.prompt = ahead
                .split_whitespace()
                .next_back()
                .unwrap_or_default()
                .to_owned();
            self.open = Some(Open::new(self.line));
        }
        if let Some(open) = &mut self.open {
            open.mark(text);
            open.timing(self.line, text);
        } else if !pieces.is_empty() {
            self.stray += 1;
        }
        self.read(after);
    }

    fn read(&mut self, pieces: &[Piece]) {
        let Some(open) = &mut self.open else { return };
        for piece in pieces {
            let mut body = piece.body;
            if !piece.is_last {
                body = body.trim_end();
                body = body.strip_suffix(self.prompt.as_str()).unwrap_or(body);
            }
            open.read(self.line, piece.tag, body);
        }
    }

    fn end_run(&mut self, last_line: u64, cut: &str) {
        if let Some(open) = self.open.take() {
            self.done.push(open.close(last_line, cut));
        }
    }
}

//! Benchmark logs of GraphNet, as its test compilers and device tests write them.
//!
//! Lines are recognised by their bracket tags anywhere in a line. Child processes write to the same
//! stream, so everything else is skipped, and several tags in one line are read one by one.
//! What cannot be read ends up in the notes of its record.

pub mod lines;
mod open;
mod run;
mod style;
mod text;
mod tolerance;

pub use run::{Block, Performance, Run, Trial, passes, stated_status, upstream_status};
#[cfg(test)]
pub(crate) use tolerance::{is_known_key, tolerance, tolerance_key};

use open::Open;

/// The tags that a line may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tag {
    Processing,
    Config,
    Profiling,
    Datatype,
    DatatypeMatch,
    Shape,
    Correctness,
    Performance,
    Speedup,
    Outcome,
    FailDue,
}

const TAGS: [(&str, Tag); 11] = [
    ("[Processing]", Tag::Processing),
    ("[Config]", Tag::Config),
    ("[Profiling]", Tag::Profiling),
    ("[Datatype]", Tag::Datatype),
    ("[DataType]", Tag::DatatypeMatch),
    ("[Shape]", Tag::Shape),
    ("[Correctness]", Tag::Correctness),
    ("[Performance]", Tag::Performance),
    ("[Speedup]", Tag::Speedup),
    ("[Result]", Tag::Outcome),
    ("[Fail due to ", Tag::FailDue),
];

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

/// One tag of a line and the text up to the next tag.
struct Piece<'a> {
    tag: Tag,
    body: &'a str,
    is_last: bool,
}

fn pieces(line: &str) -> Vec<Piece<'_>> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut starts = line.match_indices('[').filter_map(|(at, _)| {
        let rest = line.get(at..)?;
        let found = TAGS
            .iter()
            .find_map(|(text, tag)| Some((*tag, rest.strip_prefix(text)?)));
        found.map(|(tag, rest)| (at, tag, rest))
    });
    let mut current = starts.next();
    while let Some((_, tag, rest)) = current {
        current = starts.next();
        let from = line.len() - rest.len();
        let body = match current {
            Some((next, ..)) => line.get(from..next).unwrap_or(rest),
            None => rest,
        };
        pieces.push(Piece {
            tag,
            body,
            is_last: current.is_none(),
        });
    }
    pieces
}

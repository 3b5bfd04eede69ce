//! Benchmark logs of GraphNet, as its test compilers and device tests write them.
//!
//! Lines are recognised by their bracket tags anywhere in a line. Child processes write to the same
//! stream, so everything else is skipped, and several tags in one line are read one by one.
//! What cannot be read ends up in the notes of its record.
//!
//! Three dialects are read: records that begin with `[Processing]`, those of `backend` and those of `legacy`.

mod backend;
pub(super) mod legacy;
pub mod lines;
mod open;
mod run;
mod sides;
mod style;
mod tag;
mod text;
mod tolerance;

pub use run::{Block, Performance, Run, Trial, passes, stated_status, upstream_status};
#[cfg(test)]
pub(crate) use tolerance::{is_known_key, tolerance, tolerance_key};

use legacy::Value;
use open::Open;
use sides::Timings;
use tag::{Piece, Tag, pieces};

/// What a record without any result is noted with.
const NO_RESULT: &str = "cut off: the next record starts before any result";

/// Reads a log line by line.
#[derive(Debug, Default)]
pub struct Parser {
    line: u64,
    stray: u64,
    /// Lines with tags of records.
    unclaimed: u64,
    prompt: String,
    open: Option<Open>,
    done: Vec<Run>,
    /// The list of the samples that failed has begun.
    in_summary: bool,
    /// Trials of [`legacy`] logs, which stand before the lines of their record, and where they begin.
    timings: Timings,
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
        if let Some(line) = legacy::parse(text) {
            return self.legacy(&line);
        }
        if self.backend(text) {
            return;
        }
        let pieces = pieces(text);
        self.begin_side(&pieces);
        let starts = pieces.iter().position(|piece| piece.tag == Tag::Processing);
        let (before, after) = pieces
            .split_at_checked(starts.unwrap_or(0))
            .unwrap_or_default();
        if starts.is_some() {
            self.drop_unclaimed();
            self.read(before);
            self.end_run(self.line.saturating_sub(1), NO_RESULT);
            let ahead = text.split("[Processing]").next().unwrap_or_default();
            self.prompt = ahead
                .split_whitespace()
                .next_back()
                .unwrap_or_default()
                .to_owned();
            self.open = Some(Open::new(self.line));
        }
        self.timings.read(self.line, text);
        let is_tagged = !pieces.is_empty();
        if let Some(open) = &mut self.open {
            open.mark(text);
            open.timing(self.line, text);
            self.unclaimed += u64::from(is_tagged);
        } else if is_tagged && !self.timings.is_any() {
            self.stray += 1;
        }
        self.read(after);
        self.join_reference();
    }

    /// Reads a line of a log of two backends that has no tag; false for any other line.
    fn backend(&mut self, text: &str) -> bool {
        let path = backend::header(text);
        if path.is_none()
            && self
                .open
                .as_ref()
                .is_some_and(|open| !open.is_of_backends())
        {
            return false;
        }
        if backend::is_summary(text) {
            self.end_run(self.line.saturating_sub(1), NO_RESULT);
            self.in_summary = true;
        } else if let Some(path) = text.strip_prefix("- ").filter(|_| self.in_summary) {
            let of_path = |run: &&mut Run| run.model_path == path && stated_status(run).is_none();
            if let Some(run) = self.done.iter_mut().rev().find(of_path) {
                run.result = Some("failed".to_owned());
            }
        } else if let Some(path) = path {
            self.end_run(self.line.saturating_sub(1), NO_RESULT);
            self.open = Some(Open::with_header(self.line, path));
        } else if let Some(path) = backend::log_path(text) {
            let is_own = self.open.as_mut().is_some_and(|open| open.log_path(path));
            if !is_own {
                self.end_run(self.line.saturating_sub(1), NO_RESULT);
                self.open = Some(Open::with_log_path(self.line, path));
            }
        } else {
            return false;
        }
        true
    }

    /// Begins a record with a `[Config] model` that no other line begins.
    fn begin_side(&mut self, pieces: &[Piece]) {
        let is_model = |piece: &Piece| {
            piece.tag == Tag::Config && piece.body.trim_start().starts_with("model: ")
        };
        if pieces.first().is_some_and(is_model)
            && self.open.as_ref().is_none_or(Open::ends_with_next_side)
        {
            self.end_run(self.line.saturating_sub(1), NO_RESULT);
            self.open = Some(Open::side(self.line));
        }
    }

    /// Leaves out lines before the first `[Processing]` that only looked like the record of a backend.
    fn drop_unclaimed(&mut self) {
        let is_side = self.open.as_ref().is_some_and(Open::is_plain_side);
        if is_side && self.done.is_empty() {
            self.open = None;
            self.stray += self.unclaimed;
        }
    }

    /// Makes the record before the target's its reference, where a log has both without their paths.
    fn join_reference(&mut self) {
        let Some(open) = self.open.as_mut().filter(|open| open.lacks_reference()) else {
            return;
        };
        if self.done.last().is_some_and(|run| open.is_target_of(run))
            && let Some(reference) = self.done.pop()
        {
            open.join(reference);
        }
    }

    fn legacy(&mut self, line: &legacy::Line<'_>) {
        let is_own = self
            .open
            .as_ref()
            .is_some_and(|open| open.is_legacy_of(line));
        if !is_own {
            let begin = self.timings.begin().unwrap_or(self.line);
            self.end_run(begin.saturating_sub(1), NO_RESULT);
            let mut open = Open::legacy(begin, line.model_path);
            self.timings.give(&mut open);
            self.open = Some(open);
        }
        if let Some(open) = &mut self.open {
            open.legacy_line(self.line, line);
            if matches!(line.value, Value::Durations(..)) {
                self.timings = Timings::default();
            }
        }
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
        self.in_summary = false;
        if let Some(open) = self.open.take() {
            self.done.push(open.close(last_line, cut));
        }
    }
}

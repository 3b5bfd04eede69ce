//! Benchmark logs of GraphNet, written by its test compilers and device tests.
//!
//! Lines are recognised by bracket tags at any position. Child processes write to the same stream, so other text is
//! skipped and several tags in one line are read one by one. Unreadable parts are reported in the notes of the record.
//!
//! Three dialects are supported: records that start with `[Processing]`, those of `backend` and those of `legacy`.

mod backend;
mod detect;
mod legacy;
pub mod lines;
mod record_builder;
mod run;
mod sides;
mod style;
mod tag;
mod text;
mod tolerance;

pub use detect::is_log;
pub use run::{
    Performance, Run, Trial, TrialBlock, passing_tolerances, stated_status, upstream_status,
};
#[cfg(test)]
pub(crate) use tolerance::{is_known_key, tolerance, tolerance_key};

use legacy::LegacyValue;
use record_builder::RecordBuilder;
use sides::LegacyTrials;
use tag::{Tag, TaggedText, split_tags};

/// Note on a record without any result.
const NO_RESULT_NOTE: &str = "cut off: the next record starts before any result";

/// Line-by-line parser of a log.
#[derive(Debug, Default)]
pub struct LogParser {
    line: u64,
    stray: u64,
    /// Number of lines with tags in the current record.
    unclaimed: u64,
    prompt: String,
    open: Option<RecordBuilder>,
    done: Vec<Run>,
    /// Whether the list of failed samples has started.
    in_summary: bool,
    /// Trials of [`legacy`] logs, which precede the lines of their record.
    timings: LegacyTrials,
}

impl LogParser {
    /// Creates a parser at the start of a log.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads the next line, with or without its line ending. A carriage return inside of a line also ends a line, as in
    /// upstream's reader, but does not count in line numbers.
    pub fn push_line(&mut self, line: &[u8]) {
        self.line += 1;
        let text = String::from_utf8_lossy(line);
        for part in text.trim_end_matches(['\n', '\r']).split('\r') {
            self.push_text(part);
        }
    }

    /// Returns the records that ended since the last call.
    pub(crate) fn take_finished(&mut self) -> Vec<Run> {
        std::mem::take(&mut self.done)
    }

    /// Ends the log and returns the remaining records.
    pub fn finish(&mut self) -> Vec<Run> {
        self.end_run(self.line, "cut off: the log ends before any result");
        self.take_finished()
    }

    /// Number of tagged lines before the first `[Processing]`, which belong to no record.
    pub fn stray_lines(&self) -> u64 {
        self.stray
    }

    fn push_text(&mut self, text: &str) {
        if let Some(line) = legacy::parse_line(text) {
            return self.read_legacy_line(&line);
        }
        if self.read_backend_line(text) {
            return;
        }
        let pieces = split_tags(text);
        self.start_side(&pieces);
        let processing_index = pieces.iter().position(|piece| piece.tag == Tag::Processing);
        let (head, tail) = pieces
            .split_at_checked(processing_index.unwrap_or(0))
            .unwrap_or_default();
        if processing_index.is_some() {
            self.drop_unclaimed();
            self.read_tags(head);
            self.end_run(self.line.saturating_sub(1), NO_RESULT_NOTE);
            let prefix = text.split("[Processing]").next().unwrap_or_default();
            self.prompt = prefix
                .split_whitespace()
                .next_back()
                .unwrap_or_default()
                .to_owned();
            self.open = Some(RecordBuilder::new(self.line));
        }
        self.timings.read_line(self.line, text);
        let is_tagged = !pieces.is_empty();
        if let Some(open) = &mut self.open {
            open.read_marks(text);
            open.read_timing(self.line, text);
            self.unclaimed += u64::from(is_tagged);
        } else if is_tagged && !self.timings.has_started() {
            self.stray += 1;
        }
        self.read_tags(tail);
        self.join_reference();
    }

    /// Reads a line without tags of a log of two backends; returns false for any other line.
    fn read_backend_line(&mut self, text: &str) -> bool {
        let path = backend::parse_header(text);
        if path.is_none() && self.open.as_ref().is_some_and(|open| !open.is_backend()) {
            return false;
        }
        if backend::is_summary(text) {
            self.end_run(self.line.saturating_sub(1), NO_RESULT_NOTE);
            self.in_summary = true;
        } else if let Some(path) = text.strip_prefix("- ").filter(|_| self.in_summary) {
            let has_path = |run: &&mut Run| run.model_path == path && stated_status(run).is_none();
            if let Some(run) = self.done.iter_mut().rev().find(has_path) {
                run.result = Some("failed".to_owned());
            }
        } else if let Some(path) = path {
            self.end_run(self.line.saturating_sub(1), NO_RESULT_NOTE);
            self.open = Some(RecordBuilder::with_header(self.line, path));
        } else if let Some(path) = backend::parse_log_path(text) {
            let is_own = self
                .open
                .as_mut()
                .is_some_and(|open| open.take_log_path(path));
            if !is_own {
                self.end_run(self.line.saturating_sub(1), NO_RESULT_NOTE);
                self.open = Some(RecordBuilder::with_log_path(self.line, path));
            }
        } else {
            return false;
        }
        true
    }

    /// Starts a record at a `[Config] model` line if no other line has started one.
    fn start_side(&mut self, pieces: &[TaggedText]) {
        let is_model = |piece: &TaggedText| {
            piece.tag == Tag::Config && piece.body.trim_start().starts_with("model: ")
        };
        if pieces.first().is_some_and(is_model)
            && self
                .open
                .as_ref()
                .is_none_or(RecordBuilder::ends_with_next_side)
        {
            self.end_run(self.line.saturating_sub(1), NO_RESULT_NOTE);
            self.open = Some(RecordBuilder::for_side(self.line));
        }
    }

    /// Drops lines before the first `[Processing]` that only looked like a backend record.
    fn drop_unclaimed(&mut self) {
        let is_side = self.open.as_ref().is_some_and(RecordBuilder::is_plain_side);
        if is_side && self.done.is_empty() {
            self.open = None;
            self.stray += self.unclaimed;
        }
    }

    /// Makes the previous record the reference of the current one, for logs with both sides but without paths.
    fn join_reference(&mut self) {
        let Some(open) = self.open.as_mut().filter(|open| open.lacks_reference()) else {
            return;
        };
        if self.done.last().is_some_and(|run| open.is_target_of(run))
            && let Some(reference) = self.done.pop()
        {
            open.join_reference(reference);
        }
    }

    fn read_legacy_line(&mut self, line: &legacy::LegacyLine<'_>) {
        let is_own = self
            .open
            .as_ref()
            .is_some_and(|open| open.continues_legacy(line));
        if !is_own {
            let first_line = self.timings.first_line().unwrap_or(self.line);
            self.end_run(first_line.saturating_sub(1), NO_RESULT_NOTE);
            let mut open = RecordBuilder::for_legacy(first_line, line.model_path);
            self.timings.move_to(&mut open);
            self.open = Some(open);
        }
        if let Some(open) = &mut self.open {
            open.read_legacy_line(self.line, line);
            if matches!(line.value, LegacyValue::Durations(..)) {
                self.timings = LegacyTrials::default();
            }
        }
    }

    fn read_tags(&mut self, pieces: &[TaggedText]) {
        let Some(open) = &mut self.open else { return };
        for piece in pieces {
            let mut body = piece.body;
            if !piece.is_last {
                body = body.trim_end();
                body = body.strip_suffix(self.prompt.as_str()).unwrap_or(body);
            }
            open.read_tag(self.line, piece.tag, body);
        }
    }

    fn end_run(&mut self, last_line: u64, no_result_note: &str) {
        self.in_summary = false;
        if let Some(open) = self.open.take() {
            self.done.push(open.finish(last_line, no_result_note));
        }
    }
}

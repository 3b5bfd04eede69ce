//! Small made-up inputs of each format, damaged ones included.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

use std::path::PathBuf;

use tsql_autotuners::{
    Coverage, Detected, Document, End, Event, FailureKind, Format, Mapping, NoRecords, Origin,
    ReadOptions, Reader, Status, Trial, Value, detect,
};

mod csv_formats;
mod json_formats;
mod line_formats;
mod spaces;

pub(crate) struct File {
    pub(crate) document: Document,
    pub(crate) trials: Vec<Trial>,
    pub(crate) empty: usize,
    pub(crate) rejected: Vec<String>,
}

/// Detects and reads a text at a made-up path.
pub(crate) fn read_at(path: &str, text: &str, format: Format) -> File {
    assert_eq!(detect(text.as_bytes()), Detected::Format(format));
    read_with(
        text,
        format,
        ReadOptions {
            path: Some(PathBuf::from(path)),
            ..ReadOptions::default()
        },
    )
}

pub(crate) fn read(text: &str, format: Format) -> File {
    read_at("device_x/operator_y.json", text, format)
}

pub(crate) fn read_with(text: &str, format: Format, options: ReadOptions) -> File {
    // Reads of one byte show that nothing depends on the size of the buffer.
    let input = std::io::BufReader::with_capacity(1, text.as_bytes());
    let mut reader = Reader::new(format, input, options);
    let (mut trials, mut empty, mut rejected) = (Vec::new(), 0, Vec::new());
    for event in reader.by_ref() {
        match event.unwrap() {
            Event::Trial(trial) => trials.push(*trial),
            Event::EmptyGraph { .. } => empty += 1,
            Event::Rejected(part) | Event::Warning(part) => rejected.push(part.to_string()),
        }
    }
    let document = reader.document().clone();
    assert_eq!(document.counts.trials, trials.len() as u64);
    assert_eq!(document.counts.rejected, rejected.len() as u64);
    for trial in &trials {
        assert!(trial.time.is_none() || trial.status == Status::Ok);
        let (begin, end) = (trial.bytes.start, trial.bytes.end);
        assert!(begin < end && end <= text.len() as u64, "{begin}..{end}");
    }
    File {
        document,
        trials,
        empty,
        rejected,
    }
}

/// Times in seconds; `None` for trials without one.
pub(crate) fn seconds(file: &File) -> Vec<Option<f64>> {
    let seconds = |trial: &Trial| trial.time.as_ref().map(tsql_autotuners::Time::seconds);
    file.trials.iter().map(seconds).collect()
}

/// Text of a trial in its file.
pub(crate) fn text_of<'a>(text: &'a str, trial: &Trial) -> &'a str {
    let position = |at: u64| usize::try_from(at).unwrap();
    text.get(position(trial.bytes.start)..position(trial.bytes.end))
        .unwrap()
}

/// Kind of a failure.
pub(crate) fn failure(trial: &Trial) -> Option<FailureKind> {
    match &trial.status {
        Status::Failed { kind, .. } => Some(*kind),
        _ => None,
    }
}

/// Value of a metric.
pub(crate) fn metric(trial: &Trial, name: &str) -> Option<f64> {
    trial
        .metrics
        .iter()
        .find(|metric| metric.name == name)
        .map(|metric| metric.value)
}

/// Configuration as JSON.
pub(crate) fn configuration(trial: &Trial) -> String {
    Value::Object(trial.configuration.clone()).to_json()
}

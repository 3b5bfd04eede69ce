//! Readers of benchmark tools: small inputs of each format, and real files against their expected values.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "tests"
)]

use std::path::PathBuf;

use tsql_autotuners::{
    Detected, Document, Event, Format, ReadOptions, Reader, Trial, Value, detect,
};

mod expected;
mod histories;
mod json_results;
mod options;
mod spelling;
mod tables;

/// Records, rejected parts and warnings of a file.
struct File {
    document: Document,
    trials: Vec<Trial>,
    rejected: Vec<String>,
    warnings: Vec<String>,
    error: Option<String>,
}

fn format_of(content: &[u8]) -> Option<Format> {
    match detect(content) {
        Detected::Format(format) => Some(format),
        _ => None,
    }
}

fn read_with(content: &[u8], options: ReadOptions) -> File {
    let format = format_of(content).expect("a known format");
    let mut reader = Reader::new(format, content, options);
    let mut file = File {
        document: reader.document().clone(),
        trials: Vec::new(),
        rejected: Vec::new(),
        warnings: Vec::new(),
        error: None,
    };
    for event in reader.by_ref() {
        match event {
            Ok(Event::Trial(trial)) => file.trials.push(*trial),
            Ok(Event::EmptyGraph { .. }) => panic!("benchmarks have no empty graphs"),
            Ok(Event::Rejected(rejected)) => file.rejected.push(rejected.to_string()),
            Ok(Event::Warning(warning)) => file.warnings.push(warning.to_string()),
            Err(error) => file.error = Some(error.to_string()),
        }
    }
    file.document = reader.document().clone();
    for trial in &file.trials {
        assert!(trial.bytes.end <= content.len() as u64);
        let time = trial.time.as_ref().map(tsql_autotuners::Time::nanoseconds);
        assert!(time.is_none_or(|time| time > 0.0 && time.is_finite()));
    }
    file
}

fn read(content: &str) -> File {
    read_with(content.as_bytes(), ReadOptions::default())
}

/// Options of a file at a path.
fn at(path: &str) -> ReadOptions {
    ReadOptions {
        path: Some(PathBuf::from(path)),
        ..ReadOptions::default()
    }
}

fn kernel(trial: &Trial) -> &str {
    trial
        .graph
        .kernel
        .as_ref()
        .map_or("", |kernel| &kernel.name)
}

fn problem(trial: &Trial) -> String {
    Value::Object(trial.graph.problem.clone()).to_json()
}

fn configuration(trial: &Trial) -> String {
    Value::Object(trial.configuration.clone()).to_json()
}

fn run(trial: &Trial, name: &str) -> Option<String> {
    let fact = trial.run.iter().find(|(known, _)| known == name);
    fact.map(|(_, value)| {
        value
            .as_text()
            .map_or_else(|| value.to_json(), str::to_owned)
    })
}

fn attribute(trial: &Trial, name: &str) -> Option<String> {
    let fact = trial.attributes.iter().find(|(known, _)| known == name);
    fact.map(|(_, value)| value.to_json())
}

fn time_ns(trial: &Trial) -> Option<f64> {
    trial.time.as_ref().map(tsql_autotuners::Time::nanoseconds)
}

/// Values of a metric with its unit.
fn metric(trial: &Trial, name: &str) -> (Vec<f64>, String) {
    let found = trial.metrics.iter().filter(|metric| metric.name == name);
    let mut unit = String::new();
    let values = found.map(|metric| {
        unit = metric.unit.to_string();
        metric.value
    });
    let values = values.collect();
    (values, unit)
}

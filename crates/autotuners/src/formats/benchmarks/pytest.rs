//! pytest-benchmark: statistics of each test, with the single rounds where they were saved.

use crate::model::{Metric, Trial};
use crate::output::Output;
use crate::quantity::TimeUnit;
use crate::value::{Fields, Number, Value, get};

use super::document::{
    BenchmarkDocument, Element, facts, field_text, number, numbers, push_metrics, set_repeats,
    set_run, set_statistic, set_time, stated, text,
};

/// Reads such a document.
pub(super) struct Results;

/// Statistics that are metrics, with their units.
const STATISTICS: [(&str, &str); 6] = [
    ("stddev", "s"),
    ("max", "s"),
    ("iqr", "s"),
    ("rounds", ""),
    ("iterations", ""),
    ("ops", "1/s"),
];

/// Statistics that follow from the rounds.
const OF_ROUNDS: [(&str, &str); 4] = [("min", "s"), ("median", "s"), ("q1", "s"), ("q3", "s")];

impl BenchmarkDocument for Results {
    fn results(&self) -> Option<(&'static str, u8)> {
        Some(("benchmarks", b'['))
    }

    fn is_setting(&self, name: &str) -> bool {
        name != "machine_info"
    }

    fn emit(
        &self,
        fields: &Fields,
        elements: Vec<Element>,
        output: &mut Output,
    ) -> Result<(), String> {
        let machine = get(fields, "machine_info").unwrap_or(&Value::Null);
        let cpu = machine.get("cpu").unwrap_or(&Value::Null);
        output.document.machine = facts(machine, |name| name != "cpu");
        // The flags of a processor are hundreds of words.
        let processor = facts(cpu, |name| name != "flags");
        if !processor.is_empty() {
            let processor = ("cpu".to_owned(), Value::Object(processor));
            output.document.machine.push(processor);
        }
        let device = text(cpu, "brand_raw").or_else(|| text(cpu, "brand"));
        let device = device.filter(|name| !name.is_empty());
        output.document.device = device.or_else(|| text(machine, "node")).and_then(stated);
        output.document.version = field_text(fields, "version").map(str::to_owned);
        let commit = get(fields, "commit_info").unwrap_or(&Value::Null);
        let timestamp = field_text(fields, "datetime").map(in_utc);
        for element in elements {
            let mut trial = element.trial();
            set_run(&mut trial, "commit", text(commit, "id"));
            set_run(&mut trial, "branch", text(commit, "branch"));
            if let Some(dirty @ Value::Bool(_)) = commit.get("dirty") {
                trial.run.push(("dirty".to_owned(), dirty.clone()));
            }
            trial.timestamp.clone_from(&timestamp);
            let line = element.span.line;
            match read(&mut trial, &element.value) {
                Ok(warning) => {
                    output.trial(trial);
                    if let Some(reason) = warning {
                        output.warn_edited(line, reason);
                    }
                }
                Err(reason) => output.reject(line, reason),
            }
        }
        Ok(())
    }
}

/// The time is UTC where it has no offset.
fn in_utc(stamp: &str) -> String {
    let time = stamp.split_once('T').map_or("", |(_, time)| time);
    if time.contains(['+', '-', 'Z']) || time.is_empty() {
        stamp.to_owned()
    } else {
        format!("{stamp}+00:00")
    }
}

/// Reads a benchmark. Returns a warning about its rounds.
fn read(trial: &mut Trial, benchmark: &Value) -> Result<Option<String>, String> {
    let name = text(benchmark, "name").unwrap_or_default();
    let full_name = text(benchmark, "fullname").unwrap_or(name);
    let graph = full_name
        .split_once('[')
        .map_or(full_name, |(graph, _)| graph);
    trial.graph.kernel = stated(graph);
    if graph.is_empty() {
        return Err("a benchmark without `fullname`".to_owned());
    }
    let parameters = benchmark.get("params").and_then(Value::as_object);
    if let Some(parameters) = parameters.filter(|fields| !fields.is_empty()) {
        trial.configuration.clone_from(parameters);
    } else if let Some((_, brackets)) = name.split_once('[') {
        let text = brackets.strip_suffix(']').unwrap_or(brackets);
        trial
            .configuration
            .push(("param".to_owned(), Value::text(text)));
    }
    for name in ["group", "options", "extra_info"] {
        if let Some(value) = benchmark.get(name).filter(|value| !is_empty(value)) {
            trial.attributes.push((name.to_owned(), value.clone()));
        }
    }
    let stats = benchmark.get("stats").ok_or("no `stats`")?;
    let mean = number(stats, "mean").ok_or("no `mean`")?;
    set_time(trial, mean, TimeUnit::Seconds);
    set_statistic(trial, "mean");
    push_metrics(trial, stats, &STATISTICS);
    let (rounds, warning) = rounds(stats);
    if rounds.is_empty() {
        push_metrics(trial, stats, &OF_ROUNDS);
    }
    set_repeats(trial, "data", TimeUnit::Seconds, rounds);
    let extra = benchmark.get("extra_info").and_then(Value::as_object);
    for (name, value) in extra.into_iter().flatten() {
        if let Some(number) = value.as_number() {
            trial.push_metric(Metric::new(format!("extra_info.{name}"), "", number));
        }
    }
    Ok(warning)
}

fn is_empty(value: &Value) -> bool {
    matches!(value, Value::Null) || value.as_object().is_some_and(Vec::is_empty)
}

/// Rounds, if all of them are there, else a warning.
fn rounds(stats: &Value) -> (Vec<Number>, Option<String>) {
    let data = stats.get("data").and_then(Value::as_list);
    let Some(data) = data.filter(|data| !data.is_empty()) else {
        return (Vec::new(), None);
    };
    let Some(values) = numbers(data) else {
        let reason = "`data` has a value that is no number: its rounds are left out";
        return (Vec::new(), Some(reason.to_owned()));
    };
    #[expect(clippy::cast_precision_loss, reason = "a count")]
    let count = values.len() as f64;
    match number(stats, "rounds") {
        Some(rounds) if rounds.value() == count => (values, None),
        rounds => {
            let rounds = rounds.map_or("unknown", Number::text);
            let reason =
                format!("`data` has {count} values, `rounds` is {rounds}: its rounds are left out");
            (Vec::new(), Some(reason))
        }
    }
}

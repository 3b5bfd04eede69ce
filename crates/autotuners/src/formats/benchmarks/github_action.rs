//! History of github-action-benchmark. Names and addresses of authors become no facts of records.

use std::collections::BTreeSet;

use crate::json::Span;
use crate::model::{Metric, Trial};
use crate::output::Output;
use crate::quantity::TimeUnit;
use crate::value::{Fields, Value};

use super::document::{
    BenchmarkDocument, Element, number, set_run, set_statistic, set_time, stated, text,
};
use super::google::AGGREGATES;

/// Reads such a history, as JSON or as the script `data.js`.
pub(super) struct History;

/// Tools for which a larger value is better, so that it is no time.
const BIGGER_IS_BETTER: [&str; 3] = ["benchmarkjs", "pytest", "customBiggerIsBetter"];

impl BenchmarkDocument for History {
    fn results(&self) -> Option<(&'static str, u8)> {
        Some(("entries", b'{'))
    }

    fn has_preamble(&self) -> bool {
        true
    }

    fn emit(&self, _: &Fields, elements: Vec<Element>, output: &mut Output) -> Result<(), String> {
        for element in elements {
            let suite = element.key.as_deref().unwrap_or_default();
            let runs = element.value.as_list().unwrap_or_default();
            for run in runs {
                read_run(suite, run, &element.span, output);
            }
        }
        Ok(())
    }
}

fn read_run(suite: &str, run: &Value, span: &Span, output: &mut Output) {
    let benches = run
        .get("benches")
        .and_then(Value::as_list)
        .unwrap_or_default();
    let names: BTreeSet<&str> = benches
        .iter()
        .filter_map(|bench| text(bench, "name"))
        .collect();
    let tool = text(run, "tool").unwrap_or_default();
    for bench in benches {
        let name = text(bench, "name").unwrap_or_default();
        if tool == "googlecpp" && is_aggregate(name, &names) {
            continue;
        }
        match read(suite, run, bench, span) {
            Ok(trial) => output.trial(trial),
            Err(reason) => output.reject(span.line, format!("`{name}`: {reason}")),
        }
    }
}

/// Returns whether a row is an aggregate of another row of the run. A mean alone stands for its repeats.
fn is_aggregate(name: &str, names: &BTreeSet<&str>) -> bool {
    let ending = AGGREGATES.iter().find(|ending| name.ends_with(**ending));
    let Some(base) = ending.and_then(|ending| name.strip_suffix(ending)) else {
        return false;
    };
    let mean = format!("{base}_mean");
    names.contains(base) || (name != mean && names.contains(mean.as_str()))
}

fn read(suite: &str, run: &Value, bench: &Value, span: &Span) -> Result<Trial, String> {
    let mut trial = Trial::at(span.line, span.bytes.clone());
    let name = text(bench, "name").ok_or("a benchmark without name")?;
    trial.graph.kernel = stated(suite);
    trial
        .graph
        .problem
        .push(("name".to_owned(), Value::text(name)));
    let commit = run.get("commit").unwrap_or(&Value::Null);
    set_run(&mut trial, "commit", text(commit, "id"));
    let tool = text(run, "tool").unwrap_or_default();
    set_run(&mut trial, "tool", Some(tool));
    let date = number(run, "date");
    trial.timestamp = date.map(|date| date.text().to_owned());
    let value = number(bench, "value").ok_or("a value that is no number")?;
    let unit = text(bench, "unit").ok_or("no `unit`")?;
    let word = unit.split_once('/').map_or(unit, |(word, _)| word);
    match TimeUnit::parse(word) {
        Some(unit) if !BIGGER_IS_BETTER.contains(&tool) => {
            set_time(&mut trial, value, unit);
            let statistic = if tool == "googlecpp" {
                "mean"
            } else {
                "stated by the tool"
            };
            set_statistic(&mut trial, statistic);
        }
        _ => trial.push_metric(Metric::new("value", unit.to_owned(), value)),
    }
    for name in ["range", "extra"] {
        if let Some(value) = bench.get(name) {
            trial.attributes.push((name.to_owned(), value.clone()));
        }
    }
    Ok(trial)
}

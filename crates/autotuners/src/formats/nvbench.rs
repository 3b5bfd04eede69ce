//! nvbench: JSON of three dialects, one benchmark in memory at a time.
//!
//! Summaries are identified by their tag, because names repeat. Values are text with a type in 1.0.0.

use std::collections::BTreeMap;

use crate::document::{Coverage, Document};
use crate::format::Format;
use crate::json::Span;
use crate::model::{FailureKind, Metric, Origin, Sourced, Trial};
use crate::output::Output;
use crate::quantity::{Time, TimeUnit};
use crate::value::{Fields, Number, Value};

use super::elements::ElementFormat;

/// Tags of the time.
const TIMES: [&str; 2] = ["nv/cold/time/gpu/mean", "Average GPU Time (Cold)"];

/// Reads nvbench's JSON.
#[derive(Default)]
pub(super) struct Benchmarks {
    devices: BTreeMap<String, String>,
}

pub(super) fn document() -> Document {
    Document::new(Format::NvbenchJson, Coverage::AllTrials)
}

/// Marks a state as skipped. Only an unexpected error is a failure; other reasons are the author's.
pub(super) fn skip(trial: &mut Trial, reason: &str) {
    if reason.starts_with("Unexpected error") {
        trial.fail(FailureKind::Runtime, reason);
    } else {
        trial.unmeasured(reason);
    }
}

impl ElementFormat for Benchmarks {
    fn opens(&self, field: &str) -> Option<u8> {
        (field == "benchmarks").then_some(b'[')
    }

    fn field(&mut self, name: &str, value: Value, output: &mut Output) -> Result<(), String> {
        if name == "devices" {
            for device in value.as_list().unwrap_or_default() {
                let id = device.get("id").and_then(Value::as_number);
                let device_name = device.get("name").and_then(Value::as_text);
                if let (Some(id), Some(device_name)) = (id, device_name) {
                    self.devices
                        .insert(id.text().to_owned(), device_name.to_owned());
                }
            }
        }
        if name == "meta" {
            let version = value
                .get("version")
                .and_then(|value| value.get("json")?.get("string"));
            output.document.version = version.and_then(Value::as_text).map(str::to_owned);
        }
        output.setting(name, value);
        Ok(())
    }

    fn element(
        &mut self,
        _key: Option<String>,
        value: Value,
        span: &Span,
        output: &mut Output,
    ) -> Result<(), String> {
        let name = value
            .get("name")
            .and_then(Value::as_text)
            .ok_or("a benchmark without name")?;
        let states: Vec<(Option<&str>, &Value)> = match value.get("states") {
            Some(Value::List(list)) => list.iter().map(|state| (None, state)).collect(),
            Some(Value::Object(fields)) => fields
                .iter()
                .map(|(name, state)| (Some(name.as_str()), state))
                .collect(),
            _ => Vec::new(),
        };
        if output.document.version.is_none() {
            let is_named = states.first().is_some_and(|(name, _)| name.is_some());
            let dialect = if is_named { "named" } else { "indexed" };
            output.document.version = Some(dialect.to_owned());
        }
        for (_, state) in states {
            match self.trial(name, state, span) {
                Ok(trial) => output.trial(trial),
                Err(reason) => output.reject(span.line, format!("a state of `{name}`: {reason}")),
            }
        }
        Ok(())
    }
}

impl Benchmarks {
    fn trial(&self, benchmark: &str, state: &Value, span: &Span) -> Result<Trial, String> {
        let mut trial = Trial::at(span.line, span.bytes.clone());
        trial.graph.kernel = Some(Sourced {
            name: benchmark.to_owned(),
            origin: Origin::File,
        });
        trial.configuration = axes(state.get("axis_values"))?;
        trial.graph.parameters = trial
            .configuration
            .iter()
            .map(|(name, _)| name.clone())
            .collect();
        let device = state
            .get("device")
            .and_then(Value::as_number)
            .ok_or("no `device`")?;
        let device = self
            .devices
            .get(device.text())
            .ok_or("a device that is not listed")?;
        trial.platform = Some(Sourced {
            name: device.clone(),
            origin: Origin::File,
        });
        for summary in summaries(state.get("summaries")) {
            let number = match summary.value {
                Value::Number(number) => number.clone(),
                Value::Text(text) => Number::parse(text).ok_or("a value that is no number")?,
                // `null` stands for infinity and what is no number in older dialects.
                _ => continue,
            };
            if TIMES.contains(&summary.tag) {
                trial.time = Time::new(number, TimeUnit::Seconds);
                continue;
            }
            let unit = unit(summary.hint);
            trial.push_metric(Metric::new(summary.tag.to_owned(), unit, &number));
        }
        for (name, value) in state.as_object().into_iter().flatten() {
            let known = ["axis_values", "summaries", "is_skipped", "skip_reason"];
            if !known.contains(&name.as_str()) {
                trial.attributes.push((name.clone(), value.clone()));
            }
        }
        if state.get("is_skipped") == Some(&Value::Bool(true)) {
            let reason = state
                .get("skip_reason")
                .and_then(Value::as_text)
                .unwrap_or("skipped");
            skip(&mut trial, reason);
        } else if trial.time.is_none() {
            trial.unmeasured("no GPU time");
        }
        Ok(trial)
    }
}

/// Axis values of a list of objects, or of an object by name.
fn axes(value: Option<&Value>) -> Result<Fields, String> {
    let value_of = |axis: &Value| axis.get("value").cloned().unwrap_or(Value::Null);
    match value {
        Some(Value::List(list)) => {
            let pair = |axis: &Value| {
                let name = axis.get("name")?.as_text()?.to_owned();
                Some((name, value_of(axis)))
            };
            let pairs: Option<Fields> = list.iter().map(pair).collect();
            pairs.ok_or_else(|| "an axis without name".to_owned())
        }
        Some(Value::Object(fields)) => Ok(fields
            .iter()
            .map(|(name, axis)| (name.clone(), value_of(axis)))
            .collect()),
        _ => Ok(Fields::new()),
    }
}

struct Summary<'a> {
    tag: &'a str,
    hint: &'a str,
    value: &'a Value,
}

/// Summaries with a value, in the three dialects.
fn summaries(value: Option<&Value>) -> Vec<Summary<'_>> {
    match value {
        Some(Value::List(list)) => list.iter().filter_map(listed_summary).collect(),
        Some(Value::Object(fields)) => fields
            .iter()
            .filter_map(|(tag, summary)| named_summary(tag, summary))
            .collect(),
        _ => Vec::new(),
    }
}

fn named_summary<'a>(tag: &'a str, summary: &'a Value) -> Option<Summary<'a>> {
    let hint = summary
        .get("hint")
        .and_then(|hint| hint.get("value")?.as_text());
    Some(Summary {
        tag,
        hint: hint.unwrap_or_default(),
        value: summary.get("value")?.get("value")?,
    })
}

fn listed_summary(summary: &Value) -> Option<Summary<'_>> {
    let data = summary
        .get("data")
        .or_else(|| summary.get("values"))?
        .as_list()?;
    let entry = |wanted: &str| {
        let found = data
            .iter()
            .find(|entry| entry.get("name").and_then(Value::as_text) == Some(wanted));
        found.and_then(|entry| entry.get("value"))
    };
    let hint = summary
        .get("hint")
        .and_then(Value::as_text)
        .filter(|hint| !hint.is_empty());
    let hint = hint
        .or_else(|| entry("hint")?.as_text())
        .unwrap_or_default();
    let tag = summary
        .get("tag")
        .or_else(|| summary.get("name"))?
        .as_text()?;
    Some(Summary {
        tag,
        hint,
        value: entry("value")?,
    })
}

/// Unit of a hint.
fn unit(hint: &str) -> &'static str {
    match hint {
        "duration" => "s",
        "percentage" => "1",
        "bytes" => "B",
        "byte_rate" => "B/s",
        "item_rate" => "1/s",
        _ => "",
    }
}

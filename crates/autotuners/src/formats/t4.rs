//! T4, the result schema of the FAIR benchmark group.
//!
//! The file names neither kernel nor device. They come from the caller, or from the path if it follows the rule of the
//! benchmark hub: `<kernel>/<device>_T4.json`.

use crate::document::{Coverage, Document};
use crate::format::Format;
use crate::json::Span;
use crate::model::{FailureKind, Graph, Metric, Origin, Repeats, Sourced, Trial};
use crate::output::{Output, ReadOptions};
use crate::quantity::{Time, TimeUnit};
use crate::value::{Fields, Value, get};

use super::elements::ElementFormat;

/// Reads T4 results.
#[derive(Default)]
pub(super) struct Results {
    unit: Option<TimeUnit>,
}

pub(super) fn document(options: &ReadOptions) -> Document {
    let mut document = Document::new(Format::T4, Coverage::AllTrials);
    document.device = hub_device(options).map(from_path);
    document
}

/// Device in a file name of the hub.
fn hub_device(options: &ReadOptions) -> Option<String> {
    let stem = options.stem(&[".json"])?;
    let device = stem.strip_suffix("_T4")?;
    (!device.is_empty()).then(|| device.to_owned())
}

fn from_path(name: String) -> Sourced {
    Sourced {
        name,
        origin: Origin::Path,
    }
}

impl ElementFormat for Results {
    fn opens(&self, field: &str) -> Option<u8> {
        (field == "results").then_some(b'[')
    }

    fn field(&mut self, name: &str, value: Value, output: &mut Output) -> Result<(), String> {
        if let Some(unit) = value.get("timeunit").and_then(Value::as_text) {
            let parsed = TimeUnit::parse(unit);
            self.unit = Some(parsed.ok_or_else(|| format!("unknown time unit `{unit}`"))?);
        }
        if name == "schema_version" {
            output.document.version = value.as_text().map(str::to_owned);
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
        let trial = self.trial(value, span, output)?;
        output.trial(trial);
        Ok(())
    }
}

struct Measurement<'a> {
    name: &'a str,
    value: &'a Value,
    unit: &'a str,
}

impl Results {
    fn trial(&mut self, value: Value, span: &Span, output: &mut Output) -> Result<Trial, String> {
        let mut trial = Trial::at(span.line, span.bytes.clone());
        let configuration = value.get("configuration").and_then(Value::as_object);
        trial
            .configuration
            .clone_from(configuration.ok_or("no `configuration`")?);
        let folder = hub_device(&output.options).and_then(|_| output.options.folder());
        trial.graph = Graph {
            kernel: folder.map(from_path),
            parameters: trial
                .configuration
                .iter()
                .map(|(name, _)| name.clone())
                .collect(),
            ..Graph::default()
        };
        let measurements: Vec<Measurement<'_>> = value
            .get("measurements")
            .and_then(Value::as_list)
            .unwrap_or_default()
            .iter()
            .filter_map(|entry| {
                Some(Measurement {
                    name: entry.get("name")?.as_text()?,
                    value: entry.get("value")?,
                    unit: entry
                        .get("unit")
                        .and_then(Value::as_text)
                        .unwrap_or_default(),
                })
            })
            .collect();
        let objectives = value
            .get("objectives")
            .and_then(Value::as_list)
            .unwrap_or_default();
        let objective = objectives
            .first()
            .and_then(Value::as_text)
            .unwrap_or("time");
        objective.clone_into(&mut output.document.objective);
        let stated = measurements.iter().find(|entry| entry.name == objective);
        let is_time = matches!(objective, "time" | "TotalDuration");
        let unit = self
            .unit
            .or_else(|| stated.and_then(|entry| TimeUnit::parse(entry.unit)));
        let symbol = unit.map_or("", TimeUnit::symbol);
        let word = value
            .get("invalidity")
            .and_then(Value::as_text)
            .ok_or("no `invalidity`")?;
        let times = value.get("times").and_then(Value::as_object);
        times_of(times.unwrap_or(&Fields::new()), symbol, &mut trial);
        for entry in &measurements {
            match entry.value.as_number() {
                Some(number) if entry.name != objective || !is_time => {
                    trial.push_metric(Metric::new(
                        entry.name.to_owned(),
                        entry.unit.to_owned(),
                        number,
                    ));
                }
                _ => {}
            }
        }
        if word == "correct" {
            let number = stated.and_then(|entry| entry.value.as_number());
            let number = number.ok_or_else(|| format!("no number for `{objective}`"))?;
            if is_time {
                let unit = unit.ok_or("no unit of time")?;
                let time = Time::new(number.clone(), unit);
                trial.time = Some(time.ok_or_else(|| format!("`{}` is no time", number.text()))?);
            }
        } else {
            let kind = failure_kind(word).ok_or_else(|| format!("unknown invalidity `{word}`"))?;
            let source = stated.and_then(|entry| entry.value.as_text());
            trial.metrics.retain(|metric| metric.name != objective);
            trial.fail(kind, word);
            if let Some(source) = source {
                trial
                    .attributes
                    .push((objective.to_owned(), Value::text(source)));
            }
        }
        let rest = value.as_object().into_iter().flatten();
        for (name, value) in rest {
            match (name.as_str(), value) {
                ("timestamp", Value::Text(text)) => trial.timestamp = Some(text.clone()),
                ("configuration" | "times" | "measurements" | "invalidity" | "objectives", _) => {}
                _ => trial.attributes.push((name.clone(), value.clone())),
            }
        }
        Ok(trial)
    }
}

fn times_of(times: &Fields, unit: &'static str, trial: &mut Trial) {
    for (name, value) in times {
        let metric = match name.as_str() {
            "compilation" | "compilation_time" => "compile_time",
            "framework" => "framework_time",
            "search_algorithm" => "strategy_time",
            "validation" => "verification_time",
            "benchmark" => "benchmark_time",
            _ => "",
        };
        match value {
            Value::Number(number) if !metric.is_empty() => {
                trial.push_metric(Metric::new(metric, unit, number));
            }
            _ if name == "runtimes" => {}
            other => trial
                .attributes
                .push((format!("times.{name}"), other.clone())),
        }
    }
    if let Some(list) = get(times, "runtimes").and_then(Value::as_list) {
        trial.repeats = Some(Repeats {
            name: "runtimes",
            unit,
            values: list.iter().filter_map(Value::as_number).cloned().collect(),
        });
    }
}

fn failure_kind(word: &str) -> Option<FailureKind> {
    Some(match word {
        "constraints" => FailureKind::Instantiation,
        "compile" => FailureKind::CompileDevice,
        "runtime" => FailureKind::Runtime,
        "correctness" => FailureKind::WrongAnswer,
        "timeout" => FailureKind::RunTimeout,
        _ => return None,
    })
}

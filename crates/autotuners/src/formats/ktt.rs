//! Results of the Kernel Tuning Toolkit (JSON).

use crate::document::{Coverage, Document};
use crate::format::Format;
use crate::json::Span;
use crate::model::{FailureKind, Graph, Metric, Origin, Sourced, Trial};
use crate::output::Output;
use crate::quantity::{Time, TimeUnit};
use crate::value::Value;

use super::elements::ElementFormat;

/// Reads KTT's results.
#[derive(Default)]
pub(super) struct Results {
    unit: Option<TimeUnit>,
}

pub(super) fn document() -> Document {
    Document::new(Format::KttJson, Coverage::AllTrials)
}

impl ElementFormat for Results {
    fn opens(&self, field: &str) -> Option<u8> {
        // Without the unit no time is known: the results are then read as a field.
        (field == "Results" && self.unit.is_some()).then_some(b'[')
    }

    fn field(&mut self, name: &str, value: Value, output: &mut Output) -> Result<(), String> {
        match name {
            "Metadata" => {
                let text = |key: &str| value.get(key).and_then(Value::as_text).map(str::to_owned);
                output.document.version = text("KttVersion");
                output.document.device = text("Device").map(|name| Sourced {
                    name,
                    origin: Origin::File,
                });
                let unit = text("TimeUnit").unwrap_or_default();
                self.unit = TimeUnit::parse(&unit);
                output.document.settings = value.as_object().cloned().unwrap_or_default();
                self.unit
                    .map(|_| ())
                    .ok_or_else(|| format!("unknown time unit `{unit}`"))
            }
            "Results" => Err("`Results` without a known unit of time before them".to_owned()),
            _ => {
                output.setting(name, value);
                Ok(())
            }
        }
    }

    fn element(
        &mut self,
        _key: Option<String>,
        value: Value,
        span: &Span,
        output: &mut Output,
    ) -> Result<(), String> {
        let unit = self.unit.ok_or("no unit of time")?;
        let trial = trial(&value, unit, span)?;
        output.trial(trial);
        Ok(())
    }
}

fn trial(value: &Value, unit: TimeUnit, span: &Span) -> Result<Trial, String> {
    let mut trial = Trial::at(span.line, span.bytes.clone());
    let list = value
        .get("Configuration")
        .and_then(Value::as_list)
        .ok_or("no `Configuration`")?;
    for entry in list {
        let name = entry
            .get("Name")
            .and_then(Value::as_text)
            .ok_or("a parameter without name")?;
        let setting = entry
            .get("Value")
            .ok_or_else(|| format!("no value of `{name}`"))?;
        trial.configuration.push((name.to_owned(), setting.clone()));
    }
    let kernel = value.get("KernelName").and_then(Value::as_text);
    trial.graph = Graph {
        kernel: kernel.map(|name| Sourced {
            name: name.to_owned(),
            origin: Origin::File,
        }),
        problem: Vec::new(),
        parameters: trial
            .configuration
            .iter()
            .map(|(name, _)| name.clone())
            .collect(),
    };
    for (name, value) in value.as_object().into_iter().flatten() {
        match (name.as_str(), value) {
            ("TotalDuration" | "Configuration" | "KernelName" | "Status", _) => {}
            ("ComputationResults", Value::List(list)) => {
                for result in list {
                    computation(result, unit, &mut trial);
                }
            }
            (_, Value::Number(number)) => {
                trial.push_metric(Metric::new(name.clone(), unit.symbol(), number));
            }
            (_, other) => trial.attributes.push((name.clone(), other.clone())),
        }
    }
    let status = value
        .get("Status")
        .and_then(Value::as_text)
        .ok_or("no `Status`")?;
    if status == "Ok" {
        let total = value.get("TotalDuration").and_then(Value::as_number);
        let total = total.ok_or("no number in `TotalDuration`")?;
        let time = Time::new(total.clone(), unit);
        trial.time = Some(time.ok_or_else(|| format!("`{}` is no time", total.text()))?);
    } else {
        let kind = match status {
            "ComputationFailed" => FailureKind::Runtime,
            "ValidationFailed" => FailureKind::WrongAnswer,
            "CompilationFailed" => FailureKind::CompileDevice,
            "DeviceLimitsExceeded" => FailureKind::Instantiation,
            other => return Err(format!("unknown status `{other}`")),
        };
        trial.fail(kind, status);
    }
    Ok(trial)
}

/// Takes the numbers of one kernel function; further functions have further indices.
fn computation(result: &Value, unit: TimeUnit, trial: &mut Trial) {
    for (name, value) in result.as_object().into_iter().flatten() {
        match (name.as_str(), value) {
            ("Overhead", Value::Number(number)) => {
                trial.push_metric(Metric::new("Overhead", unit.symbol(), number));
            }
            ("CompilationData", Value::Object(fields)) => {
                for (name, value) in fields {
                    let unit = if name.ends_with("MemorySize") {
                        "B"
                    } else {
                        ""
                    };
                    if let Value::Number(number) = value {
                        trial.push_metric(Metric::new(name.clone(), unit, number));
                    }
                }
            }
            ("ProfilingData", data) => {
                let counters = data.get("Counters").and_then(Value::as_list);
                for counter in counters.unwrap_or_default() {
                    let name = counter.get("Name").and_then(Value::as_text);
                    let number = counter.get("Value").and_then(Value::as_number);
                    if let (Some(name), Some(number)) = (name, number) {
                        trial.push_metric(Metric::new(name.to_owned(), "", number));
                    }
                }
                if let Some(runs) = data.get("RemainingProfilingRuns") {
                    trial
                        .attributes
                        .push(("RemainingProfilingRuns".to_owned(), runs.clone()));
                }
            }
            _ => trial.attributes.push((name.clone(), value.clone())),
        }
    }
}

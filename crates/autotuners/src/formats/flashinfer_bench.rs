//! Traces of FlashInfer-Bench: one evaluation of a solution a line.

use crate::document::{Coverage, Document};
use crate::format::Format;
use crate::json::parse;
use crate::model::{FailureKind, Metric, Origin, Sourced, Status, Trial};
use crate::output::Output;
use crate::quantity::{Time, TimeUnit};
use crate::text::Line;
use crate::value::{Number, Value};

use super::rows::LineFormat;

/// Reads traces and workloads. A line without an evaluation is no trial; it is counted in the settings.
#[derive(Default)]
pub(super) struct Traces {
    workloads_only: u64,
}

pub(super) fn document() -> Document {
    Document::new(Format::FlashInferBench, Coverage::AllTrials)
}

impl LineFormat for Traces {
    fn line(&mut self, text: &str, line: &Line, output: &mut Output) -> Result<(), String> {
        let trace = parse(text.as_bytes()).map_err(|_| "not a line of JSON")?;
        if trace.get("definition").is_none() || trace.get("workload").is_none() {
            return Err("neither a trace nor a workload".to_owned());
        }
        let evaluation = match trace.get("evaluation") {
            None | Some(Value::Null) => {
                self.workloads_only += 1;
                let count = Value::from_cell(&self.workloads_only.to_string());
                let settings = &mut output.document.settings;
                settings.retain(|(name, _)| name != "workloads_only");
                settings.push(("workloads_only".to_owned(), count));
                return Ok(());
            }
            Some(evaluation) => evaluation,
        };
        let trial = trial(&trace, evaluation, line)?;
        output.trial(trial);
        Ok(())
    }
}

fn trial(trace: &Value, evaluation: &Value, line: &Line) -> Result<Trial, String> {
    let mut trial = Trial::at(line.number, line.bytes.clone());
    let text = |value: Option<&Value>| value.and_then(Value::as_text).map(str::to_owned);
    let sourced = |name| Sourced {
        name,
        origin: Origin::File,
    };
    trial.graph.kernel = text(trace.get("definition")).map(sourced);
    let workload = trace.get("workload").ok_or("no `workload`")?;
    trial.graph.problem = workload
        .get("axes")
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    let solution = trace.get("solution").cloned().unwrap_or(Value::Null);
    trial.configuration.push(("solution".to_owned(), solution));
    trial.graph.parameters.push("solution".to_owned());
    for name in ["uuid", "inputs"] {
        if let Some(value) = workload.get(name) {
            trial.attributes.push((name.to_owned(), value.clone()));
        }
    }
    let environment = evaluation.get("environment");
    trial.platform = text(environment.and_then(|value| value.get("hardware"))).map(sourced);
    if let Some(libraries) = environment.and_then(|value| value.get("libs")) {
        trial
            .attributes
            .push(("libs".to_owned(), libraries.clone()));
    }
    trial.timestamp = text(evaluation.get("timestamp"));
    if let Some(correctness) = evaluation.get("correctness") {
        for name in ["max_relative_error", "max_absolute_error"] {
            // Infinite values and those that are no number are text.
            let number = match correctness.get(name) {
                Some(Value::Number(number)) => Some(number.clone()),
                Some(Value::Text(word)) => Number::parse(word),
                _ => None,
            };
            if let Some(number) = number {
                trial.push_metric(Metric::new(name, "1", &number));
            }
        }
    }
    let performance = evaluation.get("performance");
    let measured = |name: &str| performance.and_then(|value| value.get(name)?.as_number());
    if let Some(number) = measured("reference_latency_ms") {
        trial.push_metric(Metric::new("reference_latency", "ms", number));
    }
    if let Some(number) = measured("speedup_factor") {
        trial.push_metric(Metric::new("speedup_factor", "1", number));
    }
    let status = text(evaluation.get("status")).ok_or("no `status`")?;
    let log = text(evaluation.get("log"));
    if status == "PASSED" {
        let latency = measured("latency_ms").cloned();
        let time = latency.and_then(|number| Time::new(number, TimeUnit::Milliseconds));
        trial.time = Some(time.ok_or("status `PASSED` without `latency_ms`")?);
        if let Some(log) = log {
            trial.attributes.push(("log".to_owned(), Value::Text(log)));
        }
        return Ok(trial);
    }
    let kind = match status.as_str() {
        "INCORRECT_SHAPE" | "INCORRECT_NUMERICAL" | "INCORRECT_DTYPE" => FailureKind::WrongAnswer,
        "RUNTIME_ERROR" => FailureKind::Runtime,
        "COMPILE_ERROR" => FailureKind::CompileDevice,
        "TIMEOUT" => FailureKind::RunTimeout,
        other => return Err(format!("unknown status `{other}`")),
    };
    trial.status = Status::Failed {
        kind,
        word: status,
        message: log,
    };
    Ok(trial)
}

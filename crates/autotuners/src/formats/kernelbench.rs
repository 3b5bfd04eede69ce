//! Times of KernelBench: baselines (`{level: {problem: statistics}}`) and runs (`results.jsonl`).

use crate::document::{Coverage, Document};
use crate::format::Format;
use crate::json::{Span, parse};
use crate::model::{FailureKind, Metric, Origin, Sourced, Trial};
use crate::output::{Output, ReadOptions};
use crate::quantity::{Time, TimeUnit};
use crate::text::Line;
use crate::value::Value;

use super::elements::ElementFormat;
use super::rows::LineFormat;

/// Reads baselines. Only the file's name states the mode (eager, compiled and how).
#[derive(Default)]
pub(super) struct Baselines;

/// Reads runs: an original and a written kernel a line.
#[derive(Default)]
pub(super) struct Runs;

pub(super) fn document(format: Format, options: &ReadOptions) -> Document {
    let mut document = Document::new(format, Coverage::AllTrials);
    if format == Format::KernelBench
        && let Some(mode) = options.stem(&[".json"])
    {
        let mode = mode.strip_prefix("baseline_time_").unwrap_or(&mode);
        document
            .settings
            .push(("mode".to_owned(), Value::text(mode)));
    }
    document
}

impl ElementFormat for Baselines {
    fn opens(&self, field: &str) -> Option<u8> {
        field.is_empty().then_some(b'{')
    }

    fn element(
        &mut self,
        key: Option<String>,
        value: Value,
        span: &Span,
        output: &mut Output,
    ) -> Result<(), String> {
        let level = key.unwrap_or_default();
        for (problem, statistics) in value.as_object().ok_or("a level that is no object")? {
            let mut trial = Trial::at(span.line, span.bytes.clone());
            trial.graph.kernel = Some(Sourced {
                name: problem.clone(),
                origin: Origin::File,
            });
            trial
                .graph
                .problem
                .push(("level".to_owned(), Value::text(&level)));
            match fill(&mut trial, statistics) {
                Ok(()) => output.trial(trial),
                Err(reason) => output.reject(span.line, format!("`{problem}`: {reason}")),
            }
        }
        Ok(())
    }
}

impl LineFormat for Runs {
    fn line(&mut self, text: &str, line: &Line, output: &mut Output) -> Result<(), String> {
        let run = parse(text.as_bytes()).map_err(|_| "not a line of JSON")?;
        let problem = run
            .get("problem_name")
            .and_then(Value::as_text)
            .ok_or("no `problem_name`")?;
        let mut trials = Vec::new();
        let mut attributes = Vec::new();
        for (name, value) in run.as_object().into_iter().flatten() {
            let variant = name
                .strip_prefix("runtime_")
                .and_then(|name| name.strip_suffix("_stats"));
            let Some(variant) = variant else {
                // `runtime_*_us` hold the mean again, in ms; `kernel_path` is a path of another machine.
                if !name.starts_with("runtime_") && name != "kernel_path" {
                    attributes.push((name.clone(), value.clone()));
                }
                continue;
            };
            let mut trial = Trial::at(line.number, line.bytes.clone());
            trial.graph.kernel = Some(Sourced {
                name: problem.to_owned(),
                origin: Origin::File,
            });
            let level = run.get("level").cloned().unwrap_or(Value::Null);
            trial.graph.problem.push(("level".to_owned(), level));
            trial.graph.parameters.push("variant".to_owned());
            trial
                .configuration
                .push(("variant".to_owned(), Value::text(variant)));
            fill(&mut trial, value)?;
            trials.push(trial);
        }
        if trials.is_empty() {
            return Err("no `runtime_*_stats`".to_owned());
        }
        for mut trial in trials {
            trial.attributes.extend(attributes.iter().cloned());
            output.trial(trial);
        }
        Ok(())
    }
}

/// Takes the statistics; `null` is a failure without a reason.
fn fill(trial: &mut Trial, statistics: &Value) -> Result<(), String> {
    if *statistics == Value::Null {
        trial.fail(FailureKind::Unknown, "null");
        return Ok(());
    }
    for (name, value) in statistics
        .as_object()
        .ok_or("statistics that are no object")?
    {
        match (name.as_str(), value) {
            ("mean", Value::Number(number)) => {
                let time = Time::new(number.clone(), TimeUnit::Milliseconds);
                match time {
                    Some(time) => trial.time = Some(time),
                    None => trial.fail(FailureKind::Unknown, number.text()),
                }
            }
            ("std" | "min" | "max", Value::Number(number)) => {
                trial.push_metric(Metric::new(name.clone(), "ms", number));
            }
            ("num_trials", Value::Number(number)) => {
                trial.push_metric(Metric::new("num_trials", "", number));
            }
            ("hardware", Value::Text(text)) => {
                trial.platform = Some(Sourced {
                    name: text.clone(),
                    origin: Origin::File,
                });
            }
            (_, other) => trial.attributes.push((name.clone(), other.clone())),
        }
    }
    if trial.time.is_none() && matches!(trial.status, crate::model::Status::Ok) {
        return Err("no `mean`".to_owned());
    }
    Ok(())
}

//! hyperfine: wall times of whole processes.

use crate::model::{FailureKind, Metric, Trial};
use crate::output::Output;
use crate::quantity::TimeUnit;
use crate::value::{Fields, Value};

use super::document::{
    BenchmarkDocument, Element, mean, number, numbers, push_metrics, set_repeats, set_statistic,
    set_time, stated, text,
};

/// Reads such a document.
pub(super) struct Results;

impl BenchmarkDocument for Results {
    fn results(&self) -> Option<(&'static str, u8)> {
        Some(("results", b'['))
    }

    fn emit(&self, _: &Fields, elements: Vec<Element>, output: &mut Output) -> Result<(), String> {
        for element in elements {
            let mut trial = element.trial();
            match read(&mut trial, &element.value) {
                Ok(()) => output.trial(trial),
                Err(reason) => output.reject(element.span.line, reason),
            }
        }
        Ok(())
    }
}

fn read(trial: &mut Trial, result: &Value) -> Result<(), String> {
    let command = text(result, "command").ok_or("a result without command")?;
    let parameters = result.get("parameters").and_then(Value::as_object);
    trial.configuration = parameters.cloned().unwrap_or_default();
    trial.graph.kernel = stated(generalized(command, &trial.configuration));
    let times = result.get("times").and_then(Value::as_list);
    let times =
        numbers(times.unwrap_or_default()).ok_or("`times` has a value that is no number")?;
    let stated_mean = number(result, "mean").cloned();
    let time = stated_mean.or_else(|| mean(&times).filter(|_| !times.is_empty()));
    let time = time.ok_or("no `mean` and no `times`")?;
    set_time(trial, &time, TimeUnit::Seconds);
    set_statistic(trial, "mean");
    let units = [("stddev", "s"), ("user", "s"), ("system", "s")];
    push_metrics(trial, result, &units);
    if times.is_empty() {
        push_metrics(
            trial,
            result,
            &[("min", "s"), ("max", "s"), ("median", "s")],
        );
    }
    set_repeats(trial, "times", TimeUnit::Seconds, times);
    let memory = result.get("memory_usage_byte").and_then(Value::as_list);
    for bytes in memory.into_iter().flatten().filter_map(Value::as_number) {
        trial.push_metric(Metric::new("memory_usage_byte", "B", bytes));
    }
    let codes = result.get("exit_codes").and_then(Value::as_list);
    let mut codes = codes.into_iter().flatten();
    let is_zero = |code: &&Value| code.as_number().is_some_and(|code| code.value() == 0.0);
    if let Some(code) = codes.find(|code| !is_zero(code)) {
        trial.fail(
            FailureKind::Runtime,
            &match code {
                Value::Null => "ended by a signal".to_owned(),
                code => format!("exit code {}", code.to_json()),
            },
        );
    }
    Ok(())
}

/// The command with `{name}` in place of the values of its parameters, where these are whole words.
fn generalized(command: &str, parameters: &Fields) -> String {
    let mut command = command.to_owned();
    for (name, value) in parameters {
        let Some(value) = value.as_text().filter(|value| !value.is_empty()) else {
            continue;
        };
        let mut out = String::new();
        let mut rest = command.as_str();
        while let Some((before, after)) = rest.split_once(value) {
            let is_inside =
                |character: char| character.is_alphanumeric() || "._{}".contains(character);
            let left = before
                .chars()
                .next_back()
                .or_else(|| out.chars().next_back());
            let right = after.chars().next();
            out.push_str(before);
            if left.is_some_and(is_inside) || right.is_some_and(is_inside) {
                out.push_str(value);
            } else {
                out.push('{');
                out.push_str(name);
                out.push('}');
            }
            rest = after;
        }
        out.push_str(rest);
        command = out;
    }
    command
}

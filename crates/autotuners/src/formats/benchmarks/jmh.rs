//! JMH: the unit of a score decides whether it is a time or a rate.

use crate::model::{Metric, Trial};
use crate::output::Output;
use crate::quantity::TimeUnit;
use crate::value::{Fields, Number, Value};

use super::document::{
    BenchmarkDocument, Element, computed, number, numbers, set_repeats, set_run, set_statistic,
    set_time, stated, text,
};

/// Reads such a list.
pub(super) struct Results;

/// Units of rates; their names are those of units of metrics.
const RATES: [&str; 7] = ["ns", "us", "ms", "s", "min", "h", "day"];

impl BenchmarkDocument for Results {
    fn results(&self) -> Option<(&'static str, u8)> {
        Some(("", b'['))
    }

    fn emit(&self, _: &Fields, elements: Vec<Element>, output: &mut Output) -> Result<(), String> {
        for element in elements {
            let mut trial = element.trial();
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

/// Unit of a time and the factor to it.
fn time_unit(word: &str) -> Option<(TimeUnit, f64)> {
    Some(match word {
        "ns" => (TimeUnit::Nanoseconds, 1.0),
        "us" => (TimeUnit::Microseconds, 1.0),
        "ms" => (TimeUnit::Milliseconds, 1.0),
        "s" => (TimeUnit::Seconds, 1.0),
        "min" => (TimeUnit::Seconds, 60.0),
        "h" => (TimeUnit::Seconds, 3600.0),
        "day" => (TimeUnit::Seconds, 86_400.0),
        _ => return None,
    })
}

fn scaled(number: &Number, factor: f64) -> Option<Number> {
    if factor == 1.0 {
        return Some(number.clone());
    }
    computed(number.value() * factor)
}

/// Reads a result. Returns a warning.
fn read(trial: &mut Trial, result: &Value) -> Result<Option<String>, String> {
    let benchmark = text(result, "benchmark").ok_or("a result without `benchmark`")?;
    trial.graph.kernel = stated(benchmark);
    let parameters = result.get("params").and_then(Value::as_object);
    trial.configuration = parameters.cloned().unwrap_or_default();
    if let Some(threads) = result.get("threads") {
        trial
            .configuration
            .push(("threads".to_owned(), threads.clone()));
    }
    facts(trial, result);
    let metric = result.get("primaryMetric").ok_or("no `primaryMetric`")?;
    let unit = text(metric, "scoreUnit").ok_or("no `scoreUnit`")?;
    let score = number(metric, "score").ok_or("a score that is no number")?;
    let raw = raw_data(metric)?;
    if let Some(error) = number(metric, "scoreError") {
        trial.push_metric(Metric::new("score_error", unit.to_owned(), error));
    }
    let is_time = match unit.split_once('/') {
        Some((word, "op")) => {
            let (time_unit, factor) =
                time_unit(word).ok_or_else(|| format!("unknown unit `{unit}`"))?;
            let times: Option<Vec<Number>> = raw.iter().map(|one| scaled(one, factor)).collect();
            let score = scaled(score, factor).ok_or("a score that is no number")?;
            set_time(trial, &score, time_unit);
            set_statistic(trial, "mean");
            set_repeats(trial, "rawData", time_unit, times.unwrap_or_default());
            true
        }
        Some(("ops", word)) if RATES.contains(&word) => {
            let values = if raw.is_empty() {
                std::slice::from_ref(score)
            } else {
                &raw
            };
            for value in values {
                trial.push_metric(Metric::new("throughput", unit.to_owned(), value));
            }
            false
        }
        _ => return Err(format!("unknown unit `{unit}`")),
    };
    let secondary = result.get("secondaryMetrics").and_then(Value::as_object);
    for (name, metric) in secondary.into_iter().flatten() {
        if let Some(score) = number(metric, "score") {
            let unit = text(metric, "scoreUnit").unwrap_or_default().to_owned();
            trial.push_metric(Metric::new(name.clone(), unit, score));
        }
    }
    let mode = text(result, "mode").unwrap_or_default();
    let contradicts = match mode {
        "thrpt" => is_time,
        "avgt" | "sample" | "ss" => !is_time,
        _ => false,
    };
    let warning = format!("mode `{mode}` contradicts unit `{unit}`: the unit counts");
    Ok(contradicts.then_some(warning))
}

/// Settings of the run.
fn facts(trial: &mut Trial, result: &Value) {
    for name in ["jmhVersion", "jdkVersion", "vmName", "vmVersion", "mode"] {
        set_run(trial, name, text(result, name));
    }
    for name in [
        "forks",
        "jvmArgs",
        "warmupIterations",
        "warmupTime",
        "warmupBatchSize",
        "measurementIterations",
        "measurementTime",
        "measurementBatchSize",
    ] {
        if let Some(value) = result.get(name) {
            trial.attributes.push((name.to_owned(), value.clone()));
        }
    }
}

/// Scores of all forks.
fn raw_data(metric: &Value) -> Result<Vec<Number>, String> {
    let forks = metric.get("rawData").and_then(Value::as_list);
    let mut all = Vec::new();
    for fork in forks.unwrap_or_default() {
        let fork = fork.as_list().and_then(numbers);
        all.extend(fork.ok_or("`rawData` has a value that is no number")?);
    }
    Ok(all)
}

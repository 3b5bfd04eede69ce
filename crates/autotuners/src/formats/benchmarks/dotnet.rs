//! BenchmarkDotNet: nanoseconds per operation. Only the results of the workload are repeats.

use std::collections::BTreeMap;

use crate::model::{FailureKind, Metric, Trial};
use crate::output::Output;
use crate::quantity::TimeUnit;
use crate::value::{Fields, Value, get};

use super::document::{
    BenchmarkDocument, Element, facts, field_text, number, numbers, push_metrics, set_repeats,
    set_statistic, set_time, stated, text,
};

/// Reads such a report.
pub(super) struct Report;

impl BenchmarkDocument for Report {
    fn results(&self) -> Option<(&'static str, u8)> {
        Some(("Benchmarks", b'['))
    }

    fn is_setting(&self, name: &str) -> bool {
        name != "HostEnvironmentInfo"
    }

    fn emit(
        &self,
        fields: &Fields,
        elements: Vec<Element>,
        output: &mut Output,
    ) -> Result<(), String> {
        let host = get(fields, "HostEnvironmentInfo").unwrap_or(&Value::Null);
        let processor = host.get("ProcessorName").unwrap_or(&Value::Null);
        let processor = processor.as_text().or_else(|| text(processor, "Value"));
        output.document.device = processor.and_then(stated);
        output.document.machine = facts(host, |_| true);
        let version = text(host, "BenchmarkDotNetVersion");
        output.document.version = version.map(str::to_owned);
        let title = field_text(fields, "Title").map(str::to_owned);
        let mut counts: BTreeMap<(String, String), u32> = BTreeMap::new();
        for element in &elements {
            *counts.entry(identity(&element.value)).or_default() += 1;
        }
        for element in elements {
            let mut trial = element.trial();
            if let Some(title) = &title {
                trial.run.push(("title".to_owned(), Value::text(title)));
            }
            let is_shared = counts
                .get(&identity(&element.value))
                .is_some_and(|count| *count > 1);
            match read(&mut trial, &element.value, is_shared) {
                Ok(()) => output.trial(trial),
                Err(reason) => output.reject(element.span.line, reason),
            }
        }
        Ok(())
    }
}

/// Method and parameters.
fn identity(benchmark: &Value) -> (String, String) {
    let parts = ["Namespace", "Type", "Method"];
    let parts = parts.iter().filter_map(|part| text(benchmark, part));
    let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    let parameters = text(benchmark, "Parameters").unwrap_or_default();
    (parts.join("."), parameters.to_owned())
}

/// Reads a benchmark. `is_shared`: another job has the same method and parameters.
fn read(trial: &mut Trial, benchmark: &Value, is_shared: bool) -> Result<(), String> {
    let (name, parameters) = identity(benchmark);
    trial.graph.kernel = stated(name);
    if trial.graph.kernel.is_none() {
        return Err("a benchmark without `Method`".to_owned());
    }
    for part in parameters.split('&').filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        trial
            .configuration
            .push((name.trim().to_owned(), Value::text(value)));
    }
    if let Some(info) = text(benchmark, "DisplayInfo") {
        let job = info.split_once(':').map_or(info, |(_, job)| job).trim();
        if is_shared {
            trial
                .configuration
                .push(("job".to_owned(), Value::text(job)));
        } else {
            trial.attributes.push(("job".to_owned(), Value::text(job)));
        }
    }
    let memory = benchmark.get("Memory").and_then(Value::as_object);
    let statistics = match benchmark.get("Statistics") {
        None | Some(Value::Null) => {
            trial.fail(FailureKind::Unknown, "no statistics");
            return Ok(());
        }
        Some(statistics) => statistics,
    };
    let mean = number(statistics, "Mean").ok_or("no `Mean`")?;
    set_time(trial, mean, TimeUnit::Nanoseconds);
    set_statistic(trial, "mean");
    push_metrics(trial, statistics, &[("StandardDeviation", "ns")]);
    let values = statistics.get("OriginalValues").and_then(Value::as_list);
    let values = numbers(values.unwrap_or_default());
    let values = values.ok_or("`OriginalValues` has a value that is no number")?;
    if values.is_empty() {
        push_metrics(
            trial,
            statistics,
            &[("Min", "ns"), ("Max", "ns"), ("Median", "ns")],
        );
    }
    set_repeats(trial, "OriginalValues", TimeUnit::Nanoseconds, values);
    for (name, value) in memory.into_iter().flatten() {
        if let Some(number) = value.as_number() {
            let unit = if name.starts_with("Bytes") { "B" } else { "" };
            trial.push_metric(Metric::new(name.clone(), unit, number));
        }
    }
    Ok(())
}

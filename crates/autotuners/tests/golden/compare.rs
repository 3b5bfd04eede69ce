//! Comparison of a file with its expected values.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value as Json, json};
use tsql_autotuners::{Format, Status, Trial, Value};

use crate::File;
use crate::numbers::{exact_sum, is_same, range};
use crate::spelling::{config_of, failure_of, graph_of, is_placeholder, json_of, result_of};

pub(crate) fn compare(file: &File, expected: &Json, failures: &mut Vec<String>) {
    let format = file.document.format;
    let mut check = |name: &str, found: Json, wanted: &Json| {
        if !is_same(&found, wanted) {
            failures.push(format!("{name}: {found} instead of {wanted}"));
        }
    };
    let trials = &file.trials;
    let results: Vec<Option<f64>> = trials
        .iter()
        .map(|trial| result_of(trial, &file.document, format))
        .collect();
    let timed: Vec<f64> = results.iter().flatten().copied().collect();
    let placeholders = trials.iter().filter(|trial| is_placeholder(trial)).count();
    check("records", json!(trials.len()), &expected["records"]);
    check("timed", json!(timed.len()), &expected["timed"]);
    check("rejected", json!(file.rejected), &json!([]));
    let graphs: BTreeSet<String> = trials
        .iter()
        .map(|trial| graph_of(trial, format).to_string())
        .collect();
    check("graphs", json!(graphs.len()), &expected["graphs"]);
    let configurations: BTreeSet<String> = trials
        .iter()
        .map(|trial| format!("{}{}", graph_of(trial, format), config_of(trial, format)))
        .collect();
    check(
        "configurations",
        json!(configurations.len()),
        &expected["configurations"],
    );
    let mut words: BTreeMap<String, u64> = BTreeMap::new();
    for word in trials.iter().filter_map(|trial| failure_of(trial, format)) {
        *words.entry(word).or_default() += 1;
    }
    check("failures", json!(words), &expected["failures"]);
    let skips = matches!(format, Format::NvbenchJson | Format::NvbenchCsv);
    let unmeasured = trials
        .iter()
        .filter(|trial| matches!(trial.status, Status::Unmeasured { .. }))
        .count();
    let unmeasured = if skips { 0 } else { unmeasured - placeholders };
    check("unmeasured", json!(unmeasured), &expected["unmeasured"]);
    if !timed.is_empty() {
        check(
            "time_sum",
            json!(exact_sum(timed.iter().copied())),
            &expected["time_sum"],
        );
        let (best, worst) = range(&timed);
        check("best_time", json!(best), &expected["best_time"]);
        check("worst_time", json!(worst), &expected["worst_time"]);
        let at = results
            .iter()
            .position(|result| *result == Some(best))
            .unwrap();
        let best = &trials[at];
        check(
            "best graph",
            graph_of(best, format),
            &expected["best"]["graph"],
        );
        check(
            "best config",
            config_of(best, format),
            &expected["best"]["config"],
        );
        if let Some(time) = &best.time {
            check(
                "time_unit",
                json!(time.unit.symbol()),
                &expected["time_unit"],
            );
        }
    }
    compare_repeats(trials, expected, &mut check);
    compare_metrics(file, expected, &mut check);
    compare_extra(file, expected, &mut check);
}

pub(crate) type Check<'a> = dyn FnMut(&str, Json, &Json) + 'a;

pub(crate) fn compare_repeats(trials: &[Trial], expected: &Json, check: &mut Check<'_>) {
    let lists: Vec<Vec<f64>> = trials
        .iter()
        .filter_map(|trial| trial.repeats.as_ref())
        .map(|repeats| {
            repeats
                .values
                .iter()
                .map(tsql_autotuners::Number::value)
                .collect()
        })
        .collect();
    if lists.is_empty() || expected.get("repeats").is_none() {
        check(
            "repeats",
            json!(!lists.is_empty()),
            &json!(expected.get("repeats").is_some()),
        );
        return;
    }
    let expected = &expected["repeats"];
    check(
        "records with repeats",
        json!(lists.len()),
        &expected["records_with_repeats"],
    );
    let all: Vec<f64> = lists.into_iter().flatten().collect();
    check("repeats", json!(all.len()), &expected["values"]);
    let (minimum, maximum) = range(&all);
    check("repeats min", json!(minimum), &expected["min"]);
    check("repeats max", json!(maximum), &expected["max"]);
    check("repeats sum", json!(exact_sum(all)), &expected["sum"]);
}

pub(crate) fn compare_metrics(file: &File, expected: &Json, check: &mut Check<'_>) {
    let mut metrics: BTreeMap<&str, (BTreeSet<&str>, Vec<f64>)> = BTreeMap::new();
    let mut counters = 0;
    for trial in &file.trials {
        // The expected values take the last value of a name.
        let last: BTreeMap<_, _> = trial.metrics.iter().map(|m| (m.name.as_ref(), m)).collect();
        counters += trial
            .metrics
            .iter()
            .filter(|metric| is_counter(&metric.name))
            .count();
        for (name, metric) in last {
            let entry = metrics.entry(name).or_default();
            entry.0.insert(&metric.unit);
            entry.1.push(metric.value);
        }
    }
    if file.document.objective != "time" {
        metrics.remove(file.document.objective.as_str());
    }
    if file.document.format == Format::NvbenchCsv {
        check(
            "metrics",
            json!(expected.get("metrics").is_none()),
            &json!(true),
        );
        return;
    }
    let empty = serde_json::Map::new();
    let wanted = expected
        .get("metrics")
        .and_then(Json::as_object)
        .unwrap_or(&empty);
    let names: Vec<&&str> = metrics.keys().collect();
    check(
        "metric names",
        json!(names),
        &json!(wanted.keys().collect::<BTreeSet<_>>()),
    );
    for (name, (units, values)) in &metrics {
        let wanted = &expected["metrics"][*name];
        check(
            &format!("{name} unit"),
            json!(units),
            &json!([wanted["unit"]]),
        );
        check(
            &format!("{name} records"),
            json!(values.len()),
            &wanted["records"],
        );
        let (minimum, maximum) = range(values);
        check(&format!("{name} min"), json!(minimum), &wanted["min"]);
        check(&format!("{name} max"), json!(maximum), &wanted["max"]);
        let sum = exact_sum(values.iter().copied());
        check(&format!("{name} sum"), json!(sum), &wanted["sum"]);
    }
    if let Some(wanted) = expected.get("counter_values") {
        check("counter_values", json!(counters), wanted);
    }
}

/// KTT's own numbers are in upper camel case, counters are not.
pub(crate) fn is_counter(name: &str) -> bool {
    !name.starts_with(|first: char| first.is_ascii_uppercase())
}

pub(crate) fn compare_extra(file: &File, expected: &Json, check: &mut Check<'_>) {
    let document = &file.document;
    if let Some(device) = expected.get("device") {
        let found = document.device.as_ref().map_or("", |device| &device.name);
        check("device", json!(found), device);
    }
    if let Some(closed) = expected.get("closed") {
        let is_closed = document.end == tsql_autotuners::End::Closed;
        check("closed", json!(is_closed), closed);
        let cartesian = document
            .space
            .as_ref()
            .map(tsql_autotuners::Space::cartesian);
        check("cartesian", json!(cartesian), &expected["cartesian"]);
    }
    if let Some(objective) = expected.get("objective") {
        check("objective", json!(document.objective), objective);
    }
    if let Some(empty) = expected.get("graphs_without_configuration") {
        check("empty graphs", json!(file.empty), empty);
    }
    if let Some(header) = expected.get("header") {
        check("header", json!(document.header), header);
    }
    if let Some(placeholders) = expected.get("placeholder_times") {
        let found = file
            .trials
            .iter()
            .filter(|trial| is_placeholder(trial))
            .count();
        check("placeholders", json!(found), placeholders);
    }
    if let Some(first) = expected.get("first_timestamp") {
        let mut stamps: Vec<&String> = file
            .trials
            .iter()
            .filter_map(|trial| trial.timestamp.as_ref())
            .collect();
        stamps.sort();
        check("first_timestamp", json!(stamps.first()), first);
        check(
            "last_timestamp",
            json!(stamps.last()),
            &expected["last_timestamp"],
        );
    }
    if let Some(dialect) = expected.get("dialect") {
        check("dialect", json!(document.version), dialect);
    }
    if let Some(wanted) = expected.get("workloads_only") {
        let found = document
            .settings
            .iter()
            .find(|(name, _)| name == "workloads_only");
        let found = found.map_or(json!(0), |(_, value)| json_of(value));
        check("workloads_only", found, wanted);
    }
    for name in ["devices", "hardware"] {
        if let Some(Json::Object(wanted)) = expected.get(name) {
            let mut found: BTreeMap<&str, u64> = BTreeMap::new();
            for platform in file
                .trials
                .iter()
                .filter_map(|trial| trial.platform.as_ref())
            {
                *found.entry(&platform.name).or_default() += 1;
            }
            check(name, json!(found), &json!(wanted));
        }
    }
    if let Some(wanted) = expected.get("validators") {
        check(
            "validators",
            json_of(&Value::Object(document.settings.clone())),
            wanted,
        );
    }
}

pub(crate) fn compare_space(file: &File, expected: &Json, failures: &mut Vec<String>) {
    let space = file.document.space.as_ref().unwrap();
    let sizes: serde_json::Map<String, Json> = space
        .parameters
        .iter()
        .map(|parameter| (parameter.name.clone(), json!(parameter.values.len())))
        .collect();
    let conditions = space.conditions.as_ref().unwrap();
    let found = [
        ("parameters", json!(sizes)),
        ("conditions", json!(conditions.len())),
        ("cartesian", json!(space.cartesian())),
        ("valid", json!(space.count_valid(1_000_000))),
    ];
    for (name, found) in found {
        if found != expected[name] {
            failures.push(format!("{name}: {found} instead of {}", expected[name]));
        }
    }
    assert!(
        conditions
            .iter()
            .all(|condition| condition.expression.is_some())
    );
}

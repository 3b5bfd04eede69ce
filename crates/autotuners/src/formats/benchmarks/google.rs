//! Google Benchmark: all rows of one run are one record. Rows of aggregates are records only where there are no others.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{FailureKind, Metric, Trial};
use crate::output::Output;
use crate::quantity::TimeUnit;
use crate::value::{Fields, Number, Value, get};

use super::document::{
    BenchmarkDocument, Element, computed, facts, mean, number, set_repeats, set_statistic,
    set_time, stated, text,
};

/// Reads such a document.
pub(super) struct Results;

/// Fields of a row that are no counters of the user.
const OWN_FIELDS: [&str; 23] = [
    "name",
    "family_index",
    "per_family_instance_index",
    "run_name",
    "run_type",
    "repetitions",
    "repetition_index",
    "threads",
    "aggregate_name",
    "aggregate_unit",
    "iterations",
    "real_time",
    "cpu_time",
    "time_unit",
    "error_occurred",
    "error_message",
    "skipped",
    "skip_message",
    "label",
    "cpu_coefficient",
    "real_coefficient",
    "big_o",
    "rms",
];

/// Settings at the end of a name, with and without a value.
const SETTINGS: [&str; 5] = [
    "min_time",
    "min_warmup_time",
    "iterations",
    "repeats",
    "threads",
];
const CLOCKS: [&str; 3] = ["real_time", "manual_time", "process_time"];

/// Facts of the machine in the context.
const MACHINE: [&str; 6] = [
    "host_name",
    "num_cpus",
    "mhz_per_cpu",
    "cpu_scaling_enabled",
    "aslr_enabled",
    "caches",
];

/// Endings of the names of aggregates.
pub(super) const AGGREGATES: [&str; 6] = ["_mean", "_median", "_stddev", "_cv", "_BigO", "_RMS"];

/// Rows of one run.
#[derive(Default)]
struct Run {
    repeats: Vec<usize>,
    /// Name of the aggregate and its row.
    aggregates: Vec<(String, usize)>,
}

impl BenchmarkDocument for Results {
    fn results(&self) -> Option<(&'static str, u8)> {
        Some(("benchmarks", b'['))
    }

    fn emit(
        &self,
        fields: &Fields,
        elements: Vec<Element>,
        output: &mut Output,
    ) -> Result<(), String> {
        let context = get(fields, "context").unwrap_or(&Value::Null);
        let document = &mut output.document;
        document.version = text(context, "library_version").map(str::to_owned);
        document.device = text(context, "host_name").and_then(stated);
        document.machine = facts(context, |name| MACHINE.contains(&name));
        let date = text(context, "date").map(str::to_owned);
        for (name, run) in runs(&elements, output) {
            match trial(&name, &run, &elements) {
                Ok(Some(mut trial)) => {
                    trial.timestamp.clone_from(&date);
                    output.trial(trial);
                }
                Ok(None) => {}
                Err((line, reason)) => output.reject(line, format!("`{name}`: {reason}")),
            }
        }
        let private = elements.iter().find_map(|row| {
            let names = row.value.as_object()?.iter();
            let mut private = names.filter(|(name, _)| name.starts_with('_'));
            Some((row.span.line, private.next()?.0.clone()))
        });
        if let Some((line, name)) = private {
            output.warn_edited(line, format!("Google Benchmark writes no field `{name}`"));
        }
        Ok(())
    }
}

/// Runs in the order of their first rows.
fn runs(elements: &[Element], output: &mut Output) -> Vec<(String, Run)> {
    let names: BTreeSet<&str> = elements
        .iter()
        .filter_map(|row| text(&row.value, "name"))
        .collect();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut runs: Vec<(String, Run)> = Vec::new();
    for (index, row) in elements.iter().enumerate() {
        let Some(name) = text(&row.value, "name") else {
            output.reject(row.span.line, "a benchmark without name");
            continue;
        };
        let old = || old_aggregate(name, &names);
        let aggregate = match text(&row.value, "run_type") {
            Some("aggregate") => text(&row.value, "aggregate_name").or_else(|| old().map(|a| a.1)),
            Some(_) => None,
            None => old().map(|(_, aggregate)| aggregate),
        };
        let stated_run = text(&row.value, "run_name");
        let run = stated_run.or_else(|| old().filter(|_| aggregate.is_some()).map(|a| a.0));
        let run = run.unwrap_or(name);
        let is_aggregate = text(&row.value, "run_type") == Some("aggregate") || aggregate.is_some();
        let place = *places.entry(run.to_owned()).or_insert_with(|| {
            runs.push((run.to_owned(), Run::default()));
            runs.len() - 1
        });
        let Some((_, run)) = runs.get_mut(place) else {
            continue;
        };
        if is_aggregate {
            let aggregate = aggregate.unwrap_or_default().to_owned();
            run.aggregates.push((aggregate, index));
        } else {
            run.repeats.push(index);
        }
    }
    runs
}

/// Run and aggregate of a name of the time before rows stated them. A name that only looks like an aggregate has neither
/// the run nor another aggregate beside it.
fn old_aggregate<'a>(name: &'a str, names: &BTreeSet<&str>) -> Option<(&'a str, &'a str)> {
    let ending = AGGREGATES.iter().find(|ending| name.ends_with(**ending))?;
    let run = name.strip_suffix(ending)?;
    let has_sibling = || {
        let mut others = AGGREGATES.iter().filter(|other| *other != ending);
        names.contains(run) || others.any(|other| names.contains(format!("{run}{other}").as_str()))
    };
    let is_fit = matches!(*ending, "_BigO" | "_RMS");
    (is_fit || has_sibling()).then_some((run, ending.trim_start_matches('_')))
}

/// Record of a run. `None` for one with fits or spreads only.
fn trial(name: &str, run: &Run, elements: &[Element]) -> Result<Option<Trial>, (u64, String)> {
    let rows: Vec<&Element> = run
        .repeats
        .iter()
        .filter_map(|index| elements.get(*index))
        .collect();
    if let Some(first) = rows.first() {
        let mut trial = first.trial();
        identify(&mut trial, name);
        trial.bytes.end = rows
            .last()
            .map_or(trial.bytes.end, |row| row.span.bytes.end);
        repeats(&mut trial, &rows)?;
        return Ok(Some(trial));
    }
    let aggregate = |wanted: &str| {
        let found = run.aggregates.iter().find(|(name, _)| name == wanted);
        found.and_then(|(_, index)| elements.get(*index))
    };
    let (row, statistic) = match (aggregate("mean"), aggregate("median")) {
        (Some(row), _) => (row, "mean"),
        (None, Some(row)) => (row, "median"),
        (None, None) => return Ok(None),
    };
    let mut trial = row.trial();
    identify(&mut trial, name);
    let wrong = |reason| (row.span.line, reason);
    let unit = unit_of(&row.value).map_err(wrong)?;
    let time = number(&row.value, "real_time").ok_or_else(|| wrong("no `real_time`".to_owned()))?;
    set_time(&mut trial, time, unit);
    set_statistic(&mut trial, statistic);
    counters(&mut trial, &row.value, unit);
    for (aggregate_name, metric) in [
        ("min", "time_min"),
        ("max", "time_max"),
        ("median", "time_median"),
    ] {
        let other = aggregate(aggregate_name).filter(|_| aggregate_name != statistic);
        if let Some(number) = other.and_then(|other| number(&other.value, "real_time")) {
            trial.push_metric(Metric::new(metric, unit.symbol(), number));
        }
    }
    Ok(Some(trial))
}

/// Takes the times and the counters of the repeats.
fn repeats(trial: &mut Trial, rows: &[&Element]) -> Result<(), (u64, String)> {
    let is_set = |row: &&&Element, name: &str| row.value.get(name) == Some(&Value::Bool(true));
    if let Some(row) = rows.iter().find(|row| is_set(row, "error_occurred")) {
        let message = text(&row.value, "error_message").unwrap_or("error_occurred");
        trial.fail(FailureKind::Runtime, message);
        return Ok(());
    }
    if let Some(row) = rows.iter().find(|row| is_set(row, "skipped")) {
        trial.unmeasured(text(&row.value, "skip_message").unwrap_or("skipped"));
        return Ok(());
    }
    let mut times = Vec::new();
    for row in rows {
        let unit = unit_of(&row.value).map_err(|reason| (row.span.line, reason))?;
        let time = number(&row.value, "real_time");
        let time = time.ok_or_else(|| (row.span.line, "no `real_time`".to_owned()))?;
        times.push((time.clone(), unit));
        counters(trial, &row.value, unit);
        if let Some(label) = row.value.get("label") {
            trial.attributes.retain(|(name, _)| name != "label");
            trial.attributes.push(("label".to_owned(), label.clone()));
        }
    }
    let (values, unit) = in_one_unit(times);
    if let Some(time) = mean(&values) {
        set_time(trial, &time, unit);
    }
    set_statistic(trial, if values.len() > 1 { "mean" } else { "single" });
    set_repeats(trial, "real_time", unit, values);
    Ok(())
}

/// Times in the unit of all, or in nanoseconds if units differ.
fn in_one_unit(times: Vec<(Number, TimeUnit)>) -> (Vec<Number>, TimeUnit) {
    let first = times
        .first()
        .map_or(TimeUnit::Nanoseconds, |(_, unit)| *unit);
    if times.iter().all(|(_, unit)| *unit == first) {
        return (times.into_iter().map(|(time, _)| time).collect(), first);
    }
    let in_ns = |(time, unit): (Number, TimeUnit)| {
        let factor = match unit {
            TimeUnit::Seconds => 1e9,
            TimeUnit::Milliseconds => 1e6,
            TimeUnit::Microseconds => 1e3,
            TimeUnit::Nanoseconds => return Some(time),
        };
        computed(time.value() * factor)
    };
    (
        times.into_iter().filter_map(in_ns).collect(),
        TimeUnit::Nanoseconds,
    )
}

fn unit_of(row: &Value) -> Result<TimeUnit, String> {
    let unit = text(row, "time_unit").ok_or("no `time_unit`")?;
    let is_symbol = matches!(unit, "ns" | "us" | "ms" | "s");
    let parsed = TimeUnit::parse(unit).filter(|_| is_symbol);
    parsed.ok_or_else(|| format!("unknown time unit `{unit}`"))
}

/// Adds the processor time, the iterations and the counters of a row.
fn counters(trial: &mut Trial, row: &Value, unit: TimeUnit) {
    let is_repeat = text(row, "run_type") != Some("aggregate");
    for (name, value) in row.as_object().into_iter().flatten() {
        let Some(number) = value.as_number() else {
            continue;
        };
        let unit = match name.as_str() {
            "cpu_time" => unit.symbol(),
            "iterations" if is_repeat => "",
            "bytes_per_second" => "B/s",
            "items_per_second" => "1/s",
            "max_bytes_used" => "B",
            own if OWN_FIELDS.contains(&own) => continue,
            _ => "",
        };
        trial.push_metric(Metric::new(name.clone(), unit, number));
    }
}

/// Splits a name from its end: settings, arguments, function.
fn identify(trial: &mut Trial, run_name: &str) {
    let mut parts: Vec<&str> = run_name.split('/').collect();
    let mut settings = Vec::new();
    let is_setting = |part: &str| {
        let (name, value) = part.split_once(':').unwrap_or((part, ""));
        CLOCKS.contains(&part) || (SETTINGS.contains(&name) && !value.is_empty())
    };
    while parts.len() > 1
        && let Some(part) = parts.pop_if(|part| is_setting(part))
    {
        settings.insert(0, part);
    }
    let mut arguments = Vec::new();
    while parts.len() > 1
        && let Some(part) = parts.pop_if(|part| is_argument(part))
    {
        arguments.insert(0, part);
    }
    trial.graph.kernel = stated(parts.join("/"));
    for (index, argument) in arguments.into_iter().enumerate() {
        let (name, value) = match argument.split_once(':') {
            Some((name, value)) => (name.to_owned(), value),
            None => (index.to_string(), argument),
        };
        trial.configuration.push((name, Value::from_cell(value)));
    }
    for setting in settings {
        let (name, value) = setting.split_once(':').unwrap_or((setting, ""));
        if name == "threads" {
            trial
                .configuration
                .push((name.to_owned(), Value::from_cell(value)));
        } else {
            let value = if value.is_empty() {
                Value::Bool(true)
            } else {
                Value::from_cell(value)
            };
            trial.attributes.push((name.to_owned(), value));
        }
    }
}

/// Returns whether a part of a name is an integer, with or without a name.
fn is_argument(part: &str) -> bool {
    let (name, value) = part.split_once(':').unwrap_or(("0", part));
    let digits = value.strip_prefix('-').unwrap_or(value);
    !name.is_empty() && !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

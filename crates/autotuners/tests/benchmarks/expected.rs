//! Comparison with the expected values of real files, which are no part of the project.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use tsql_autotuners::{Format, ReadOptions, Status, Trial};

use crate::spelling::name_of;
use crate::{File, at, format_of, metric, read_with, time_ns};

fn shared() -> Option<PathBuf> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let default = manifest.join("../../../shared");
    let shared = std::env::var_os("TSQL_SHARED").map_or(default, PathBuf::from);
    if shared.join("golden/benchmarks.json").exists() {
        return Some(shared);
    }
    let required = std::env::var_os("TSQL_REQUIRE_SHARED").is_some();
    assert!(!required, "no {}", shared.display());
    eprintln!("skipped: no {}", shared.display());
    None
}

/// Reads a file with the files beside it.
fn read_file(path: &Path) -> (Format, File) {
    let content = fs::read(path).unwrap();
    let format = format_of(&content).unwrap_or_else(|| panic!("{}", path.display()));
    let companions = format.companions().iter().filter_map(|name| {
        let content = fs::read(path.parent()?.join(name)).ok()?;
        Some(((*name).to_owned(), content))
    });
    let options = ReadOptions {
        companions: companions.collect(),
        ..at(path.to_str().unwrap())
    };
    (format, read_with(&content, options))
}

/// Files of an entry of the expected values: one, or the samples of a baseline of Criterion.
fn paths_of(data: &Path, name: &str) -> Vec<PathBuf> {
    let Some((folder, baseline)) = name.split_once(" (") else {
        return vec![data.join(name)];
    };
    let baseline = baseline.trim_end_matches(')');
    let mut folders = vec![data.join(folder)];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.ends_with(format!("{baseline}/sample.json")) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn is_near(left: f64, right: f64) -> bool {
    (left - right).abs() <= 1e-9 * right.abs().max(f64::MIN_POSITIVE)
}

fn ns_of(unit: &str) -> f64 {
    match unit {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        _ => 1e9,
    }
}

fn repeats_ns(trial: &Trial) -> Vec<f64> {
    let repeats = trial.repeats.as_ref();
    let values = repeats.map(|repeats| {
        let values = repeats.values.iter();
        values
            .map(|value| value.value() * ns_of(repeats.unit))
            .collect()
    });
    values.unwrap_or_default()
}

/// Number of repeats, minimum and median: of the repeats, else the stated ones, else the time.
fn times(trial: &Trial) -> Option<[f64; 3]> {
    let time = time_ns(trial)?;
    let mut repeats = repeats_ns(trial);
    if repeats.is_empty() {
        let stated = |names: [&str; 3]| {
            let found = names.iter().map(|name| metric(trial, name));
            let mut found = found.filter(|(values, _)| !values.is_empty());
            found.next().map(|(values, unit)| values[0] * ns_of(&unit))
        };
        let minimum = stated(["min", "Min", "time_min"]).unwrap_or(time);
        let median = stated(["median", "Median", "time_median"]).unwrap_or(time);
        return Some([0.0, minimum, median]);
    }
    repeats.sort_by(f64::total_cmp);
    let half = repeats.len() / 2;
    let median = if repeats.len() % 2 == 1 {
        repeats[half]
    } else {
        f64::midpoint(repeats[half - 1], repeats[half])
    };
    #[expect(clippy::cast_precision_loss, reason = "a count")]
    let count = repeats.len() as f64;
    Some([count, repeats[0], median])
}

/// A time of exactly 0, which a reader does not take.
const WITHOUT_TIME: &str = "benchmarkdotnet/null_namespace.json";

struct Differences(Vec<String>);

impl Differences {
    fn check(&mut self, what: &str, found: f64, wanted: &Json) {
        let wanted = wanted.as_f64().unwrap_or(f64::NAN);
        if !is_near(found, wanted) {
            self.0.push(format!("{what}: {found} instead of {wanted}"));
        }
    }
}

fn compare(name: &str, read: &[(Format, File)], expected: &Json) -> Vec<String> {
    let mut differences = Differences(Vec::new());
    let trials: Vec<(Format, &Trial)> = read
        .iter()
        .flat_map(|(format, file)| file.trials.iter().map(|trial| (*format, trial)))
        .collect();
    #[expect(clippy::cast_precision_loss, reason = "a count")]
    let count = |wanted: &dyn Fn(&Trial) -> bool| {
        trials.iter().filter(|(_, trial)| wanted(trial)).count() as f64
    };
    let timed = count(&|trial| trial.time.is_some());
    let failed = count(&|trial| matches!(trial.status, Status::Failed { .. }));
    let skipped = count(&|trial| matches!(trial.status, Status::Unmeasured { .. }));
    let rejected: Vec<&String> = read.iter().flat_map(|(_, file)| &file.rejected).collect();
    if !rejected.is_empty() {
        differences.0.push(format!("rejected: {rejected:?}"));
    }
    let failures = expected["failures"].as_object().unwrap().values();
    let failures: f64 = failures.filter_map(Json::as_f64).sum();
    differences.check("records", count(&|_| true), &expected["records"]);
    differences.check("failures", failed, &Json::from(failures));
    if name == WITHOUT_TIME {
        assert!(timed == 0.0 && skipped == 1.0);
    } else {
        differences.check("timed", timed, &expected["timed"]);
        differences.check("skipped", skipped, &expected["skipped"]);
        let sum: f64 = trials.iter().filter_map(|(_, trial)| time_ns(trial)).sum();
        let wanted = expected.get("time_sum_ns").cloned();
        differences.check("sum of times", sum, &wanted.unwrap_or_else(|| 0.0.into()));
        compare_times(&trials, expected, &mut differences);
    }
    let repeats: Vec<f64> = trials
        .iter()
        .flat_map(|(_, trial)| repeats_ns(trial))
        .collect();
    let zero = serde_json::json!({"values": 0, "sum_ns": 0.0});
    let wanted = expected.get("repeats").unwrap_or(&zero);
    #[expect(clippy::cast_precision_loss, reason = "a count")]
    differences.check("repeats", repeats.len() as f64, &wanted["values"]);
    differences.check("sum of repeats", repeats.iter().sum(), &wanted["sum_ns"]);
    compare_metrics(&trials, expected, &mut differences);
    differences.0
}

fn compare_times(trials: &[(Format, &Trial)], expected: &Json, differences: &mut Differences) {
    let mut found = BTreeMap::new();
    for (format, trial) in trials {
        if let Some(times) = times(trial) {
            found.insert(name_of(trial, *format), times);
        }
    }
    let wanted = expected["times_ns"].as_object().unwrap();
    for (name, wanted) in wanted {
        match found.get(name) {
            Some(times) => {
                for (index, time) in times.iter().enumerate() {
                    differences.check(name, *time, &wanted[index]);
                }
            }
            None => differences.0.push(format!("no {name}")),
        }
    }
    if found.len() != wanted.len() {
        let others: Vec<_> = found
            .keys()
            .filter(|name| !wanted.contains_key(*name))
            .collect();
        differences.0.push(format!("not expected: {others:?}"));
    }
}

/// Metrics that the expected values leave out, because they follow from the repeats where these are known.
const FOLLOWING: [&str; 10] = [
    "min",
    "median",
    "q1",
    "q3",
    "Min",
    "Max",
    "Median",
    "time_min",
    "time_max",
    "time_median",
];

fn compare_metrics(trials: &[(Format, &Trial)], expected: &Json, differences: &mut Differences) {
    let mut found: BTreeMap<String, (BTreeSet<String>, Vec<f64>)> = BTreeMap::new();
    for (format, trial) in trials {
        for metric in &trial.metrics {
            let unit = metric.unit.to_string();
            let (name, unit) = match (format, metric.name.as_ref(), unit.as_str()) {
                (_, name, _) if FOLLOWING.contains(&name) => continue,
                (Format::Asv, "number", _) => ("number".to_owned(), unit),
                (Format::Asv, kind, "") => (format!("{kind} (unit unknown)"), unit),
                (Format::Asv, "flop_rate", _) => (format!("track ({unit})"), unit),
                (Format::Asv, kind, _) => (format!("{kind} ({unit})"), unit),
                (Format::Liger, name, "MiB") => (name.to_owned(), "MB".to_owned()),
                (Format::PerfReport, name, _) => (name.to_owned(), "not in the file".to_owned()),
                (Format::GoogleBenchmark, name, "B") if name == "max_bytes_used" => {
                    (name.to_owned(), String::new())
                }
                (_, name, _) => (name.to_owned(), unit),
            };
            let entry = found.entry(name).or_default();
            entry.0.insert(unit);
            entry.1.push(metric.value);
        }
    }
    let none = serde_json::Map::new();
    let wanted = expected.get("metrics").and_then(Json::as_object);
    let wanted = wanted.unwrap_or(&none);
    let names: Vec<&String> = found.keys().collect();
    if names
        != wanted
            .keys()
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect::<Vec<_>>()
    {
        differences
            .0
            .push(format!("metrics {names:?} instead of {:?}", wanted.keys()));
    }
    for (name, (units, values)) in &found {
        let Some(wanted) = wanted.get(name) else {
            continue;
        };
        let unit = wanted["unit"].as_str().unwrap();
        if !units.contains(unit) {
            differences
                .0
                .push(format!("{name}: units {units:?} instead of {unit}"));
        }
        #[expect(clippy::cast_precision_loss, reason = "a count")]
        differences.check(name, values.len() as f64, &wanted["values"]);
        differences.check(name, values.iter().sum(), &wanted["sum"]);
    }
}

#[test]
fn all_expected_values_are_found() {
    let Some(shared) = shared() else { return };
    let golden = fs::read_to_string(shared.join("golden/benchmarks.json")).unwrap();
    let golden: Json = serde_json::from_str(&golden).unwrap();
    let data = shared.join("data/benchmarks");
    let mut failures = Vec::new();
    let mut readers: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for (name, expected) in golden["files"].as_object().unwrap() {
        let read: Vec<(Format, File)> = paths_of(&data, name)
            .iter()
            .map(|path| read_file(path))
            .collect();
        let differences = compare(name, &read, expected);
        let reader = readers
            .entry(expected["reader"].as_str().unwrap())
            .or_default();
        reader.0 += 1;
        reader.1 += usize::from(differences.is_empty());
        failures.extend(
            differences
                .into_iter()
                .map(|text| format!("{name}: {text}")),
        );
    }
    eprintln!("files, equal files: {readers:?}");
    assert!(
        failures.is_empty(),
        "{} differences\n{}",
        failures.len(),
        failures.join("\n")
    );
}

#[test]
fn files_of_asv_without_results_of_their_machine_are_rejected() {
    let Some(shared) = shared() else { return };
    let folder = shared.join("data/benchmarks/asv/example/cheetah");
    let file = |commit: &str| folder.join(format!("{commit}-py2.7-Cython-numpy1.8.json"));
    for commit in ["aaaaaaaa", "bbbbbbbb"] {
        assert_eq!(format_of(&fs::read(file(commit)).unwrap()), None);
    }
    let (_, other) = read_file(&file("cccccccc"));
    let error = other.error.unwrap();
    assert!(
        error.contains("`not-cheetah` is not that of its folder `cheetah`"),
        "{error}"
    );
    assert!(other.trials.is_empty());
}

//! Compares the readers with the expected values of real files, which are no part of the project.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    clippy::cast_possible_truncation,
    clippy::format_push_string,
    clippy::string_slice,
    reason = "tests"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use tsql_autotuners::{
    Detected, Document, Event, Format, Mapping, ReadOptions, Reader, Status, Trial, Value,
    decompress, detect,
};

const NEUSIGHT: &str = r#"
kernel_column = "OPName"
problem = ["B", "H"]
configuration = ["Kernel Name"]
platform_column = "Device"
time_column = "Latency"
time_unit = "ms"
[metrics]
"Warps per SM" = "1"
"Blocks per SM" = "1"
"Grid x" = "1"
"Grid y" = "1"
"Grid z" = "1"
"Block x" = "1"
"Block y" = "1"
"Block z" = "1"
"#;

const NSIGHT_COMPUTE: &str = r#"
kernel_column = "Kernel Name"
configuration = ["Block Size", "Grid Size"]
time_column = "Metric Value"
time_unit_column = "Metric Unit"
thousands = ","
comment_prefix = "=="
[only]
"Metric Name" = "gpu__time_duration.sum"
"#;

fn shared() -> Option<PathBuf> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let default = manifest.join("../../../shared");
    let shared = std::env::var_os("TSQL_SHARED").map_or(default, PathBuf::from);
    if shared.join("golden/autotuners.json").exists() {
        return Some(shared);
    }
    let required = std::env::var_os("TSQL_REQUIRE_SHARED").is_some();
    assert!(!required, "no {}", shared.display());
    eprintln!("skipped: no {}", shared.display());
    None
}

struct File {
    document: Document,
    trials: Vec<Trial>,
    empty: usize,
    rejected: Vec<String>,
}

fn read(path: &Path, mapping: Option<&str>) -> File {
    let mut content = Vec::new();
    let mut input = decompress(fs::File::open(path).unwrap()).unwrap();
    std::io::Read::read_to_end(&mut input, &mut content).unwrap();
    let format = if mapping.is_some() {
        Format::Table
    } else {
        let beginning = &content[..content.len().min(64 << 10)];
        match detect(beginning) {
            Detected::Format(format) => format,
            other => panic!("{}: {other:?}", path.display()),
        }
    };
    let options = ReadOptions {
        path: Some(path.to_owned()),
        mapping: mapping.map(|text| Mapping::parse(text).unwrap()),
        ..ReadOptions::default()
    };
    let mut reader = Reader::new(format, content.as_slice(), options);
    let mut file = File {
        document: reader.document().clone(),
        trials: Vec::new(),
        empty: 0,
        rejected: Vec::new(),
    };
    for event in reader.by_ref() {
        match event.unwrap_or_else(|error| panic!("{}: {error}", path.display())) {
            Event::Trial(trial) => file.trials.push(*trial),
            Event::EmptyGraph { .. } => file.empty += 1,
            Event::Rejected(rejected) => file.rejected.push(rejected.to_string()),
        }
    }
    file.document = reader.document().clone();
    for trial in &file.trials {
        let bytes = trial.bytes.start as usize..trial.bytes.end as usize;
        assert!(content.get(bytes).is_some_and(|bytes| !bytes.is_empty()));
    }
    file
}

/// The result as the expected values count it: a score where the objective is no time.
fn result_of(trial: &Trial, document: &Document, format: Format) -> Option<f64> {
    if let Status::Ok = trial.status {
        if let Some(time) = &trial.time {
            return Some(time.number.value());
        }
        let metric = trial
            .metrics
            .iter()
            .find(|metric| metric.name == document.objective);
        return metric.map(|metric| metric.value);
    }
    // The expected values count AITER's placeholders as times.
    (format == Format::Aiter && is_placeholder(trial)).then_some(1.0)
}

fn is_placeholder(trial: &Trial) -> bool {
    matches!(&trial.status, Status::Unmeasured { reason } if reason == "placeholder")
}

/// The expected word of a failure.
fn failure_of(trial: &Trial, format: Format) -> Option<String> {
    match (&trial.status, format) {
        (Status::Failed { word, .. }, Format::KernelTunerCache) => Some(
            match word.as_str() {
                "InvalidConfig" => "constraints",
                "CompilationFailedConfig" => "compile",
                "RuntimeFailedConfig" => "runtime",
                _ => "unknown",
            }
            .to_owned(),
        ),
        (Status::Failed { word, .. }, _) => Some(word.clone()),
        // The expected values count the author's skips as failures.
        (Status::Unmeasured { reason }, Format::NvbenchJson | Format::NvbenchCsv) => {
            Some(reason.clone())
        }
        _ => None,
    }
}

fn json_of(value: &Value) -> Json {
    serde_json::from_str(&value.to_json()).unwrap()
}

fn kernel_of(trial: &Trial) -> &str {
    trial
        .graph
        .kernel
        .as_ref()
        .map_or("", |kernel| &kernel.name)
}

/// Graph as the expected values spell it.
fn graph_of(trial: &Trial, format: Format) -> Json {
    let problem = json_of(&Value::Object(trial.graph.problem.clone()));
    let kernel = kernel_of(trial);
    let with = |name: &str| {
        let mut graph = problem.clone();
        graph[name] = json!(kernel);
        graph
    };
    match format {
        Format::KernelTunerCache => {
            let mut graph = with("kernel_name");
            if graph.get("problem_size").is_none() {
                graph["problem_size"] = Json::Null;
            }
            graph
        }
        Format::T4 | Format::Helion => Json::Null,
        Format::KttJson | Format::KttCsv => json!({"KernelName": kernel}),
        Format::MiopenFindDb => problem["problem"].clone(),
        Format::FlashInferBench => json!({"definition": kernel, "axes": problem}),
        Format::FlashInferCsv => {
            let mut pairs = vec![json!(["routine", kernel])];
            for (name, value) in &trial.graph.problem {
                pairs.push(json!([name.split('#').next(), json_of(value)]));
            }
            Json::Array(pairs)
        }
        Format::Inductor => with("op"),
        Format::TunableOp => with("op"),
        Format::NvbenchJson | Format::NvbenchCsv => json!({"benchmark": kernel}),
        Format::KernelBench | Format::KernelBenchRuns => with("problem"),
        Format::AutoTvm01 => json!([kernel, problem["args"]]),
        Format::Table => with("OPName"),
        _ => problem,
    }
}

fn config_of(trial: &Trial, format: Format) -> Json {
    let mut config = json_of(&Value::Object(trial.configuration.clone()));
    if format == Format::NvbenchCsv {
        // The expected values leave out the axes of later benchmarks, which are behind the results.
        config
            .as_object_mut()
            .unwrap()
            .retain(|name, _| name != "In" && name != "Out");
    }
    if format == Format::Inductor {
        // The expected values keep the number of the template and the text of the literals.
        let (_, name) = trial
            .attributes
            .iter()
            .find(|(name, _)| name == "name")
            .unwrap();
        config["choice"] = json_of(name);
        for (name, value) in config.as_object_mut().unwrap() {
            if name != "choice" {
                *value = json!(match &*value {
                    Json::String(text) => format!("'{text}'"),
                    Json::Bool(true) => "True".to_owned(),
                    Json::Bool(false) => "False".to_owned(),
                    Json::Null => "None".to_owned(),
                    other => other.to_string(),
                });
            }
        }
    }
    config
}

/// Sum with one rounding, as `math.fsum` (Shewchuk 1997).
fn exact_sum(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut partials: Vec<f64> = Vec::new();
    for mut x in values {
        let mut kept = Vec::new();
        for mut y in partials {
            if x.abs() < y.abs() {
                std::mem::swap(&mut x, &mut y);
            }
            let high = x + y;
            let low = y - (high - x);
            if low != 0.0 {
                kept.push(low);
            }
            x = high;
        }
        kept.push(x);
        partials = kept;
    }
    let mut rest = partials.into_iter().rev();
    let mut high = rest.next().unwrap_or(0.0);
    let mut low = 0.0;
    for y in rest.by_ref() {
        let x = high;
        high = x + y;
        low = y - (high - x);
        if low != 0.0 {
            break;
        }
    }
    if let Some(next) = rest.next()
        && ((low < 0.0 && next < 0.0) || (low > 0.0 && next > 0.0))
    {
        let y = low * 2.0;
        let x = high + y;
        if y == x - high {
            high = x;
        }
    }
    high
}

/// Quotes the numbers with a point or an exponent: serde_json rounds some of them to a neighbour.
fn quote_floats(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut is_string = false;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let mut length = first.len_utf8();
        if is_string {
            length += usize::from(first == '\\');
            is_string = first != '"';
        } else if first == '"' {
            is_string = true;
        } else if first == '-' || first.is_ascii_digit() {
            let end = |part: char| !part.is_ascii_digit() && !"+-.eE".contains(part);
            length = rest.find(end).unwrap();
            if rest[..length].contains(['.', 'e', 'E']) {
                out.push_str(&format!("\"float:{}\"", &rest[..length]));
                rest = &rest[length..];
                continue;
            }
        }
        out.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    out
}

/// Number of an expected value.
fn exact(value: &Json) -> Option<f64> {
    let float = value.as_str().and_then(|text| text.strip_prefix("float:"));
    float.map_or_else(|| value.as_f64(), |text| text.parse().ok())
}

/// Compares numbers as doubles at any depth.
fn is_same(found: &Json, wanted: &Json) -> bool {
    match (found, wanted) {
        (Json::Array(found), Json::Array(wanted)) => {
            let mut pairs = found.iter().zip(wanted);
            found.len() == wanted.len() && pairs.all(|(found, wanted)| is_same(found, wanted))
        }
        (Json::Object(found), Json::Object(wanted)) => {
            let mut pairs = found.iter().zip(wanted);
            found.len() == wanted.len()
                && pairs.all(|(found, wanted)| found.0 == wanted.0 && is_same(found.1, wanted.1))
        }
        _ => match (found.as_f64(), exact(wanted)) {
            (Some(number), Some(other)) => number == other,
            _ => found == wanted,
        },
    }
}

fn range(values: &[f64]) -> (f64, f64) {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (least, most)
}

fn compare(file: &File, expected: &Json, failures: &mut Vec<String>) {
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

type Check<'a> = dyn FnMut(&str, Json, &Json) + 'a;

fn compare_repeats(trials: &[Trial], expected: &Json, check: &mut Check<'_>) {
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
    let (least, most) = range(&all);
    check("repeats min", json!(least), &expected["min"]);
    check("repeats max", json!(most), &expected["max"]);
    check("repeats sum", json!(exact_sum(all)), &expected["sum"]);
}

fn compare_metrics(file: &File, expected: &Json, check: &mut Check<'_>) {
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
        let (least, most) = range(values);
        check(&format!("{name} min"), json!(least), &wanted["min"]);
        check(&format!("{name} max"), json!(most), &wanted["max"]);
        let sum = exact_sum(values.iter().copied());
        check(&format!("{name} sum"), json!(sum), &wanted["sum"]);
    }
    if let Some(wanted) = expected.get("counter_values") {
        check("counter_values", json!(counters), wanted);
    }
}

/// KTT's own numbers are in upper camel case, counters are not.
fn is_counter(name: &str) -> bool {
    !name.starts_with(|first: char| first.is_ascii_uppercase())
}

fn compare_extra(file: &File, expected: &Json, check: &mut Check<'_>) {
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

fn compare_space(file: &File, expected: &Json, failures: &mut Vec<String>) {
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

#[test]
fn all_expected_values_are_found() {
    let Some(shared) = shared() else { return };
    let golden = fs::read_to_string(shared.join("golden/autotuners.json")).unwrap();
    let golden: Json = serde_json::from_str(&quote_floats(&golden)).unwrap();
    let mut failures = Vec::new();
    let mut compared = BTreeMap::<String, (usize, usize)>::new();
    for (name, expected) in golden["files"].as_object().unwrap() {
        let path = shared.join("data/autotuners").join(name);
        let reader = expected["reader"].as_str().unwrap();
        if reader == "tvm_log" && !name.ends_with("v0.1.log") {
            continue; // Version 0.2 and auto_scheduler have their reader in `tensorsql-formats`.
        }
        let file = read(&path, (reader == "neusight").then_some(NEUSIGHT));
        let mut differences = Vec::new();
        if reader == "t1" {
            compare_space(&file, expected, &mut differences);
        } else {
            compare(&file, expected, &mut differences);
        }
        let count = compared.entry(reader.to_owned()).or_default();
        count.0 += 1;
        count.1 += file.trials.len();
        failures.extend(
            differences
                .into_iter()
                .map(|text| format!("{name}: {text}")),
        );
    }
    for (reader, (files, trials)) in &compared {
        eprintln!("{reader}: {files} files, {trials} trials");
    }
    assert!(
        failures.is_empty(),
        "{} differences\n{}",
        failures.len(),
        failures.join("\n")
    );
}

#[test]
fn files_without_records_are_named() {
    let Some(shared) = shared() else { return };
    for name in [
        "aiter/dsv3_a4w4_blockscale_untuned_gemm.csv",
        "flashinfer_bench/definitions/gemm_n4096_k4096.json",
        "flashinfer_bench/solutions/example_agent_solution.json",
        "helion/sum_2048_16384_unseeded_s0.driver.log",
        "neusight/device_configs/Tesla_T4.json",
        "neusight/device_configs/NVIDIA_H100_80GB_HBM3.json",
    ] {
        let content = fs::read(shared.join("data/autotuners").join(name)).unwrap();
        let found = detect(&content);
        assert!(matches!(found, Detected::NoRecords(_)), "{name}: {found:?}");
    }
}

#[test]
fn profiles_of_nsight_compute_are_tables() {
    let Some(shared) = shared() else { return };
    for name in ["ncu_all.csv", "ncu_none.csv"] {
        let path = shared.join("golden/gpu").join(name);
        let file = read(&path, Some(NSIGHT_COMPUTE));
        let text = fs::read_to_string(&path).unwrap();
        let rows = text
            .lines()
            .filter(|line| line.contains("gpu__time_duration.sum"))
            .count();
        assert_eq!(file.trials.len(), rows);
        assert_eq!(file.rejected, Vec::<String>::new());
        assert_eq!(kernel_of(&file.trials[0]), "spin");
        assert!(file.trials.iter().all(|trial| trial.time.is_some()));
    }
}

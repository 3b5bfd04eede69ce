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

use serde_json::Value as Json;
use tsql_autotuners::{
    Detected, Document, Event, Format, Mapping, ReadOptions, Reader, Trial, decompress, detect,
};

mod compare;
mod numbers;
mod spelling;

use compare::{compare, compare_space};
use numbers::quote_floats;
use spelling::{json_of, kernel_of};

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
            Event::Rejected(part) | Event::Warning(part) => file.rejected.push(part.to_string()),
        }
    }
    file.document = reader.document().clone();
    for trial in &file.trials {
        let bytes = trial.bytes.start as usize..trial.bytes.end as usize;
        assert!(content.get(bytes).is_some_and(|bytes| !bytes.is_empty()));
    }
    file
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

/// Exhaustive files: the space, the trials, and the parameters of the space by the name of the trials.
const EXHAUSTIVE: [(&str, &str, bool); 6] = [
    (
        "kernel_tuner/T1/convolution.json",
        "kernel_tuner/convolution/RTX_2080_Ti.json.gz",
        true,
    ),
    (
        "kernel_tuner/T1/convolution.json",
        "kernel_tuner/convolution/RTX_3090.json.gz",
        true,
    ),
    (
        "kernel_tuner/T1/convolution_milo.json",
        "kernel_tuner/convolution_milo/A100.json.gz",
        true,
    ),
    (
        "kernel_tuner/T1/convolution_milo.json",
        "kernel_tuner/convolution_milo/mi50.json.gz",
        false,
    ),
    (
        "kernel_tuner/T1/pnpoly.json",
        "kernel_tuner/pnpoly/RTX_3090.json.gz",
        true,
    ),
    (
        "ktt/T1/CoulombSum3d_full_search.json",
        "ktt/coulomb_2080_full_search_space.json.gz",
        true,
    ),
];

#[test]
fn exhaustive_files_have_the_valid_points_of_their_space() {
    let Some(shared) = shared() else { return };
    for (space, trials, expected) in EXHAUSTIVE {
        let space = read(&shared.join("data/autotuners").join(space), None)
            .document
            .space
            .unwrap();
        let file = read(&shared.join("data/autotuners").join(trials), None);
        let mut points = BTreeSet::new();
        space.for_each_valid(1_000_000, |point| {
            points.insert(
                point
                    .iter()
                    .map(|value| json_of(value).to_string())
                    .collect::<Vec<_>>(),
            );
        });
        let present: BTreeSet<Vec<String>> = file
            .trials
            .iter()
            .map(|trial| {
                let value = |name: &String| {
                    let found = trial.configuration.iter().find(|(other, _)| other == name);
                    found.map_or_else(String::new, |(_, value)| json_of(value).to_string())
                };
                space
                    .parameters
                    .iter()
                    .map(|parameter| value(&parameter.name))
                    .collect()
            })
            .collect();
        assert_eq!(
            points == present,
            expected,
            "{trials}: {} points",
            points.len()
        );
    }
}

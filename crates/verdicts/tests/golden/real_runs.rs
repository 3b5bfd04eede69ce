//! Pairs of real runs in which nothing changed, with the second run made slower by 0, 3, 5 and 10 %.

use std::collections::BTreeMap;

use serde_json::Value;
use tsql_metrics::change::Verdict;
use tsql_metrics::median::median;
use tsql_verdicts::calibration::crossed_floors;
use tsql_verdicts::floor::Floor;
use tsql_verdicts::run_test::run_test;
use tsql_verdicts::verdict::verdicts;

use crate::shared::{check, close, count, golden, read};

const FACTORS: [(&str, f64); 4] = [("1", 1.0), ("1.03", 1.03), ("1.05", 1.05), ("1.1", 1.1)];

fn judge(pairs: &[[f64; 2]], floors: &[Option<Floor>], factor: f64) -> Vec<Verdict> {
    let tests = pairs.iter().zip(floors);
    let tests: Vec<_> = tests
        .map(|([a, b], floor)| run_test(&[*a], &[b + factor.ln()], floor.as_ref(), None))
        .collect();
    verdicts(&tests, 0.02)
}

fn check_rates(golden: &Value, name: &str, pairs: &[[f64; 2]], floors: &[Option<Floor>]) {
    let expected = &golden["aa"][name];
    assert_eq!(expected["pairs"], pairs.len(), "{name}");
    let mut distinct: Vec<Floor> = floors.iter().copied().flatten().collect();
    distinct.sort_by(|one, other| one.sigma.total_cmp(&other.sigma));
    distinct.dedup();
    for (floor, expected) in distinct.iter().zip(expected["floors"].as_array().unwrap()) {
        close(floor.sigma, &expected[0]);
        close(floor.nu, &expected[1]);
        close(floor.spread, &expected[2]);
    }
    for (word, factor) in FACTORS {
        let counts = count(judge(pairs, floors, factor));
        check(golden, &format!("aa/{name}/rules/floor/{word}"), &counts);
    }
}

fn level(repeats: &[f64]) -> f64 {
    median(repeats).unwrap().value.ln()
}

fn numbers(list: &Value) -> Vec<f64> {
    let list = list.as_array().unwrap().iter();
    list.map(|number| number.as_f64().unwrap()).collect()
}

/// Configurations of the log in order of their first record.
fn groups(rows: impl Iterator<Item = (String, f64)>) -> Vec<Vec<f64>> {
    let mut index: BTreeMap<String, usize> = BTreeMap::new();
    let mut groups: Vec<Vec<f64>> = Vec::new();
    for (key, level) in rows {
        let place = *index.entry(key).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[place].push(level);
    }
    groups
}

fn twice(groups: &[Vec<f64>]) -> Vec<[f64; 2]> {
    let twice = groups.iter().filter(|levels| levels.len() > 1);
    twice.map(|levels| [levels[0], levels[1]]).collect()
}

#[test]
#[ignore = "full tier"]
fn programs_that_were_built_twice_are_not_called() {
    let Some(golden) = golden() else { return };
    let text = read("metaschedule/a100-resnet34/database_tuning_record.json.gz").unwrap();
    let rows = text.lines().filter_map(|line| {
        let record: Value = serde_json::from_str(line).unwrap();
        let repeats = record[1][1].as_array()?;
        let repeats: Vec<f64> = repeats.iter().map(|s| s.as_f64().unwrap()).collect();
        let most = repeats.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let key = format!("{}{}", record[0], record[1][0]);
        (most < 1e9 && !repeats.is_empty()).then(|| {
            (
                key,
                level(&repeats.iter().map(|s| 1e9 * s).collect::<Vec<_>>()),
            )
        })
    });
    let pairs = twice(&groups(rows));
    check_rates(
        &golden,
        "metaschedule_a100",
        &pairs,
        &crossed_floors(&pairs),
    );
}

#[test]
fn two_runs_of_one_program_are_the_same() {
    let Some(golden) = golden() else { return };
    let runs = ["test_ref", "test_cmp"].map(|name| {
        let text = read(&format!("autotuners/nvbench/{name}.json.gz")).unwrap();
        let document: Value = serde_json::from_str(&text).unwrap();
        states(&document)
    });
    let pairs: Vec<(String, [f64; 2])> = runs[0]
        .iter()
        .filter_map(|(key, (device, a))| {
            let (_, (_, b)) = runs[1].iter().find(|(other, _)| other == key)?;
            Some((device.clone(), [a.ln(), b.ln()]))
        })
        .collect();
    // The floors are those of each device.
    let mut floors = vec![None; pairs.len()];
    let devices: Vec<&String> = pairs.iter().map(|(device, _)| device).collect();
    for device in &devices {
        let places: Vec<usize> = (0..pairs.len())
            .filter(|place| devices[*place] == *device)
            .collect();
        let own: Vec<[f64; 2]> = places.iter().map(|place| pairs[*place].1).collect();
        for (place, floor) in places.iter().zip(crossed_floors(&own)) {
            floors[*place] = floor;
        }
    }
    let pairs: Vec<[f64; 2]> = pairs.into_iter().map(|(_, pair)| pair).collect();
    check_rates(&golden, "nvbench", &pairs, &floors);
}

/// Returns the device and the mean in ns of each measured state, by its key.
fn states(document: &Value) -> Vec<(String, (String, f64))> {
    let mut found = Vec::new();
    for bench in document["benchmarks"].as_array().unwrap() {
        for state in bench["states"].as_array().into_iter().flatten() {
            let summaries = state["summaries"].as_array().into_iter().flatten();
            let mean = summaries
                .filter(|summary| summary["tag"] == "nv/cold/time/gpu/mean")
                .flat_map(|summary| summary["data"].as_array().into_iter().flatten())
                .find(|value| value["name"] == "value");
            let Some(mean) = mean.filter(|_| state["is_skipped"] == false) else {
                continue;
            };
            let mean = &mean["value"];
            let seconds = mean
                .as_f64()
                .unwrap_or_else(|| mean.as_str().unwrap().parse().unwrap());
            let axes: Vec<_> = state["axis_values"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|axis| format!("{}={}", axis["name"], axis["value"]))
                .collect();
            let device = state["device"].to_string();
            let key = format!("{} {device} {axes:?}", bench["name"]);
            found.push((key, (device, 1e9 * seconds)));
        }
    }
    found
}

#[test]
fn single_timings_of_a_drifting_card_are_not_called() {
    let Some(golden) = golden() else { return };
    let text = read("autotuners/ktt/coulomb_1070.json.gz").unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    let rows = document["Results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| {
            let key = format!("{}{}", result["KernelName"], result["Configuration"]);
            let us = result["ComputationResults"][0]["Duration"]
                .as_f64()
                .unwrap();
            (key, (1e3 * us).ln())
        });
    let pairs = twice(&groups(rows));
    check_rates(&golden, "ktt_gtx1070", &pairs, &crossed_floors(&pairs));
}

/// A machine at work: the rule is unclear instead of wrong.
#[test]
fn runs_on_a_busy_machine_are_unclear() {
    let Some(golden) = golden() else { return };
    let mut pairs = Vec::new();
    // In the order of the file.
    let text = serde_json::to_string(&golden["measured"]["runs"]).unwrap();
    let kernels: Value = serde_json::from_str(&text).unwrap();
    for runs in kernels.as_object().unwrap().values() {
        let levels: Vec<f64> = runs
            .as_array()
            .unwrap()
            .iter()
            .map(|repeats| level(&numbers(repeats)))
            .collect();
        pairs.extend(levels.chunks_exact(2).map(|pair| [pair[0], pair[1]]));
    }
    assert_eq!(golden["aa"]["small_cpu"]["pairs"], pairs.len());
    let floors = crossed_floors(&pairs);
    assert_eq!(count(judge(&pairs, &floors, 1.0))["called"], 0);
    assert_eq!(count(judge(&pairs, &floors, 1.1))["called"], 0);
}

//! `tsql replay`: policies on a small space with known results, coverage, networks, rejected input, and golden values.

use serde_json::Value;

use crate::networks::NETWORK;
use crate::score::record;
use crate::support::{Place, shared};

/// Search space of a kernel with five valid points of six: `y` or an even `x`.
const SPACE: &str = r#"{"ConfigurationSpace": {"TuningParameters": [
  {"Name": "x", "Type": "int", "Values": "[2**i for i in range(0, 3)]", "Default": 1},
  {"Name": "y", "Type": "bool", "Values": "[True, False]"}],
  "Conditions": [{"Expression": "x % 2 == 0 or y", "Parameters": ["x", "y"]}]},
  "KernelSpecification": {"Language": "CUDA", "KernelName": "toy"}}"#;

/// Entries of a cache of Kernel Tuner: point, time, and compile and benchmark times, all in milliseconds.
const ENTRIES: [(i32, &str, &str, [u32; 2]); 5] = [
    (1, "true", "4.0", [600, 400]),
    (2, "true", "1.0", [1000, 1000]),
    (2, "false", "1.03", [2500, 500]),
    (4, "true", "\"RuntimeFailedConfig\"", [4000, 0]),
    (4, "false", "8.0", [1000, 4000]),
];

fn cache(device: &str, count: usize) -> String {
    let entries = ENTRIES.iter().take(count).map(|(x, y, time, [compile, benchmark])| {
        let times = if time.starts_with('"') { String::new() } else { format!(", \"times\": [{time}, {time}]") };
        let name = if *y == "true" { "True" } else { "False" };
        format!(
            "\"{x},{name}\": {{\"x\": {x}, \"y\": {y}, \"time\": {time}{times}, \"compile_time\": {compile}, \
             \"benchmark_time\": {benchmark}}}"
        )
    });
    let entries = entries.collect::<Vec<_>>().join(",\n");
    format!(
        "{{\n\"device_name\": \"{device}\",\n\"kernel_name\": \"toy\",\n\"problem_size\": 64,\n\
         \"tune_params_keys\": [\"x\", \"y\"],\n\"tune_params\": {{\"x\": [1, 2, 4], \"y\": [true, false]}},\n\
         \"cache\": {{\n{entries}}}}}"
    )
}

/// A store with the whole space on one device, and three of its points on another.
fn filled() -> Place {
    let place = Place::new();
    place.write("in/T1/toy.json", SPACE);
    place.write("in/whole.json", cache("Whole", 5));
    place.write("in/part.json", cache("Part", 3));
    place.ok(&["ingest", "-q", "in"]);
    // The second best point first, then the failure, then the best one.
    let predictions = "SELECT config_key, platform, CASE line WHEN 1 THEN 0.1 WHEN 2 THEN 0.7 WHEN 3 THEN 0.9 \
                       WHEN 4 THEN 0.8 ELSE 0.2 END AS prediction FROM records ORDER BY platform, line";
    place.ok(&[predictions, "-o", "model.csv"]);
    place
}

fn replay(place: &Place, args: &[&str]) -> (Value, String) {
    let ran = place.ok(&[&["replay", "--format", "json"], args].concat());
    let found = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.stdout));
    (found, ran.stderr)
}

#[test]
fn policies_have_the_results_of_a_hand_computation() {
    let place = filled();
    let all = [
        "--where",
        "platform = 'Whole'",
        "--predictions",
        "model.csv",
        "--policy",
        "random,recorded,greedy,epsilon-greedy",
        "--draws",
        "1,2,100",
        "--epsilon",
        "0",
    ];
    let ran = place.ok(&[&["replay", "--format", "csv"], &all[..]].concat());
    let cells = |line: &str| {
        let cells: Vec<&str> = line.rsplitn(18, ',').collect();
        cells
            .into_iter()
            .rev()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let rows: Vec<Vec<String>> = ran.stdout.lines().map(cells).collect();
    assert_eq!(
        rows[0][1..13],
        [
            "platform",
            "policy",
            "trials",
            "timed",
            "coverage",
            "best_ns",
            "best_ns_1",
            "best_ns_2",
            "best_ns_100",
            "draws_to_reach",
            "seconds_to_reach",
            "draws_speedup"
        ]
    );
    let best = |row: usize| {
        rows[row][7..10]
            .iter()
            .map(|cell| cell.parse().unwrap())
            .collect::<Vec<f64>>()
    };
    // One of five trials: the mean of four times. Four draws contain one of two good trials with 95 %.
    assert!((best(1)[0] - 3_507_500.0).abs() < 1e-6, "{}", ran.stdout);
    assert_eq!(
        (rows[1][2].as_str(), rows[1][10].as_str()),
        ("random", "4.0")
    );
    assert_eq!(best(2), [4e6, 1e6, 1e6]);
    // Draws of 1 and 2 seconds.
    assert_eq!(rows[2][10..13], ["2.0", "3.0", "2.0"]);
    assert_eq!(best(3), [1.03e6, 1.03e6, 1e6]);
    assert_eq!(rows[3][10..13], ["1.0", "3.0", "4.0"]);
    assert_eq!(best(3), best(4));
    assert!(
        rows[1..]
            .iter()
            .all(|row| row[3..6] == ["5", "4", "exhaustive"]),
        "{}",
        ran.stdout
    );
    assert!(
        ran.stderr
            .contains("greedy over random: 4 times fewer draws"),
        "{}",
        ran.stderr
    );
    assert!(!ran.stderr.contains("exhaustive"), "{}", ran.stderr);

    // The same seed gives the same searches.
    let random = [&all[..6], &["--epsilon", "0.5", "--seed", "3"]].concat();
    let found = replay(&place, &random);
    assert_eq!(found, replay(&place, &random));
    let curve = &found.0["tasks"][0]["policies"][3]["seconds_curve"];
    let last = curve.as_array().unwrap().last().unwrap();
    assert_eq!(
        (&last["at"], &last["best_ns"]),
        (&15.0.into(), &1e6.into()),
        "{curve}"
    );
    place.ok(&[
        &["replay", "--plot", "a.svg", "--against", "seconds"],
        &all[..],
    ]
    .concat());
    let drawn = String::from_utf8(place.read("a.svg")).unwrap();
    assert!(
        drawn.contains("epsilon-greedy") && drawn.contains("seconds"),
        "{drawn}"
    );
}

#[test]
fn incomplete_spaces_state_their_coverage() {
    let place = filled();
    let (found, notes) = replay(&place, &[]);
    let tasks = found["tasks"].as_array().unwrap();
    let coverage: Vec<[&str; 2]> = tasks
        .iter()
        .map(|task| {
            [
                task["platform"].as_str().unwrap(),
                task["coverage"].as_str().unwrap(),
            ]
        })
        .collect();
    assert_eq!(coverage, [["Whole", "exhaustive"], ["Part", "searched"]]);
    assert_eq!(tasks[1]["coverage_reason"], "3 of 5 valid points");
    assert!(
        notes.contains("1 task not known to be exhaustive (3 of 5 valid points)"),
        "{notes}"
    );
    let (found, notes) = replay(&place, &["--exhaustive"]);
    assert_eq!(found["tasks"].as_array().unwrap().len(), 1);
    assert!(!notes.contains("not known"), "{notes}");
    let ran = place.tsql(&["replay", "--exhaustive", "--where", "platform = 'Part'"]);
    let wanted = "none of 1 tasks is known to be exhaustive";
    assert!(ran.stderr.contains(wanted), "{}", ran.stderr);
    // A selection of a whole space is no whole space.
    let (found, notes) = replay(&place, &["--where", "platform = 'Whole' AND line > 1"]);
    assert_eq!(found["tasks"][0]["coverage"], "searched");
    assert_eq!(
        found["tasks"][0]["coverage_reason"],
        "4 of 5 configurations are selected"
    );
    assert!(
        notes.contains("best time may not be the optimum"),
        "{notes}"
    );
    // Trials without a time have no search.
    let (found, _) = replay(&place, &["--where", "error_no <> 0"]);
    let policy = &found["tasks"][0]["policies"][0];
    assert_eq!(
        (&policy["reason"], &policy["draws_to_reach"]),
        (&"no trial has a time".into(), &Value::Null)
    );
}

#[test]
fn winners_are_not_replayed() {
    let place = Place::new();
    place.write(
        "in/toy_chip/pallas_triton_norm.json",
        crate::autotuners::corpus("tokamax"),
    );
    // The file has a damaged entry.
    assert_eq!(place.tsql(&["ingest", "in"]).code, Some(1));
    let (found, _) = replay(&place, &[]);
    let task = &found["tasks"][0];
    assert_eq!(task["coverage"], "winners");
    assert_eq!(
        task["policies"][0]["reason"],
        "the sources state only the best configurations"
    );
}

#[test]
fn predictions_are_complete_or_rejected() {
    let place = filled();
    let rejected = |args: &[&str]| {
        let ran = place.tsql(&[&["replay"], args].concat());
        assert_ne!(ran.code, Some(0), "{args:?}");
        assert_eq!(ran.stdout, "", "{args:?}");
        ran.stderr
    };
    let some = "(SELECT * FROM 'model.csv' WHERE prediction > 0.15)";
    let message = rejected(&["--predictions", some]);
    assert!(
        message.contains("2 of 8 records have no prediction"),
        "{message}"
    );
    assert!(
        message.contains("hint: --allow-missing draws their configurations last"),
        "{message}"
    );
    let (found, notes) = replay(&place, &["--predictions", some, "--allow-missing"]);
    assert_eq!(found["missing"], 2);
    assert!(notes.contains("2 records without a prediction"), "{notes}");
    let invalid = "(SELECT config_key, platform, CASE WHEN prediction > 0.85 THEN 'NaN'::DOUBLE ELSE prediction END AS \
                   prediction FROM 'model.csv')";
    let (found, _) = replay(&place, &["--predictions", invalid]);
    let policies = &found["tasks"][0]["policies"];
    assert_eq!(policies[0]["reason"], Value::Null);
    assert_eq!(
        policies[1]["reason"],
        "predictions are NaN, infinite or not a time"
    );
    for (args, wanted) in [
        (
            &["--policy", "greedy"][..],
            "the policy greedy needs predictions",
        ),
        (&["--policy", "best"], "invalid value 'best'"),
        (
            &["--policy", "random", "--predictions", "model.csv"],
            "no policy reads the predictions",
        ),
        (&["--draws", "0"], "expected numbers from 1 up"),
        (&["--probability", "1.5"], "is not a probability"),
        (&["--network", "net"], "no network named `net`"),
        (&["--where", "line < 0"], "there are no trials to replay"),
        (&["--where", "nothing > 0"], "nothing"),
    ] {
        let message = rejected(args);
        assert!(message.contains(wanted), "{args:?}: {message}");
    }
}

#[test]
fn a_network_is_the_weighted_sum_of_its_tasks() {
    let place = Place::new();
    // The network has the task `["k", 4]` three times.
    let lines = [("k", 1, "0.004"), ("k", 2, "0.002"), ("m", 1, "0.001")];
    let lines: String = lines
        .iter()
        .map(|(name, tile, costs)| record(name, "cuda", *tile, costs, 0))
        .collect();
    place.write("gpu/log.json", lines);
    place.write("info/((net,[(1,3)]),cuda).task.pkl", NETWORK);
    place.ok(&["ingest", "-q", "gpu", "info"]);
    let args = [
        "--network",
        "net",
        "--policy",
        "recorded",
        "--draws",
        "1,2",
        "--round",
        "1",
    ];
    let (found, notes) = replay(&place, &args);
    let task = &found["tasks"][0];
    assert_eq!(
        (&task["name"], &task["network_tasks"]),
        (&"net [[1,3]] cuda".into(), &1.into())
    );
    let best: Vec<f64> = task["policies"][0]["best"]
        .as_array()
        .unwrap()
        .iter()
        .map(|point| point["best_ns"].as_f64().unwrap())
        .collect();
    assert_eq!(best, [12e6, 6e6]);
    // Each record costs 1.5 s.
    assert_eq!(task["policies"][0]["seconds_to_reach"], 3.0);
    assert!(notes.contains("scheduler gradient"), "{notes}");
    let tasks = replay(&place, &[]).0;
    assert_eq!(tasks["tasks"].as_array().unwrap().len(), 2);
}

/// File, T1 file if its names are those of the records, and values of `formats/autotuners.md`, section 18: trials, draws
/// for 95 %, and the expected best of 1, 10 and 100 draws.
type Golden = (&'static str, Option<&'static str>, usize, f64, [f64; 3]);

const GOLDEN: [Golden; 5] = [
    (
        "kernel_tuner/convolution/RTX_3090.json.gz",
        Some("kernel_tuner/T1/convolution.json"),
        6768,
        861.0,
        [1709871.4130226222, 790701.674790214, 575460.7078502042],
    ),
    (
        "kernel_tuner/convolution_milo/A100.json.gz",
        Some("kernel_tuner/T1/convolution_milo.json"),
        4362,
        4144.0,
        [2289505.40972326, 1015501.0994799625, 777993.8142680816],
    ),
    (
        "kernel_tuner/pnpoly/RTX_3090.json.gz",
        Some("kernel_tuner/T1/pnpoly.json"),
        4092,
        354.0,
        [16538940.99820273, 10428733.99616147, 9105234.185381427],
    ),
    (
        "ktt/KTConvolutionOutput_3090.json.gz",
        None,
        6768,
        986.0,
        [1726543.7412213741, 796661.950881277, 582042.198303008],
    ),
    (
        "ktt/coulomb_2080_full_search_space.json.gz",
        Some("ktt/T1/CoulombSum3d_full_search.json"),
        210,
        19.0,
        [2764562.585714286, 856509.3152159903, 770474.3346188441],
    ),
];

#[test]
#[ignore = "full tier"]
fn real_spaces_have_golden_values() {
    let Some(shared) = shared() else { return };
    let data = shared.join("data/autotuners");
    for (file, space, trials, draws, best) in GOLDEN {
        let place = Place::new();
        for name in [Some(file), space].into_iter().flatten() {
            let bytes = std::fs::read(data.join(name)).unwrap();
            place.write(&format!("in/{name}"), bytes);
        }
        place.ok(&["ingest", "-q", "in"]);
        let (found, _) = replay(&place, &[]);
        let [task] = &found["tasks"].as_array().unwrap()[..] else {
            panic!("{file}: {found}")
        };
        let coverage = space.map_or("searched", |_| "exhaustive");
        assert_eq!(
            (&task["trials"], &task["coverage"]),
            (&trials.into(), &coverage.into()),
            "{file}"
        );
        let random = &task["policies"][0];
        assert_eq!(random["draws_to_reach"], draws, "{file}");
        for (point, expected) in random["best"].as_array().unwrap().iter().zip(best) {
            let best = point["best_ns"].as_f64().unwrap();
            let relative = best / expected - 1.0;
            assert!(relative.abs() < 1e-10, "{file}: {best}, not {expected}");
        }
    }
}

//! Metrics of TpuGraphs, compared with SciPy and the code of the baselines.

use std::fmt::Write as _;

use serde_json::Value;

use crate::npz::{layout_file, npz, tile_file};
use crate::support::{Place, shared};

fn golden(name: &str) -> Option<Value> {
    let path = shared()?.join("golden/tpugraphs").join(name);
    let text = std::fs::read_to_string(path).unwrap();
    Some(serde_json::from_str(&text).unwrap())
}

/// Parses a number of a result, or returns `None` for NULL.
fn number(text: &str) -> Option<f64> {
    (!text.is_empty()).then(|| text.parse().unwrap())
}

fn assert_close(found: Option<f64>, wanted: &Value, what: &str) {
    match (found, wanted.as_f64()) {
        (None, None) => {}
        (Some(a), Some(b)) if (a - b).abs() <= 1e-15 * b.abs().max(1.0) => {}
        other => panic!("{what}: {other:?}"),
    }
}

#[test]
fn aggregates_equal_all_golden_cases() {
    let Some(cases) = golden("metrics_golden.json") else {
        return;
    };
    let cases = cases.as_array().unwrap();
    let place = Place::new();
    let mut rows = "name,sample,runtime,score\n".to_owned();
    for case in cases {
        let list = |name: &str| case[name].as_array().cloned().unwrap_or_default();
        let (runtimes, scores) = (list("config_runtime"), list("scores"));
        let normalizers = list("config_runtime_normalizers");
        for (sample, (runtime, score)) in runtimes.iter().zip(&scores).enumerate() {
            let normalizer = normalizers
                .get(sample)
                .map_or(1.0, |one| one.as_f64().unwrap());
            let runtime = runtime.as_f64().unwrap() / normalizer;
            let name = case["name"].as_str().unwrap();
            writeln!(rows, "{name},{sample},{runtime:?},{score}").unwrap();
        }
    }
    place.write("cases.csv", rows);
    place.ok(&["init"]);
    // Shuffled rows: the index breaks ties, not the order of rows.
    let results = place.rows(
        "SELECT name, top_k_error(runtime, score, 1, sample), top_k_error(runtime, score, 5, sample), \
         top_k_error(runtime, score, 10, sample), top_k_error(runtime, score, 100, sample), \
         kendall_tau_b(runtime, score), ordered_pair_accuracy(runtime, score), \
         tile_score(runtime, score, sample) \
         FROM (SELECT * FROM 'cases.csv' ORDER BY sample % 7, sample DESC) GROUP BY name",
    );
    assert_eq!(results.len(), 42);
    for result in results {
        let cells: Vec<&str> = result.split(',').collect();
        let case = cases.iter().find(|case| case["name"] == cells[0]).unwrap();
        let expected = &case["expected"];
        let wanted: [&str; 7] = if case["kind"] == "tile" {
            [
                "top1_error",
                "top5_error",
                "top10_error",
                "",
                "kendall_tau_b",
                "opa",
                "kaggle_row_score",
            ]
        } else {
            [
                "slowdown1",
                "",
                "slowdown10",
                "slowdown100",
                "kendall_tau_b_scores",
                "opa",
                "",
            ]
        };
        for (cell, name) in cells[1..]
            .iter()
            .zip(wanted)
            .filter(|(_, name)| !name.is_empty())
        {
            assert_close(
                number(cell),
                &expected[name],
                &format!("{} {name}", cells[0]),
            );
        }
    }
}

/// Returns the golden submission, and a store of synthetic test files with its runtimes.
fn submission_store() -> Option<(Place, Value)> {
    let expected = golden("submission_golden.expected.json")?;
    let place = Place::new();
    for (number, row) in expected["rows"].as_array().unwrap().iter().enumerate() {
        let id = row["ID"].as_str().unwrap();
        let runtimes = row["runtimes"].as_array().unwrap().iter();
        let runtimes: Vec<f64> = runtimes.map(|runtime| runtime.as_f64().unwrap()).collect();
        let bytes = if id.starts_with("tile:") {
            let scale = 1e12;
            let run = |runtime: &f64| (4.0, (runtime * scale).round(), scale);
            npz(&tile_file(
                number + 2,
                &runtimes.iter().map(run).collect::<Vec<_>>(),
            ))
        } else {
            let run = |runtime: &f64| ((0, 1), *runtime);
            npz(&layout_file(&runtimes.iter().map(run).collect::<Vec<_>>()))
        };
        let path = id.replace(':', "/");
        let (folder, name) = path.rsplit_once('/').unwrap();
        place.write(&format!("npz/{folder}/test/{name}.npz"), bytes);
    }
    place.ok(&["ingest", "-q", "npz"]);
    Some((place, expected))
}

#[test]
fn a_submission_gets_the_expected_score() {
    let Some((place, expected)) = submission_store() else {
        return;
    };
    let csv = shared()
        .unwrap()
        .join("golden/tpugraphs/submission_golden.csv");
    let csv = csv.to_str().unwrap();
    let scored = place.ok(&["score", "tpugraphs", csv]).stdout;
    let mut collections = 0;
    for line in scored.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let wanted = match cells[0] {
            "all" => &expected["final"],
            name => &expected["per_collection"][name],
        };
        let difference = number(cells[1]).unwrap() - wanted.as_f64().unwrap();
        assert!(difference.abs() < 1e-11, "{line}: {wanted}");
        collections += 1;
    }
    assert_eq!(collections, 6);
    let rows = place.ok(&["score", "tpugraphs", csv, "--rows"]).stdout;
    for (line, wanted) in rows
        .lines()
        .skip(1)
        .zip(expected["rows"].as_array().unwrap())
    {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!(cells[0], wanted["ID"]);
        let difference = number(cells[1]).unwrap() - wanted["row_score"].as_f64().unwrap();
        assert!(difference.abs() < 1e-11, "{line}");
    }

    // The same scores in SQL, and a submission that is written from the predictions.
    let text = std::fs::read_to_string(csv).unwrap();
    let mut predictions = "id,sample,score\n".to_owned();
    for line in text.lines().skip(1) {
        let (id, order) = line.split_once(',').unwrap();
        for (position, sample) in order.split(';').enumerate() {
            writeln!(predictions, "{id},{sample},{position}").unwrap();
        }
    }
    place.write("predictions.csv", predictions);
    let set = [
        "--set",
        "predictions=predictions.csv",
        "--set",
        "split=test",
    ];
    let stdout = place
        .ok(&[&["queries", "tpugraphs-score"], &set[..]].concat())
        .stdout;
    for (ours, theirs) in stdout.lines().skip(1).zip({
        let mut lines: Vec<&str> = scored.lines().skip(1).collect();
        lines.sort_unstable();
        lines
    }) {
        let (ours, theirs): (Vec<&str>, Vec<&str>) =
            (ours.split(',').collect(), theirs.split(',').collect());
        assert_eq!((ours[0], ours[2]), (theirs[0], theirs[2]));
        assert!((number(ours[1]).unwrap() - number(theirs[1]).unwrap()).abs() < 1e-12);
    }
    let export = [
        "export",
        "--format",
        "submission",
        "--predictions",
        "predictions.csv",
    ];
    let written = place.ok(&export).stdout;
    let mut wanted: Vec<&str> = text.lines().skip(1).collect();
    wanted.sort_unstable();
    assert_eq!(written.lines().skip(1).collect::<Vec<_>>(), wanted);
    assert!(written.starts_with("ID,TopConfigs\n"));
}

#[test]
fn unscorable_rows_are_reported_with_reasons() {
    let place = Place::new();
    place.write(
        "tile/xla/test/aa.npz",
        npz(&tile_file(2, &[(0.0, 0.0, 1.0)])),
    );
    place.write(
        "tile/xla/valid/bb.npz",
        npz(&tile_file(3, &[(1.0, 5.0, 5.0), (2.0, 6.0, 5.0)])),
    );
    let run = |runtime: u32| ((1, 0), f64::from(runtime + 1));
    let many: Vec<_> = (0..40_000).map(run).collect();
    place.write("layout/xla/random/valid/cc.npz", npz(&layout_file(&many)));
    place.ok(&["ingest", "-q", "tile", "layout"]);
    let all: Vec<String> = (0..40_000).map(|index: u32| index.to_string()).collect();
    let rows = [
        "ID,TopConfigs",
        "tile:xla:aa,0",
        "tile:xla:bb,1;0",
        "tile:xla:none,0",
        "tile:xla:bb,0",
        "tile:xla:dd,0;0",
        "tile:xla:ee,x",
        &format!("layout:xla:random:cc,{}", all.join(";")),
    ];
    place.write("s.csv", rows.join("\n"));
    let ran = place.tsql(&["score", "tpugraphs", "s.csv"]);
    assert_eq!(ran.code, Some(1));
    for reason in [
        "s.csv:2: tile:xla:aa: its runtimes are withheld",
        "s.csv:4: tile:xla:none: the store does not have this file",
        "s.csv:5: tile:xla:bb: the id occurs twice",
        "s.csv:6: tile:xla:dd: configuration 0 occurs twice",
        "s.csv:7: tile:xla:ee: `x` is not an index of a configuration",
        "5 of 7 rows without a score",
    ] {
        assert!(ran.stderr.contains(reason), "{reason}\n{}", ran.stderr);
    }
    assert!(
        ran.stdout.contains("layout:xla:random,1.0,1\n"),
        "{}",
        ran.stdout
    );
    place.write("s.csv", "a,b\n1,2\n");
    let ran = place.tsql(&["score", "tpugraphs", "s.csv"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("has `a`, `b`"), "{}", ran.stderr);
}

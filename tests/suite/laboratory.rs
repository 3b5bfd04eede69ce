//! One year of measurements: three machines, one with a wrong name and one with an invalid night, become a published
//! dataset. Every expected number is computed from the measured lines.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::engines::python;
use crate::publish::read_by_others;
use crate::support::Place;

/// Time of the first night in seconds.
const FIRST: u64 = 1_793_491_200;

/// Number of programs of each task.
const PROGRAMS: u32 = 12;

/// Measurement: platform, task, program, mean in ns.
type Measured = (String, u32, u32, f64);

/// Returns the lines of a night: the runtime of each program of three tasks is a base by its number, times `factor`.
fn night(night: u64, factor: f64) -> (String, Vec<(u32, u32, f64)>) {
    let (mut lines, mut measured) = (String::new(), Vec::new());
    for task in 0..3 {
        for program in 0..PROGRAMS {
            let ns = f64::from(1000 * (task + 1) + 40 * program) * factor;
            let repeats: Vec<f64> = (0..8).map(|place| ns + f64::from(place)).collect();
            let mean = repeats.iter().sum::<f64>() / 8.0;
            let line = json!({
                "workload_key": ["gemm", {"M": 64 << task}],
                "steps": {"TILE": program},
                "repeats_ns": repeats,
                "measured_at": FIRST + 86_400 * night + u64::from(task * PROGRAMS + program),
            });
            lines += &format!("{line}\n");
            measured.push((task, program, mean));
        }
    }
    (lines, measured)
}

fn on_platform(platform: &str, measured: &[(u32, u32, f64)]) -> Vec<Measured> {
    let all = measured.iter();
    all.map(|(task, program, ns)| (platform.to_owned(), *task, *program, *ns))
        .collect()
}

/// Returns the number of records and the sum of runtimes by platform.
fn totals(all: &[Measured]) -> BTreeMap<&str, (u64, f64)> {
    let mut sums: BTreeMap<&str, (u64, f64)> = BTreeMap::new();
    for (platform, _, _, ns) in all {
        let sum = sums.entry(platform).or_default();
        *sum = (sum.0 + 1, sum.1 + ns);
    }
    sums
}

/// Returns the result of a query as JSON.
fn query_json(place: &Place, args: &[&str]) -> Value {
    let ran = place.ok(&[args, &["--format", "json"]].concat());
    serde_json::from_str(&ran.stdout).unwrap()
}

fn assert_summed(place: &Place, store: &[&str], wanted: &[Measured]) {
    let sql = "SELECT platform, count(*) AS records, sum(runtime_ns) AS total FROM records GROUP BY platform ORDER BY platform";
    let found = query_json(place, &[store, &[sql]].concat());
    let found = found.as_array().unwrap();
    let wanted = totals(wanted);
    assert_eq!(found.len(), wanted.len(), "{found:?}");
    for (row, (platform, (records, total))) in found.iter().zip(wanted) {
        assert_eq!(row["platform"], platform);
        assert_eq!(row["records"], records, "{platform}");
        let off = row["total"].as_f64().unwrap() / total - 1.0;
        assert!(off.abs() < 1e-12, "{platform}: {row} is not {total}");
    }
}

/// Appends a night to a store, on a platform and as a stream.
fn append(place: &Place, [store, platform, stream]: [&str; 3], lines: &str) {
    let label = format!("night={}", stream.trim_start_matches("night-"));
    let args = [
        "--store",
        store,
        "append",
        "--input-format",
        "measured",
        "--platform",
        platform,
        "--stream",
        stream,
        "--label",
        &label,
    ];
    let ran = place.tsql_with_input(&args, lines.as_bytes());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

#[test]
#[ignore = "full tier"]
fn a_year_of_measurements_becomes_a_published_dataset() {
    let place = Place::new();
    let append = |store: &str, platform: &str, stream: &str, lines: &str| {
        append(&place, [store, platform, stream], lines);
    };
    // Three machines. One has the name of another GPU, and the fan of the third broke in night 7.
    let (lines, first) = night(1, 1.0);
    append("one", "k80", "night-1", &lines);
    let (lines, second) = night(2, 0.5);
    append("two", "t40", "night-2", &lines);
    let (lines, third) = night(3, 1.25);
    append("three", "k80", "night-3", &lines);
    let (broken_lines, broken) = night(7, 9.0);
    append("three", "k80", "night-7", &broken_lines);

    // The stores are merged, one of them twice by mistake.
    for from in ["one", "two", "three", "two"] {
        place.ok(&["copy", from, "all"]);
    }
    let all = ["--store", "all"];
    let mut wanted = [
        on_platform("k80", &first),
        on_platform("t40", &second),
        on_platform("k80", &third),
        on_platform("k80", &broken),
    ]
    .concat();
    assert_summed(&place, &all, &wanted);
    // Common graphs and programs are stored once.
    let counts = "SELECT (SELECT count(*) FROM graphs) AS graphs, (SELECT count(*) FROM configurations) AS configurations, (SELECT count(*) FROM files) AS files";
    let counts = query_json(&place, &[all.as_slice(), &[counts]].concat());
    assert_eq!(
        counts,
        json!([{"graphs": 3, "configurations": 3 * PROGRAMS, "files": 4}])
    );
    let in_all = |args: &[&str]| place.ok(&[all.as_slice(), args].concat());

    // Corrections.
    in_all(&[
        "correct",
        "--set",
        "platform=t4",
        "--where",
        "platform = 't40'",
        "--why",
        "there is no T40",
    ]);
    in_all(&[
        "retract",
        "--where",
        "source_id IN (SELECT source_id FROM labels WHERE key = 'night' AND value = '7')",
        "--why",
        "the fan was broken",
    ]);
    in_all(&[
        "note",
        "add",
        "the fan was replaced on the next day",
        "--platform",
        "k80",
    ]);
    wanted = [
        on_platform("k80", &first),
        on_platform("t4", &second),
        on_platform("k80", &third),
    ]
    .concat();
    assert_summed(&place, &all, &wanted);
    let notes = "SELECT n.note, count(DISTINCT r.source_id) AS sources FROM notes AS n JOIN records AS r ON r.platform = n.platform GROUP BY 1";
    let notes = query_json(&place, &[all.as_slice(), &[notes]].concat());
    assert_eq!(
        notes,
        json!([{"note": "the fan was replaced on the next day", "sources": 2}])
    );

    // A tag, and records after it.
    in_all(&[
        "tag",
        "create",
        "v1.0",
        "--note",
        "the dataset of the paper",
    ]);
    let (lines, fourth) = night(200, 1.25 * 1.1);
    append("all", "k80", "night-200", &lines);
    in_all(&["tag", "create", "v1.1"]);
    let later = [wanted.clone(), on_platform("k80", &fourth)].concat();
    assert_summed(&place, &["--store", "all", "--at", "v1.0"], &wanted);
    assert_summed(&place, &["--store", "all", "--at", "v1.1"], &later);
    let diff = query_json(&place, &["--store", "all", "diff", "v1.0", "v1.1"]);
    let added = |what: &str| {
        let rows = diff.as_array().unwrap().iter();
        let mut rows = rows.filter(|row| row["kind"] == what && row["platform"].is_null());
        rows.next().unwrap()["added"].clone()
    };
    assert_eq!(
        [added("records"), added("configurations"), added("sources")],
        [json!(3 * PROGRAMS), json!(0), json!(1)]
    );

    assert_slower(&place, &third, &fourth);
    assert_published(&place, &wanted);
    assert_nothing_is_lost(&place, &broken_lines, broken.len() as u64);
}

/// Asserts that the same programs on the same platform are a tenth slower.
fn assert_slower(place: &Place, third: &[(u32, u32, f64)], fourth: &[(u32, u32, f64)]) {
    let compared = query_json(
        place,
        &[
            "--store",
            "all",
            "compare",
            "label:night=3",
            "label:night=200",
            "--rule",
            "ranks",
        ],
    );
    let ratios = third
        .iter()
        .zip(fourth)
        .map(|(old, new)| (old.2 / new.2).ln());
    let mean = (ratios.sum::<f64>() / f64::from(3 * PROGRAMS)).exp();
    let summary = compared["all"]
        .as_object()
        .unwrap_or_else(|| panic!("{compared}"));
    assert_eq!(summary["pairs"], 3 * PROGRAMS);
    assert_eq!(summary["slower"], 3 * PROGRAMS);
    let found = summary["speedup"].as_f64().unwrap();
    // The estimate is the median of the ratios of all repeats, which differ slightly.
    assert!((found / mean - 1.0).abs() < 1e-6, "{found} is not {mean}");
    let gate = |allowed: &str| {
        let args = [
            "--store",
            "all",
            "compare",
            "label:night=3",
            "label:night=200",
            "--rule",
            "ranks",
            "--fail-on-regression",
            allowed,
        ];
        place.tsql(&args).code
    };
    assert_eq!([gate("5%"), gate("20%")], [Some(3), Some(0)]);
}

/// Publishes the tagged version, and reads it with other tools.
fn assert_published(place: &Place, wanted: &[Measured]) {
    let published = [
        "--store",
        "all",
        "--at",
        "v1.0",
        "publish",
        "out",
        "--title",
        "GEMM on two GPUs",
        "--license",
        "CC-BY-4.0",
        "--author",
        "A. Nyone",
        "--citation",
        "@misc{gemm}",
        "--url",
        "https://example.org",
    ];
    place.ok(&published);
    place.ok(&["verify", "out"]);
    if let Some(python) = python() {
        let (counts, report) = read_by_others(place, &python, &["--store", "all", "--at", "v1.0"]);
        assert_eq!(counts["records"], wanted.len() as u64);
        assert_eq!(counts["configurations"], u64::from(3 * PROGRAMS));
        assert!(!counts.contains_key("retracted"), "{counts:?}");
        let platforms: BTreeMap<&str, u64> = totals(wanted)
            .into_iter()
            .map(|(name, (rows, _))| (name, rows))
            .collect();
        assert_eq!(report["platforms"], json!(platforms));
    }
}

/// Asserts that retracted records are listed, and that every stream exports unchanged.
fn assert_nothing_is_lost(place: &Place, broken_lines: &str, count: u64) {
    let all = ["--store", "all"];
    let in_all = |args: &[&str]| place.ok(&[all.as_slice(), args].concat());
    in_all(&["check"]);
    in_all(&["export", "--to", "back"]);
    assert_eq!(
        place.read("back/streams/k80/night-7.jsonl"),
        broken_lines.as_bytes()
    );
    let retracted = query_json(
        place,
        &[
            all.as_slice(),
            &["SELECT why, record_count, retracted_count FROM retractions"],
        ]
        .concat(),
    );
    assert_eq!(
        retracted,
        json!([{"why": "the fan was broken", "record_count": count, "retracted_count": count}])
    );
    let kinds = query_json(
        place,
        &[
            all.as_slice(),
            &["SELECT kind, changes FROM corrections ORDER BY started_at"],
        ]
        .concat(),
    );
    assert_eq!(
        kinds,
        json!([{"kind": "correct", "changes": "platform=t4"}, {"kind": "retract", "changes": null}])
    );
}

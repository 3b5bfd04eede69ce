//! Corrected labels and retracted records: every result changes, and every file exports unchanged.
//!
//! `TSQL_TEST_KILLS=50` runs more kills.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::npz::{layout_file, npz, tile_file};
use crate::support::{Place, Ran, log, shared, wanted};

/// Built-in queries without required parameters, whose results do not depend on the ids of sources.
const QUERIES: [&str; 12] = [
    "platform-summary",
    "best-program-per-graph --set platform=k80",
    "best-sketch-per-graph --set platform=k80",
    "cross-platform-pairs --set platform_a=k80 --set platform_b=t4",
    "duplicate-programs",
    "failures-by-kind",
    "noisiest-records",
    "repeat-statistics",
    "speed-over-time --set platform=k80",
    "tenset-labels --set platform=k80",
    "top-k-per-graph --set platform=k80",
    "tpugraphs-collections",
];

/// Returns the query results of a store, without its history and the ids of its sources.
fn query_results(place: &Place) -> Vec<String> {
    let mut all = place.rows(
        "SELECT dataset, platform, collection, split, graph_id, min_ns, noise, runtime_ns, error_no, line FROM records \
         ORDER BY dataset, platform, graph_id, runtime_ns, error_no, line, min_ns, collection",
    );
    all.extend(place.rows(
        "SELECT platform, collection, split, count(*), sum(runtime_ns), min(runtime_ns), max(line) FROM records GROUP BY 1, 2, 3 ORDER BY 1, 2, 3",
    ));
    for query in QUERIES {
        let args: Vec<&str> = ["queries"].into_iter().chain(query.split(' ')).collect();
        let ran = place.tsql(&args);
        // The name of a label contains the version of the table, which may differ.
        let are_labels = query.starts_with("tenset-labels");
        let row = |line: &str| match line.splitn(3, ',').nth(2) {
            Some(values) if are_labels => values.to_owned(),
            _ => line.to_owned(),
        };
        let mut rows: Vec<String> = ran.stdout.lines().map(row).collect();
        rows.sort();
        all.push(format!("{query}: {:?}", ran.code));
        all.extend(rows);
    }
    all
}

fn assert_same(one: &Place, other: &Place) {
    let (one, other) = (query_results(one), query_results(other));
    let differ = one.iter().zip(&other).find(|(one, other)| one != other);
    assert_eq!(differ, None);
    assert_eq!(one.len(), other.len());
}

/// Asserts that the store is sound and exports these logs unchanged.
fn assert_exports(place: &Place, names: &[&str]) {
    place.assert_sound(&[]);
    for name in names {
        let (back, own) = (format!("back/{name}"), format!("logs/{name}"));
        assert_eq!(place.read(&back), place.read(&own), "{name}");
    }
}

fn assert_reports(ran: &Ran, code: i32, words: &str) {
    assert_eq!(ran.code, Some(code), "{}", ran.stderr);
    assert!(ran.stderr.contains(words), "{}", ran.stderr);
}

/// Returns logs of two machines, one with rejected lines, and TpuGraphs files.
fn inputs() -> Place {
    let place = Place::new();
    place.write("logs/k80/a.json", log(1, 40));
    place.write("logs/k80/b.json", log(30, 30) + "no record\n# a comment\n");
    place.write("logs/t4/c.json", log(10, 50));
    let runs = [((1, 0), 500.0), ((0, 1), 300.0), ((2, 0), 100.0)];
    place.write(
        "npz/layout/xla/random/train/net.npz",
        npz(&layout_file(&runs)),
    );
    let kernel = [(4.0, 80.0, 100.0), (8.0, 120.0, 100.0)];
    place.write(
        "npz/tile/xla/valid/net_-1f.npz",
        npz(&tile_file(2, &kernel)),
    );
    place
}

#[test]
#[ignore = "full tier"]
fn a_corrected_store_equals_one_ingested_correctly() {
    let (wrong, right) = (inputs(), inputs());
    for place in [&wrong, &right] {
        place.ok(&["ingest", "-q", "npz"]);
        place.ok(&["ingest", "-q", "logs/t4"]);
    }
    wrong.tsql(&["ingest", "-q", "logs/k80", "--platform", "k-80"]);
    right.tsql(&["ingest", "-q", "logs/k80"]);
    wrong.ok(&["optimize"]);
    assert_ne!(query_results(&wrong), query_results(&right));
    let before = wrong.rows("SELECT count(*) FROM records");
    let correct = |set: &str, predicate: &str| {
        wrong.ok(&[
            "correct",
            "--set",
            set,
            "--where",
            predicate,
            "--why",
            "typed wrong",
        ])
    };
    let dry = wrong.ok(&[
        "correct",
        "--set",
        "platform=k80",
        "--where",
        "platform = 'k-80'",
        "--why",
        "x",
        "--dry-run",
    ]);
    assert!(
        dry.stderr.contains("70 records of 2 sources would be"),
        "{}",
        dry.stderr
    );
    assert_eq!(
        wrong.rows("SELECT DISTINCT platform FROM records WHERE platform LIKE 'k%'"),
        ["k-80"]
    );
    let ran = correct("platform=k80", "platform = 'k-80'");
    assert!(
        ran.stderr.contains("70 records of 2 sources corrected"),
        "{}",
        ran.stderr
    );
    assert_same(&wrong, &right);
    let failed = query_results(&right)
        .into_iter()
        .find(|line| line.ends_with("Some(2)"));
    assert_eq!(failed, None);
    assert_eq!(wrong.rows("SELECT count(*) FROM records"), before);
    // The earlier version.
    let then = wrong.ok(&[
        "--at",
        "records@1",
        "SELECT DISTINCT platform FROM records ORDER BY 1",
    ]);
    assert!(!then.stdout.contains("k80"), "{}", then.stdout);
    // Files and lines are unchanged, also with another platform, and a grown file is extended.
    assert_exports(&wrong, &["k80/a.json", "k80/b.json", "t4/c.json"]);
    for platform in ["k-80", "k80"] {
        let stderr = wrong
            .ok(&["ingest", "logs/k80", "--platform", platform])
            .stderr;
        assert!(stderr.contains("2 already ingested"), "{stderr}");
    }
    assert_eq!(wrong.rows("SELECT count(*) FROM records"), before);
    let grown = log(1, 43);
    for place in [&wrong, &right] {
        place.write("logs/k80/a.json", &grown);
    }
    wrong.tsql(&["ingest", "-q", "logs/k80", "--platform", "k-80"]);
    right.tsql(&["ingest", "-q", "logs/k80"]);
    assert_same(&wrong, &right);
    assert_exports(&wrong, &["k80/a.json"]);
    // Collection and split are labels, too.
    correct("split=test", "split = 'train'");
    let splits =
        "SELECT split, count(*) FROM records WHERE dataset = 'tpugraphs' GROUP BY 1 ORDER BY 1";
    assert_eq!(wrong.rows(splits), ["test,3", "valid,2"]);
    assert_eq!(
        wrong.rows("SELECT kind, changes, record_count, source_count, why FROM corrections WHERE finished_at IS NOT NULL ORDER BY started_at"),
        ["correct,platform=k80,70,2,typed wrong", "correct,split=test,3,1,typed wrong"]
    );
    let history = wrong.ok(&["history"]).stdout;
    assert!(history.contains("correct: typed wrong"), "{history}");
}

#[test]
#[ignore = "full tier"]
fn retracted_records_are_in_no_result_but_in_exports() {
    let place = inputs();
    place.tsql(&["ingest", "-q", "logs", "npz"]);
    let all = query_results(&place);
    // A store without the retracted records.
    let without = inputs();
    std::fs::remove_file(without.path().join("logs/k80/b.json")).unwrap();
    std::fs::remove_dir_all(without.path().join("npz/tile")).unwrap();
    without.ok(&["ingest", "-q", "logs", "npz"]);
    let retract = |predicate: &str| {
        place.ok(&[
            "retract",
            "--where",
            predicate,
            "--why",
            "the fan was broken",
            "--author",
            "eva",
        ])
    };
    let stderr = retract("source LIKE '%/b.json' OR collection = 'tile:xla'").stderr;
    assert!(
        stderr.contains("32 records of 2 sources retracted"),
        "{stderr}"
    );
    assert_same(&place, &without);
    let retractions = "SELECT author, why, record_count, retracted_count FROM retractions";
    assert_eq!(place.rows(retractions), ["eva,the fan was broken,32,32"]);
    assert_eq!(
        place.rows("SELECT platform, count(*) FROM retracted GROUP BY 1 ORDER BY 1"),
        ["k80,30", "tpu-v3,2"]
    );
    let files = ["logs/k80/a.json", "logs/k80/b.json", "logs/t4/c.json"];
    place.assert_sound(&files);
    // Training ignores files without records.
    let batch = place.tsql(&["batch", "--help"]);
    assert_eq!(batch.code, Some(0));
    // Another ingest does not restore them. A grown file adds its new lines.
    let stderr = place.tsql(&["ingest", "logs", "npz"]).stderr;
    assert!(stderr.contains("records          0"), "{stderr}");
    assert_same(&place, &without);
    place.write(
        "logs/k80/b.json",
        log(30, 30) + "no record\n# a comment\n" + &log(90, 2),
    );
    place.tsql(&["ingest", "-q", "logs"]);
    assert_eq!(
        place.rows("SELECT count(*) FROM records WHERE platform = 'k80'"),
        ["42"]
    );
    place.assert_sound(&files);
    // A corrected label applies to retracted records, too.
    place.ok(&[
        "correct",
        "--set",
        "platform=k40",
        "--where",
        "source LIKE '%b.json'",
        "--why",
        "it was the other one",
    ]);
    assert_eq!(
        place.rows("SELECT DISTINCT platform FROM retracted WHERE dataset = 'tenset'"),
        ["k40"]
    );
    place.ok(&[
        "correct",
        "--set",
        "platform=k80",
        "--where",
        "platform = 'k40'",
        "--why",
        "it was not",
    ]);
    assert_eq!(
        place.rows("SELECT count(first_platform) FROM sources"),
        ["0"]
    );
    // All records restored.
    let id = place
        .rows("SELECT retraction_id FROM retractions")
        .remove(0);
    assert_reports(&place.tsql(&["restore", "nobody"]), 2, &id);
    let stderr = place.ok(&["restore", &id]).stderr;
    assert!(
        stderr.contains("32 records of 2 sources restored"),
        "{stderr}"
    );
    assert_eq!(place.rows("SELECT count(*) FROM retracted"), ["0"]);
    retract("source LIKE '%/b.json' AND line > 32");
    assert_eq!(query_results(&place), all);
    place.assert_sound(&files);
}

/// Commands, with words separated by bars, and their error messages.
const REJECTED: [(&str, &str); 14] = [
    (
        "retract|--where|line > 1000000|--why|x",
        "no row of records matches",
    ),
    ("retract|--where|true|--why|x", "--all"),
    ("retract|--where|line = 1", "--why"),
    ("retract|--where|nothing = 1|--why|x", "nothing"),
    ("retract|--why|x", "--where"),
    (
        "correct|--set|platform=a|--where|name = 'nobody'|--why|x",
        "no row of sources matches",
    ),
    ("correct|--set|platform=a|--where|true|--why|x", "--all"),
    (
        "correct|--set|runtime_ns=1|--where|line_count > 1|--why|x",
        "cannot be changed",
    ),
    (
        "correct|--set|colour=red|--where|line_count > 1|--why|x",
        "platform=NAME",
    ),
    (
        "correct|--set|platform=|--where|line_count > 1|--why|x",
        "empty",
    ),
    (
        "correct|--set|platform=none|--where|platform = 't4'|--why|x",
        "without records",
    ),
    (
        "correct|--set|split=a|--set|split=b|--where|platform = 't4'|--why|x",
        "different labels",
    ),
    ("restore|--all", "no row of retracted matches"),
    (
        "--at|records@1|retract|--where|line = 1|--why|x",
        "cannot use it",
    ),
];

#[test]
#[ignore = "full tier"]
fn invalid_corrections_are_reported_and_change_nothing() {
    let place = inputs();
    place.tsql(&["ingest", "-q", "logs", "npz"]);
    let all = query_results(&place);
    for (command, words) in REJECTED {
        let args: Vec<&str> = command.split('|').collect();
        assert_reports(&place.tsql(&args), 2, words);
    }
    assert_eq!(query_results(&place), all);
    assert_eq!(place.rows("SELECT count(*) FROM corrections"), ["0"]);
    // All records, with an explicit option.
    place.ok(&["retract", "--all", "--why", "a new beginning"]);
    assert_eq!(place.rows("SELECT count(*) FROM records"), ["0"]);
    place.assert_sound(&["logs/k80/a.json"]);
    place.ok(&["restore", "--all"]);
    assert_eq!(query_results(&place), all);
}

/// Returns a store with ingested logs of two platforms.
fn logs() -> Place {
    let place = Place::new();
    for file in 0..4 {
        place.write(&format!("logs/k80/{file}.json"), log(1 + 700 * file, 700));
    }
    place.write("logs/t4/x.json", log(1, 500));
    place.ok(&["ingest", "-q", "logs"]);
    place
}

const LOGS: [&str; 3] = ["logs/k80/0.json", "logs/k80/2.json", "logs/t4/x.json"];

const WHERE: &str = "platform = 'k80' AND line % 3 = 1";

/// Returns the records by platform, and the retracted ones.
fn record_counts(place: &Place) -> [Vec<String>; 2] {
    [
        "SELECT platform, count(*), sum(runtime_ns), count(DISTINCT (source_id, line)) FROM records GROUP BY 1 ORDER BY 1",
        "SELECT count(*) FROM retracted",
    ]
    .map(|sql| place.rows(sql))
}

/// Kills a correction after this time. Returns whether it was still running.
fn kill(place: &Place, act: &[&str], after: Duration) -> bool {
    let mut child = place
        .command(act)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(after);
    let is_at_work = child.try_wait().unwrap().is_none();
    let _ = child.kill();
    child.wait().unwrap();
    is_at_work
}

/// Corrections are killed at random moments and run again.
#[test]
#[ignore = "full tier"]
fn killed_corrections_complete_when_rerun() {
    let retract = ["retract", "--where", WHERE, "--why", "x"];
    let correct = [
        "correct",
        "--set",
        "platform=k81",
        "--where",
        "name LIKE '%/1.json' OR platform = 't4'",
        "--why",
        "x",
    ];
    let restore = ["restore", "--where", "source LIKE '%2.json'"];
    let kills = u32::try_from(wanted("TSQL_TEST_KILLS", 2)).unwrap();
    for (first, act) in [
        (None, &correct[..]),
        (None, &retract),
        (Some(retract), &restore),
    ] {
        let prepared = || {
            let place = logs();
            if let Some(first) = &first {
                place.ok(first);
            }
            place
        };
        let whole = prepared();
        let before = record_counts(&whole);
        let started = Instant::now();
        whole.ok(act);
        let takes = started.elapsed();
        let done = record_counts(&whole);
        let mut interrupted = 0;
        for number in 0..kills {
            let place = prepared();
            let after = takes * (number * 97 % (kills * 2) + 1) / (kills * 2);
            interrupted += u32::from(kill(&place, act, after.max(Duration::from_millis(20))));
            // Each result is the one before or after the correction, and files export unchanged in between.
            let now = record_counts(&place);
            assert!(now[0] == before[0] || now[0] == done[0], "{act:?}: {now:?}");
            place.ok(&["export", "--to", "back"]);
            for file in LOGS {
                assert_eq!(
                    place.read(&format!("back/{file}")),
                    place.read(file),
                    "{file}"
                );
            }
            let unfinished =
                place.rows("SELECT count(*) FROM corrections WHERE finished_at IS NULL");
            if unfinished == ["1"] {
                let other = place.tsql(&["retract", "--where", "line = 7", "--why", "y"]);
                assert_reports(
                    &other,
                    2,
                    "another correction is running or was interrupted",
                );
                assert_eq!(place.tsql(&["check"]).code, Some(1));
            }
            if unfinished == ["1"] || now[0] == before[0] {
                place.ok(act);
            }
            assert_eq!(record_counts(&place), done, "{act:?}");
            place.assert_sound(&LOGS);
        }
        assert!(interrupted > 0, "{act:?}: none was killed at work");
    }
}

/// Tags and copies during corrections have every row exactly once.
#[test]
#[ignore = "full tier"]
fn tags_and_copies_during_corrections_lose_nothing() {
    let place = logs();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..4 {
                place.ok(&["retract", "--where", WHERE, "--why", "x"]);
                place.ok(&["restore", "--all"]);
            }
            done.store(true, std::sync::atomic::Ordering::Relaxed);
        });
        for number in 0.. {
            place.ok(&["tag", "create", &format!("t{number}")]);
            place.ok(&["copy", ".tsql", &format!("copy{number}")]);
            if done.load(std::sync::atomic::Ordering::Relaxed) {
                break;
            }
        }
    });
    let tags = place.rows("SELECT name FROM tags ORDER BY name");
    assert!(tags.len() > 2, "{tags:?}");
    for (number, tag) in tags.iter().enumerate() {
        let back = format!("back{number}");
        place.ok(&["--at", tag, "export", "--to", &back]);
        for file in LOGS {
            assert_eq!(
                place.read(&format!("{back}/{file}")),
                place.read(file),
                "{tag}"
            );
        }
        let back = format!("{back}-copy");
        place.ok(&["--store", &format!("copy{number}"), "export", "--to", &back]);
        for file in LOGS {
            assert_eq!(
                place.read(&format!("{back}/{file}")),
                place.read(file),
                "copy{number}"
            );
        }
    }
}

/// A correction during appends: both commit, or one reports a conflict.
#[test]
#[ignore = "full tier"]
fn a_correction_during_appends_loses_nothing() {
    let place = inputs();
    place.tsql(&["ingest", "-q", "logs", "npz"]);
    let append = |lines: u32| {
        let args = [
            "append",
            "--stream",
            "night",
            "--platform",
            "k-80",
            "--every",
            "100ms",
        ];
        let mut command = place.command(&args);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        let writer = std::thread::spawn(move || {
            use std::io::Write as _;
            // Lines of a file with the right platform would count twice, so the stream has others.
            for line in log(1000, lines).lines() {
                if writeln!(input, "{line}").is_err() {
                    break;
                }
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        (child, writer)
    };
    let (mut child, writer) = append(150);
    std::thread::sleep(Duration::from_millis(700));
    let mut corrected = 0;
    for _ in 0..20 {
        let ran = place.tsql(&[
            "correct",
            "--set",
            "platform=k80",
            "--where",
            "platform = 'k-80'",
            "--why",
            "x",
        ]);
        corrected += u32::from(ran.code == Some(0));
        if corrected > 0 {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(corrected > 0);
    child.wait().unwrap();
    writer.join().unwrap();
    // A resent stream adds the missing lines, with or without a conflict.
    let (mut child, writer) = append(150);
    assert!(child.wait().unwrap().success());
    writer.join().unwrap();
    assert_eq!(
        place.rows("SELECT platform, count(*), count(DISTINCT line) FROM records WHERE source_id IN (SELECT source_id FROM files WHERE name LIKE 'streams/%') GROUP BY 1"),
        ["k80,150,150"]
    );
    place.ok(&["check"]);
}

/// Real files export byte for byte after retractions.
#[test]
#[ignore = "full tier"]
fn real_files_export_unchanged_after_retractions() {
    let Some(shared) = shared() else { return };
    let place = Place::new();
    let data = shared.join("data");
    for folder in ["tenset", "tpugraphs", "graphnet", "autotvm", "metaschedule"] {
        let folder = data.join(folder);
        place.tsql(&["ingest", "-q", folder.to_str().unwrap(), "--platform", "p"]);
    }
    place.ok(&["check"]);
    let records = place.rows("SELECT count(*) FROM records");
    let runs = place.rows("SELECT count(*) FROM runs");
    place.ok(&[
        "retract",
        "--where",
        "line % 2 = 1",
        "--why",
        "every second",
    ]);
    assert_ne!(place.rows("SELECT count(*) FROM runs"), runs);
    place.ok(&[
        "correct",
        "--set",
        "platform=q",
        "--where",
        "platform = 'p'",
        "--why",
        "x",
    ]);
    place.ok(&["check"]);
    place.ok(&["restore", "--all"]);
    assert_eq!(place.rows("SELECT count(*) FROM records"), records);
    assert_eq!(place.rows("SELECT count(*) FROM runs"), runs);
    place.ok(&["check"]);
}

//! Copies between stores: common rows merge, and every file exports unchanged.
//!
//! `TSQL_TEST_KILLS=50` runs more kills.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::graphnet;
use crate::npz::{layout_file, members, npz, tile_file};
use crate::support::{Place, file_contents, log, shared, wanted};

const RECORDS: &str = "SELECT dataset, platform, split, count(*), sum(runtime_ns), count(DISTINCT (graph_id, config_id)) FROM records \
    GROUP BY 1, 2, 3 ORDER BY 1, 2, 3";

/// Content of every record without the ids of a store.
const RECORD_CONTENT: &str = "SELECT r.platform, r.graph_id, c.steps, r.runtime_ns, f.name, r.line FROM records AS r \
    JOIN configurations AS c ON c.config_id = r.config_id JOIN files AS f ON f.source_id = r.source_id \
    ORDER BY f.name, r.line";

/// Returns stores of three laboratories that share tasks, programs and a file.
fn laboratories() -> Place {
    let place = Place::new();
    place.write(
        "a/logs/k80/one.json",
        log(1, 60) + "# a comment\nno record\n",
    );
    place.write("a/logs/k80/both.json", log(200, 20));
    let runs = [((1, 0), 500.0), ((0, 1), 300.0), ((2, 0), 100.0)];
    place.write(
        "a/npz/layout/xla/random/train/net.npz",
        npz(&layout_file(&runs)),
    );
    place.write("b/logs/k80/both.json", log(200, 20));
    place.write("b/logs/t4/two.json", log(30, 60));
    place.write("b/logs/t4/two-again.json", log(30, 60));
    let kernel = [(4.0, 80.0, 100.0), (8.0, 120.0, 100.0)];
    place.write(
        "b/npz/tile/xla/valid/net_-1f.npz",
        npz(&tile_file(2, &kernel)),
    );
    // The same name with other content.
    place.write("c/logs/k80/one.json", log(900, 15));
    let default = [((1, 0), 505.0), ((0, 0), 90.0)];
    place.write(
        "c/npz/layout/xla/default/train/net.npz",
        npz(&layout_file(&default)),
    );
    for laboratory in ["a", "b", "c"] {
        let (folder, store) = (place.path().join(laboratory), format!("{laboratory}.store"));
        let mut command = place.command(&[
            "ingest",
            "-q",
            "logs",
            "npz",
            "--store",
            &format!("../{store}"),
        ]);
        let ran = command.current_dir(folder).status().unwrap();
        assert!(ran.code().is_some_and(|code| code < 2));
    }
    place
}

fn rows_of(place: &Place, store: &str, sql: &str) -> Vec<String> {
    let stdout = place.ok(&["--store", store, sql]).stdout;
    stdout.lines().skip(1).map(str::to_owned).collect()
}

fn assert_sound(place: &Place, store: &str) {
    place.ok(&["--store", store, "check"]);
}

fn exported_file(place: &Place, store: &str, name: &str) -> Vec<u8> {
    let to = format!("back/{store}");
    let _ = std::fs::remove_dir_all(place.path().join(&to));
    place.ok(&["--store", store, "export", "--to", &to]);
    place.read(&format!("{to}/{name}"))
}

#[test]
#[ignore = "full tier"]
fn three_stores_merge_into_one() {
    let place = laboratories();
    let stderr = place.ok(&["copy", "a.store", "all"]).stderr;
    assert!(stderr.contains("created the store all"), "{stderr}");
    assert!(
        stderr.contains("3 sources new, 0 grown, 0 other names, 0 unchanged"),
        "{stderr}"
    );
    assert_eq!(
        rows_of(&place, "all", RECORD_CONTENT),
        rows_of(&place, "a.store", RECORD_CONTENT)
    );
    let stderr = place.ok(&["copy", "b.store", "all"]).stderr;
    assert!(
        stderr.contains("2 sources new, 0 grown, 1 other names, 1 unchanged"),
        "{stderr}"
    );
    let stderr = place.ok(&["copy", "c.store", "all"]).stderr;
    assert!(
        stderr.contains("logs/k80/one.json is named logs/k80/one~2.json in the target"),
        "{stderr}"
    );
    assert_sound(&place, "all");
    // The result equals one store with all files ingested.
    let once = Place::new();
    for (folder, name) in [
        ("a", "k80/one.json"),
        ("a", "k80/both.json"),
        ("b", "t4/two.json"),
        ("c", "k80/one.json"),
    ] {
        let name = format!("logs/{name}");
        once.write(
            &format!("{folder}/{name}"),
            place.read(&format!("{folder}/{name}")),
        );
    }
    once.tsql(&["ingest", "-q", "a", "b", "c"]);
    let logs = |sql: &str| sql.replace("FROM records", "FROM records WHERE dataset = 'tenset'");
    assert_eq!(
        rows_of(&place, "all", &logs(RECORDS)),
        once.rows(&logs(RECORDS))
    );
    let counts = "SELECT (SELECT count(*) FROM configurations WHERE graph_id IN (SELECT graph_id FROM graphs WHERE dataset = 'tenset'))";
    assert_eq!(rows_of(&place, "all", counts), once.rows(counts));
    for (laboratory, name) in [
        ("a", "logs/k80/one.json"),
        ("a", "logs/k80/both.json"),
        ("b", "logs/t4/two.json"),
        ("b", "logs/t4/two-again.json"),
    ] {
        let back = exported_file(&place, "all", name);
        assert_eq!(back, place.read(&format!("{laboratory}/{name}")), "{name}");
    }
    assert_eq!(
        exported_file(&place, "all", "logs/k80/one~2.json"),
        place.read("c/logs/k80/one.json")
    );
    for name in [
        "a/npz/layout/xla/random/train/net.npz",
        "b/npz/tile/xla/valid/net_-1f.npz",
        "c/npz/layout/xla/default/train/net.npz",
    ] {
        let (_, own) = name.split_once('/').unwrap();
        assert!(
            members(&exported_file(&place, "all", own)) == members(&place.read(name)),
            "{name}"
        );
    }
    // Repeated copies and copies in the other direction add nothing.
    let versions = place.ok(&["--store", "all", "history"]).stdout;
    for from in ["a.store", "b.store", "c.store"] {
        let stderr = place.ok(&["copy", from, "all"]).stderr;
        assert!(
            stderr.contains("0 sources new, 0 grown, 0 other names"),
            "{stderr}"
        );
    }
    assert_eq!(place.ok(&["--store", "all", "history"]).stdout, versions);
    let stderr = place.ok(&["copy", "all", "a.store", "--dry-run"]).stderr;
    assert!(stderr.contains("3 unchanged"), "{stderr}");
    place.ok(&["copy", "all", "a.store"]);
    assert_eq!(
        rows_of(&place, "a.store", RECORDS),
        rows_of(&place, "all", RECORDS)
    );
    assert_sound(&place, "a.store");
}

#[test]
#[ignore = "full tier"]
fn grown_files_are_extended() {
    let place = Place::new();
    place.write("logs/k80/x.json", log(1, 30) + "# one\n");
    place.ok(&["ingest", "-q", "logs", "--label", "night=6"]);
    place.ok(&["copy", ".tsql", "other"]);
    place.write(
        "logs/k80/x.json",
        log(1, 30) + "# one\n" + &log(31, 10) + "# two\n",
    );
    place.ok(&["ingest", "-q", "logs", "--label", "night=7"]);
    let stderr = place.ok(&["copy", ".tsql", "other"]).stderr;
    assert!(stderr.contains("0 sources new, 1 grown"), "{stderr}");
    assert_eq!(
        exported_file(&place, "other", "logs/k80/x.json"),
        place.read("logs/k80/x.json")
    );
    assert_eq!(
        rows_of(&place, "other", "SELECT key, value FROM labels"),
        ["night,7"]
    );
    assert_sound(&place, "other");
    place.ok(&["copy", ".tsql", "third"]);
    assert_eq!(
        rows_of(
            &place,
            "third",
            "SELECT segment, labels FROM source_segments ORDER BY 1"
        ),
        ["0,night=6", "1,night=7"]
    );
    assert_sound(&place, "third");
    // The older store has no rows that the newer one lacks.
    place.ok(&["ingest", "-q", "logs", "--store", "fresh"]);
    let stderr = place.ok(&["copy", "fresh", "other"]).stderr;
    assert!(
        stderr.contains("0 sources new, 0 grown, 0 other names, 1 unchanged"),
        "{stderr}"
    );
    // A file that grows in the target store.
    place.write(
        "logs/k80/x.json",
        log(1, 30) + "# one\n" + &log(31, 10) + "# two\n" + &log(50, 5),
    );
    place.ok(&["ingest", "-q", "logs", "--store", "other"]);
    assert_eq!(
        rows_of(&place, "other", "SELECT count(*) FROM records"),
        ["45"]
    );
    assert_sound(&place, "other");
}

#[test]
#[ignore = "full tier"]
fn a_selection_copies_referenced_rows() {
    let place = laboratories();
    let stderr = place
        .ok(&["copy", "a.store", "part", "--where", "platform = 'k80'"])
        .stderr;
    assert!(stderr.contains("2 sources new"), "{stderr}");
    assert_eq!(
        rows_of(&place, "part", "SELECT DISTINCT dataset FROM graphs"),
        ["tenset"]
    );
    assert_sound(&place, "part");
    assert_eq!(
        exported_file(&place, "part", "logs/k80/one.json"),
        place.read("a/logs/k80/one.json")
    );
}

#[test]
#[ignore = "full tier"]
fn selected_lines_become_a_separate_file() {
    let place = laboratories();
    // A part of a document is not a valid document.
    let some = ["copy", "a.store", "some", "--where", "line % 2 = 1"];
    let ran = place.tsql(&some);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(
        ran.stderr
            .contains("logs/k80/one.json: 30 lines of it are stored as parts/logs/k80/one.json"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("it is one document"), "{}", ran.stderr);
    assert_eq!(
        rows_of(&place, "some", "SELECT count(*) FROM records"),
        ["40"]
    );
    assert_sound(&place, "some");
    let lines = String::from_utf8(place.read("a/logs/k80/both.json")).unwrap();
    let odd: String = lines
        .lines()
        .step_by(2)
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(
        exported_file(&place, "some", "parts/logs/k80/both.json"),
        odd.into_bytes()
    );
    let again = place.tsql(&some);
    assert!(again.stderr.contains("0 records"), "{}", again.stderr);
    assert_eq!(
        rows_of(&place, "some", "SELECT count(*) FROM records"),
        ["40"]
    );
    // A copy of the whole file would duplicate its lines.
    let ran = place.tsql(&["copy", "a.store", "some"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("would count twice"), "{}", ran.stderr);
    // Retracted lines do not count twice. Another file of the same name is copied completely.
    place.ok(&[
        "--store",
        "some",
        "retract",
        "--where",
        "source LIKE 'parts/%'",
        "--why",
        "all of it is to come",
    ]);
    place.ok(&["copy", "a.store", "some"]);
    assert_eq!(
        rows_of(&place, "some", "SELECT count(*) FROM records"),
        ["83"]
    );
    assert_sound(&place, "some");
    place.ok(&["copy", "c.store", "odd", "--where", "platform = 'k80'"]);
    place.ok(&[
        "copy",
        "a.store",
        "odd",
        "--where",
        "platform = 'k80' AND line <= 10",
    ]);
    assert_eq!(
        rows_of(&place, "odd", "SELECT count(*) FROM records"),
        ["35"]
    );
}

#[test]
fn uncopyable_selections_are_reported() {
    let place = laboratories();
    place.write("newer/tsql-store.toml", "format = 99\n");
    for (args, words) in [
        (
            vec!["copy", "a.store", "part", "--where", "platform = 'nobody'"],
            "no row of records matches",
        ),
        (
            vec!["copy", "a.store", "part", "--tag", "v9"],
            "no tag named",
        ),
        (vec!["copy", "a.store", "a.store"], "into itself"),
        (vec!["copy", "nobody", "part"], "not a tsql store"),
        (vec!["copy", "newer", "part"], "install a newer tsql"),
        (vec!["copy", "a.store", "newer"], "install a newer tsql"),
    ] {
        let ran = place.tsql(&args);
        assert_eq!(ran.code, Some(2), "{args:?}");
        assert!(ran.stderr.contains(words), "{args:?}: {}", ran.stderr);
    }
}

#[test]
#[ignore = "full tier"]
fn tags_corrections_and_retractions_are_copied() {
    let place = laboratories();
    let of_a = |args: &[&str]| {
        let args: Vec<&str> = ["--store", "a.store"].iter().chain(args).copied().collect();
        place.ok(&args)
    };
    of_a(&["tag", "create", "v1.0"]);
    of_a(&[
        "correct",
        "--set",
        "platform=k80-b",
        "--where",
        "source LIKE '%both.json'",
        "--why",
        "the other one",
    ]);
    of_a(&[
        "retract",
        "--where",
        "source LIKE '%one.json' AND line <= 10",
        "--why",
        "the fan",
    ]);
    of_a(&["note", "add", "the fan was broken", "--platform", "k80"]);
    place.ok(&["copy", "a.store", "now"]);
    place.ok(&["copy", "a.store", "then", "--tag", "v1.0"]);
    assert_eq!(
        rows_of(&place, "now", RECORDS),
        rows_of(&place, "a.store", RECORDS)
    );
    assert_eq!(
        rows_of(
            &place,
            "then",
            "SELECT platform, count(*) FROM records GROUP BY 1 ORDER BY 1"
        ),
        ["k80,80", "tpu-v3,3"]
    );
    let tables = [
        "SELECT correction_id, kind, why FROM corrections ORDER BY 1",
        "SELECT * FROM retractions",
        "SELECT note FROM notes",
    ];
    for sql in tables {
        assert_eq!(rows_of(&place, "now", sql), rows_of(&place, "a.store", sql));
    }
    for store in ["now", "then"] {
        assert_sound(&place, store);
        assert_eq!(
            exported_file(&place, store, "logs/k80/one.json"),
            place.read("a/logs/k80/one.json")
        );
    }
    // Records that are restored in the target and ingested again under the wrong name are known.
    place.ok(&["--store", "now", "restore", "--all"]);
    let mut command = place.command(&["--store", "../now", "ingest", "logs"]);
    command.current_dir(place.path().join("a"));
    let output = command.output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("records          0"));
    assert_eq!(
        rows_of(&place, "now", "SELECT count(*) FROM records"),
        ["83"]
    );
    assert_sound(&place, "now");
}

#[test]
#[ignore = "full tier"]
fn killed_copies_complete_when_rerun() {
    let place = Place::new();
    for file in 0..6 {
        place.write(
            &format!("a/k80/{file}.json"),
            log(1 + 400 * file, 800) + "no record\n",
        );
    }
    place.write("b/t4/x.json", log(1, 1500));
    place.tsql(&["ingest", "-q", "a", "--store", "a.store"]);
    place.tsql(&["ingest", "-q", "b", "--store", "b.store"]);
    let prepared = |to: &str| {
        place.ok(&["copy", "b.store", to]);
    };
    prepared("whole");
    let started = Instant::now();
    place.ok(&["copy", "a.store", "whole"]);
    let takes = started.elapsed();
    let whole = rows_of(&place, "whole", RECORDS);
    let kills = u32::try_from(wanted("TSQL_TEST_KILLS", 4)).unwrap();
    let mut interrupted = 0;
    for kill in 0..kills {
        let to = format!("to{kill}");
        prepared(&to);
        let mut child = place
            .command(&["copy", "a.store", &to])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let after = takes * (kill * 97 % (kills * 2) + 1) / (kills * 2);
        std::thread::sleep(after.max(Duration::from_millis(20)));
        interrupted += u32::from(child.try_wait().unwrap().is_none());
        let _ = child.kill();
        child.wait().unwrap();
        place.ok(&["copy", "a.store", &to]);
        assert_eq!(rows_of(&place, &to, RECORDS), whole);
        assert_sound(&place, &to);
        let name = "a/k80/3.json";
        assert_eq!(exported_file(&place, &to, name), place.read(name));
        std::fs::remove_dir_all(place.path().join(&to)).unwrap();
    }
    assert!(interrupted > 0, "none was killed at work");
}

/// Rows of a copy that was killed before its commit to the ingest log are replaced.
#[test]
#[ignore = "full tier"]
fn leftovers_of_a_killed_copy_are_replaced() {
    let place = Place::new();
    place.write("logs/k80/x.json", log(1, 30) + "# one\nno record\n");
    place.tsql(&["ingest", "-q", "logs"]);
    place.ok(&["copy", ".tsql", "other"]);
    let whole = rows_of(&place, "other", RECORDS);
    std::fs::remove_dir_all(place.path().join("other/sources")).unwrap();
    let stderr = place.ok(&["copy", ".tsql", "other"]).stderr;
    assert!(stderr.contains("1 source new"), "{stderr}");
    assert_eq!(rows_of(&place, "other", RECORDS), whole);
    assert_eq!(
        rows_of(&place, "other", "SELECT count(*) FROM lines"),
        ["2"]
    );
    assert_sound(&place, "other");
}

/// Real files are copied into a store with other files, and into an empty one.
#[test]
#[ignore = "full tier"]
fn copies_export_real_files_unchanged() {
    let Some(shared) = shared() else { return };
    let place = Place::new();
    let data = shared.join("data");
    let ingest = |store: &str, folder: &Path| {
        let folder = folder.to_str().unwrap();
        let ran = place.tsql(&["ingest", "-q", folder, "--store", store]);
        assert!(ran.code.is_some_and(|code| code < 2), "{}", ran.stderr);
    };
    // Two stores that share node types, tasks and programs, numbered differently.
    ingest("one", &graphnet::own());
    ingest("one", &data.join("tenset/x86"));
    ingest("two", &data.join("tenset"));
    ingest("two", &data.join("tpugraphs"));
    ingest("two", &data.join("graphnet"));
    ingest("one", &data.join("tpugraphs"));
    place.tsql(&["copy", "two", "one"]);
    assert_sound(&place, "one");
    place.tsql(&["copy", "one", "fresh"]);
    assert_sound(&place, "fresh");
    for sql in [
        RECORDS,
        "SELECT count(*), sum(node_count) FROM graphs",
        "SELECT op, count(*) FROM nodes GROUP BY 1 ORDER BY 1",
        "SELECT count(*) FROM configurations",
        "SELECT count(*) FROM files",
    ] {
        assert_eq!(
            rows_of(&place, "fresh", sql),
            rows_of(&place, "one", sql),
            "{sql}"
        );
    }
    let ran = place.tsql(&["copy", "fresh", "two"]);
    assert!(ran.stderr.contains(" new, 0 grown"), "{}", ran.stderr);
    assert_sound(&place, "two");
    for store in ["one", "two", "fresh"] {
        let to = format!("back/{store}");
        let stderr = place.ok(&["--store", store, "export", "--to", &to]).stderr;
        assert!(stderr.contains(" 0 differ"), "{stderr}");
    }
    for (name, bytes) in file_contents(&data.join("tenset")) {
        let back = place.path().join("back/fresh/tenset").join(&name);
        if let Ok(back) = std::fs::read(&back) {
            assert_eq!(back, bytes, "{name}");
        }
    }
}

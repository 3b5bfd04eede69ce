//! Invalid input is reported with path, line and reason, is stored, and does not affect other input.

use crate::support::{Place, line, log, result_line};

#[test]
#[ignore = "full tier"]
fn every_bad_line_is_rejected_with_its_reason_and_stored() {
    let place = Place::new();
    let good = line(1, "0.5");
    let nested = good
        .replace("[\"CI\"", "")
        .replace("[64, 64]", "")
        .replace("[[\"SP\"", &format!("[{}[\"SP\"", "[".repeat(1_000_000)));
    let bad: [(Vec<u8>, &str); 8] = [
        (b"{}".to_vec(), "a string expected"),
        (
            good.as_bytes()[..90].to_vec(),
            "the line ends inside of the transform steps",
        ),
        (b"{\"i\": \xff\xff}".to_vec(), "invalid UTF-8 at byte 7"),
        (
            result_line(2, "[1e999], 0, 1, 1").into_bytes(),
            "cost `1e999` is out of range",
        ),
        (
            result_line(2, "[1], 70000, 1, 1").into_bytes(),
            "error_no `70000` is out of range",
        ),
        (
            result_line(2, "[-1], 0, 1, 1").into_bytes(),
            "a cost is negative",
        ),
        (nested.into_bytes(), "nested deeper"),
        (good.replace("\"v\"", "\"w\"").into_bytes(), "unknown key"),
    ];
    let mut text = Vec::new();
    for (line, _) in &bad {
        text.extend_from_slice(line);
        text.extend_from_slice(format!("\n{good}\n").as_bytes());
    }
    place.write("p/a.json", &text);
    let ran = place.tsql(&["ingest", "p/a.json", "--platform", "p"]);
    assert_eq!(ran.code, Some(1));
    for (index, (_, reason)) in bad.iter().enumerate() {
        let wanted = format!("p/a.json:{}: ", index * 2 + 1);
        let reported = ran.stderr.lines().find(|line| line.starts_with(&wanted));
        assert!(
            reported.is_some_and(|line| line.contains(reason)),
            "{wanted}{reason}: {}",
            ran.stderr
        );
    }
    assert_eq!(
        place.rows("SELECT count(*), count(DISTINCT line) FROM records"),
        ["8,8"]
    );
    assert_eq!(place.rows("SELECT count(*) FROM rejects"), ["8"]);
    place.ok(&["check"]);
    place.ok(&["export", "--to", "back"]);
    assert_eq!(place.read("back/a.json"), text);
}

#[test]
fn a_line_of_forty_megabytes_is_rejected_and_exported() {
    let place = Place::new();
    let text = format!("{}{{{}\n{}", log(1, 2), "x".repeat(40 << 20), log(3, 2));
    place.write("p/a.json", &text);
    let ran = place.tsql(&["ingest", "p/a.json", "--platform", "p"]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr.contains("p/a.json:3: longer than 16 MiB"),
        "{}",
        ran.stderr
    );
    assert_eq!(
        place.rows("SELECT line FROM records ORDER BY line"),
        ["1", "2", "4", "5"]
    );
    place.ok(&["export", "--to", "back"]);
    assert!(place.read("back/a.json") == text.as_bytes());
}

#[test]
fn strict_stops_at_the_first_bad_line_and_stores_nothing_of_its_file() {
    let place = Place::new();
    place.write("p/a.json", format!("{}oops\n{}", log(1, 2), log(3, 2)));
    let ran = place.tsql(&["ingest", "p/a.json", "--platform", "p", "--strict"]);
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stderr.starts_with("error: p/a.json:3: "),
        "{}",
        ran.stderr
    );
    assert!(!place.path().join(".tsql").exists());
}

#[test]
#[ignore = "full tier"]
fn unknown_steps_are_stored_like_known_ones() {
    let place = Place::new();
    let strange = line(1, "0.5").replace(
        "[\"FU\", 1, [0, 1]]",
        "[\"SPC\", 1, [2, \"a?b\"], 1.5, null]",
    );
    place.write("p/a.json", format!("{strange}\n"));
    place.ok(&["ingest", "p"]);
    let steps = place.rows("SELECT steps FROM configurations");
    assert!(steps[0].contains("SPC"), "{steps:?}");
    place.assert_sound(&["p/a.json"]);
}

#[test]
fn names_never_leave_the_export_folder() {
    let place = Place::new();
    place.write("in/p/a.json", log(1, 1));
    std::fs::create_dir_all(place.path().join("in/q")).unwrap();
    let ran = place
        .command(&[
            "ingest",
            "../p/a.json",
            "--platform",
            "p",
            "--store",
            "../../s",
        ])
        .current_dir(place.path().join("in/q"))
        .output()
        .unwrap();
    assert!(ran.status.success());
    place.ok(&["export", "--to", "deep/back", "--store", "s"]);
    assert_eq!(place.read("deep/back/a.json"), log(1, 1).as_bytes());
}

#[test]
fn invalid_stores_are_reported_and_not_changed() {
    let place = Place::new();
    place.write("folder/file", "x");
    place.write("p/a.json", log(1, 1));
    for (args, reason) in [
        (
            vec!["check", "--store", "nowhere"],
            "`nowhere` is not a tsql store",
        ),
        (
            vec!["ingest", "p", "--store", "folder"],
            "`folder` is not empty",
        ),
        (vec!["check"], "there is no store here"),
        (
            vec!["ingest", "missing.json"],
            "missing.json: no such file, directory or match",
        ),
        (
            vec!["SELECT 1", "--store", "ftp://host/x"],
            "stores on `ftp` are not supported",
        ),
    ] {
        let ran = place.tsql(&args);
        assert_eq!(ran.code, Some(2), "{args:?}");
        assert!(ran.stderr.contains(reason), "{args:?}: {}", ran.stderr);
        assert_eq!(ran.stdout, "");
    }
    assert_eq!(place.read("folder/file"), b"x");
}

#[test]
fn newer_stores_and_tables_are_not_touched() {
    let place = Place::new();
    place.write("p/a.json", log(1, 1));
    place.ok(&["ingest", "p"]);
    let first = place
        .path()
        .join(".tsql/records/_delta_log/00000000000000000000.json");
    let log_text = std::fs::read_to_string(&first).unwrap();
    let key = "\"tsql.schemaVersion\":\"";
    let (before, after) = log_text.split_once(key).unwrap();
    let (version, after) = after.split_once('"').unwrap();
    let newer = version.parse::<u32>().unwrap() + 1;
    std::fs::write(&first, format!("{before}{key}{newer}\"{after}")).unwrap();
    let ran = place.tsql(&["SELECT 1 FROM records"]);
    assert_eq!(ran.code, Some(2));
    let expected = format!("table records has version {newer}");
    assert!(ran.stderr.contains(&expected), "{}", ran.stderr);
    place.write(".tsql/tsql-store.toml", "format = 2\n");
    let ran = place.tsql(&["ingest", "p"]);
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stderr.contains("the store has version 2"),
        "{}",
        ran.stderr
    );
}

#[test]
#[ignore = "full tier"]
fn a_full_disk_does_not_change_the_store() {
    let place = Place::new();
    place.write("p/a.json", log(1, 5));
    place.ok(&["ingest", "p"]);
    place.write("q/b.json", log(1000, 20_000));
    let script = "ulimit -f 8; exec \"$0\" ingest q";
    let ran = std::process::Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_tsql")])
        .current_dir(place.path())
        .output()
        .unwrap();
    assert!(!ran.status.success(), "the limit did not hold");
    assert_eq!(place.rows("SELECT count(*) FROM records"), ["5"]);
    place.ok(&["check"]);
    place.ok(&["ingest", "q"]);
    assert_eq!(place.rows("SELECT count(*) FROM records"), ["20005"]);
    place.assert_sound(&["p/a.json", "q/b.json"]);
}

#[test]
fn unreadable_files_are_reported_and_others_ingested() {
    let place = Place::new();
    place.write("p/a.json", log(1, 2));
    std::os::unix::fs::symlink("nowhere", place.path().join("p/dangling.json")).unwrap();
    let ran = place.tsql(&["ingest", "p"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("dangling.json: "), "{}", ran.stderr);
    assert_eq!(place.rows("SELECT count(*) FROM records"), ["2"]);
}

/// A folder with an invalid platform name fails alone.
#[cfg(unix)]
#[test]
fn a_folder_with_a_bad_name_does_not_stop_the_others() {
    let place = Place::new();
    place.write("in/x\ny/a.json", log(0, 3));
    place.write("in/good/b.json", log(10, 4));
    let ran = place.tsql(&["ingest", "in"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    let expected = "a.json: the platform name `x\\ny` has control characters";
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    assert_eq!(ran.stderr.matches("a.json").count(), 1, "{}", ran.stderr);
    assert_eq!(place.rows("SELECT count(*) FROM records"), ["4"]);
}

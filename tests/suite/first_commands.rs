//! Mistakes of new users: each is an error that states the fact and a way out, and leaves nothing behind.

use crate::support::{Place, log};

/// A place with a store of three records in `.tsql`.
fn lab() -> Place {
    let place = Place::new();
    place.write("p/a.json", log(1, 3));
    place.ok(&["ingest", "-q", "p"]);
    place
}

/// Runs a command that fails with this code, and with all these parts in its error.
fn assert_fails(place: &Place, args: &[&str], code: i32, parts: &[&str]) {
    let ran = place.tsql(args);
    assert_eq!(ran.code, Some(code), "{args:?}: {}", ran.stderr);
    for part in parts {
        assert!(ran.stderr.contains(part), "{args:?}: {}", ran.stderr);
    }
}

#[test]
fn a_failed_first_command_leaves_no_store() {
    let place = Place::new();
    place.write("log.json", log(1, 3));
    place.write("odd/readme.txt", "no log\n");
    assert_fails(
        &place,
        &["ingest", "log.json"],
        2,
        &["its platform is unknown", "hint: set it with --platform"],
    );
    assert_fails(&place, &["ingest", "-"], 2, &[]);
    assert_fails(
        &place,
        &["ingest", "odd"],
        1,
        &[
            "found no file",
            "store            none: nothing was stored in .tsql",
        ],
    );
    let args = ["append", "--stream", "s", "--platform", "p", "--strict"];
    let ran = place.tsql_with_input(&args, b"oops\n");
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(!place.path().join(".tsql").exists());
    place.ok(&["ingest", "-q", "log.json", "--platform", "p"]);
    assert_fails(
        &place,
        &["copy", ".tsql", "other", "--where", "platform = 'nix'"],
        2,
        &["no row of records matches"],
    );
    assert!(!place.path().join("other").exists());
    // An empty folder stays an empty folder.
    std::fs::create_dir(place.path().join("empty")).unwrap();
    let args = ["--store", "empty", "ingest", "log.json"];
    assert_ne!(place.tsql(&args).code, Some(0));
    assert_eq!(
        std::fs::read_dir(place.path().join("empty"))
            .unwrap()
            .count(),
        0
    );
}

#[test]
fn a_new_store_is_reported_once_and_is_complete() {
    let place = Place::new();
    place.write("p/a.json", log(1, 3));
    let ran = place.ok(&["ingest", "p"]);
    assert_eq!(ran.stderr.matches("created the store .tsql").count(), 1);
    place.assert_sound(&["p/a.json"]);
    let ran = place.ok(&["ingest", "p"]);
    assert!(!ran.stderr.contains("created"), "{}", ran.stderr);
    // A copy of an empty store is an empty store.
    place.ok(&["--store", "none", "init"]);
    let ran = place.ok(&["copy", "none", "copied"]);
    assert!(ran.stderr.contains("created the store copied"));
    assert_eq!(place.ok(&["--store", "copied", "tables"]).code, Some(0));
}

#[test]
fn a_local_output_rejects_urls() {
    let place = lab();
    for args in [
        &["SELECT 1 AS a", "-o", "s3://bucket/x.csv"][..],
        &["tables", "-o", "s3://bucket/x.csv"],
        &["export", "files", "-o", "s3://bucket/x"],
        &["export", "lines", "-o", "s3://bucket/x.json"],
        &["report", "html", "-o", "s3://bucket/x.html"],
        &["plot", "SELECT 1 AS a, 2 AS b", "-o", "s3://bucket/x.svg"],
        &["man", "s3://bucket/x"],
    ] {
        let ran = place.tsql(args);
        assert_eq!(ran.code, Some(2), "{args:?}: {}", ran.stderr);
        assert!(
            ran.stderr
                .contains("is a URL, expected a local path\nhint: "),
            "{args:?}: {}",
            ran.stderr
        );
    }
    assert!(!place.path().join("s3:").exists());
}

#[test]
fn outputs_inside_a_store_are_rejected() {
    let place = lab();
    let names = || {
        let entries = std::fs::read_dir(place.path().join(".tsql")).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = names();
    for args in [
        &["publish", ".tsql/x"][..],
        &["COPY (SELECT 1 AS a) TO '.tsql/x.parquet'"],
        &["SELECT 1 AS a", "-o", ".tsql/x.csv"],
        &["queries", "-o", ".tsql/x.csv"],
        &["export", "files", "-o", ".tsql/x"],
        &["export", "databases", "-o", ".tsql/x"],
        &["export", "lines", "-o", ".tsql/x.json"],
        &[
            "export",
            "training",
            "--features",
            "workload_shape",
            "-o",
            ".tsql/x",
        ],
        &["plot", "SELECT 1 AS a, 2 AS b", "-o", ".tsql/x.svg"],
        &["report", "html", "-o", ".tsql/x.html"],
        &["man", ".tsql/x"],
    ] {
        let ran = place.tsql(args);
        assert!(
            ran.stderr.contains("it belongs to the store `"),
            "{args:?}: {}",
            ran.stderr
        );
        assert_ne!(ran.code, Some(0), "{args:?}");
    }
    assert_eq!(names(), before);
    // Beside a store, everything is possible.
    place.ok(&["SELECT 1 AS a", "-o", "x.csv"]);
}

#[test]
fn a_time_before_the_first_version_is_an_error() {
    let place = lab();
    assert_fails(
        &place,
        &["--at", "2001-01-01", "SELECT count(*) FROM records"],
        2,
        &[
            "the store has no version at 2001-01-01T00:00:00.000Z, the first is ",
            "@0 at 20",
            "hint: `tsql history`",
        ],
    );
    let first = "SELECT 1 FROM records WHERE false";
    place.ok(&["--at", "2999-01-01", first]);
    // An empty store had no rows at any time.
    place.ok(&["--store", "none", "init"]);
    place.ok(&["--store", "none", "--at", "2001-01-01", first]);
}

#[test]
fn a_log_in_from_is_recognized() {
    let place = Place::new();
    place.write("log.json", log(1, 3));
    for sql in ["SELECT * FROM 'log.json'", "DESCRIBE 'log.json'"] {
        assert_fails(
            &place,
            &[sql],
            2,
            &[
                "log.json: it is an auto_scheduler log, expected a table of rows\n\
                 hint: `tsql ingest ",
            ],
        );
    }
    place.write("rows.json", "{\"a\": 1}\n");
    place.ok(&["SELECT a FROM 'rows.json'"]);
}

#[test]
fn help_of_help_is_help() {
    let place = Place::new();
    let help = place.ok(&["help"]).stdout;
    assert!(help.contains("Get data in"), "{help}");
    for args in [&["help", "--help"][..], &["help", "-h"]] {
        assert_eq!(place.ok(args).stdout, help, "{args:?}");
    }
    let ingest = place.ok(&["help", "ingest"]).stdout;
    assert_eq!(place.ok(&["help", "ingest", "--help"]).stdout, ingest);
}

#[test]
fn help_is_at_most_100_columns_wide() {
    let place = Place::new();
    for command in [&["worker", "run"][..], &["ingest"], &["measure", "repeat"]] {
        let args = [command, &["--help"]].concat();
        let output = place.command(&args).env("COLUMNS", "300").output().unwrap();
        let help = String::from_utf8(output.stdout).unwrap();
        let width = help.lines().map(|line| line.chars().count()).max();
        assert!(width <= Some(100), "{command:?}: {width:?}");
    }
}

#[test]
fn rejected_numbers_name_the_expected_value() {
    let place = Place::new();
    for (args, expected) in [
        (
            &["--threads", "0", "SELECT 1"][..],
            "expected a whole number of at least 1",
        ),
        (&["note", "delete", "x"], "expected a whole number"),
        (&["ui", "--port", "99999999999999"], "99999999999999"),
    ] {
        assert_fails(&place, args, 2, &[expected]);
    }
}

#[test]
fn optimize_counts_files_in_a_dry_run() {
    let place = lab();
    let rows = "SELECT count(*) FROM records";
    let history = place.ok(&["history"]).stdout;
    let ran = place.ok(&["optimize", "--dry-run"]);
    assert!(ran.stderr.contains(" would be rewritten"), "{}", ran.stderr);
    assert!(!ran.stderr.starts_with("0 files"), "{}", ran.stderr);
    assert_eq!(place.ok(&["history"]).stdout, history);
    place.ok(&["optimize"]);
    let ran = place.ok(&["optimize", "--dry-run"]);
    assert!(ran.stderr.starts_with("0 files"), "{}", ran.stderr);
    assert_eq!(place.rows(rows), ["3"]);
}

#[test]
fn scripts_delete_unlisted_files_without_confirmation() {
    let place = lab();
    place.write(
        ".tsql/graphs/part-0123456789abcdef0123456789abcde1.parquet",
        "",
    );
    let args = ["vacuum", "--force-unlisted"];
    let ran = place.ok(&[&args[..], &["--dry-run"]].concat());
    assert!(
        ran.stdout
            .contains("part-0123456789abcdef0123456789abcde1.parquet"),
        "{}",
        ran.stdout
    );
    let ran = place.ok(&[&args[..], &["--yes"]].concat());
    assert_eq!(ran.stderr, "1 file deleted\n");
    place.write(
        ".tsql/graphs/part-0123456789abcdef0123456789abcde2.parquet",
        "",
    );
    assert_eq!(place.ok(&args).stderr, "1 file deleted\n");
}

#[test]
fn correct_takes_labels_and_the_earlier_option() {
    let place = lab();
    let to = |option: &str, value: &str| {
        place.ok(&["correct", option, value, "--all", "--why", "wrong name"]);
        place.rows("SELECT DISTINCT platform FROM records")
    };
    assert_eq!(to("--label", "platform=q"), ["q"]);
    assert_eq!(to("--set", "platform=r"), ["r"]);
}

#[test]
fn tables_begin_with_the_important_ones() {
    let place = lab();
    let stdout = place.ok(&["tables", "--all"]).stdout;
    let names: Vec<&str> = stdout
        .lines()
        .skip(1)
        .filter_map(|line| line.split(',').next())
        .collect();
    assert_eq!(
        names[..5],
        [
            "records",
            "graphs",
            "configurations",
            "environments",
            "sources"
        ]
    );
    assert!(names[5..].is_sorted(), "{names:?}");
}

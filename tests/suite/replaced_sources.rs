//! Edited files that are ingested again: reports of records that count twice, and replacements of the earlier versions.
//!
//! `TSQL_TEST_KILLS=50` runs more kills.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::{Place, log, wanted};

const FILE: &str = "p/a.json";

/// Returns a store with a log of 40 records and another file.
fn ingested() -> Place {
    let place = Place::new();
    place.write(FILE, log(1, 40));
    place.write("p/other.json", log(900, 5));
    place.ok(&["ingest", "-q", "p"]);
    place
}

/// Returns the log with another runtime in line 3, and without its last 5 lines.
fn edited() -> String {
    let text = log(1, 40);
    let mut lines: Vec<String> = text
        .split_inclusive('\n')
        .take(35)
        .map(str::to_owned)
        .collect();
    lines[2] = lines[2].replace("\"r\": [[0.0", "\"r\": [[0.7");
    lines.concat()
}

fn counted(place: &Place) -> String {
    place.rows("SELECT count(*) FROM records").remove(0)
}

#[test]
#[ignore = "full tier"]
fn an_edited_log_is_reported_with_a_hint_and_replaced() {
    let place = ingested();
    place.write(FILE, edited());
    let stderr = place.ok(&["ingest", "p"]).stderr;
    let wanted = "p/a.json: 34 of its 35 records are also in the earlier version `p/a.json`, and count twice";
    assert!(stderr.contains(wanted), "{stderr}");
    assert!(
        stderr.contains("hint: the same command with --replace keeps the new version only"),
        "{stderr}"
    );
    assert_eq!(counted(&place), "80");
    let stderr = place.ok(&["ingest", "--replace", "p"]).stderr;
    assert!(
        stderr.contains("p/a.json: replaces p/a.json, of which 40 records were retracted"),
        "{stderr}"
    );
    assert_eq!(counted(&place), "40");
    assert_eq!(
        place.rows("SELECT count(*) FROM records WHERE runtime_ns > 6e8"),
        ["1"]
    );
    // A repetition changes nothing, and creates no correction.
    place.ok(&["ingest", "--replace", "-q", "p"]);
    assert_eq!(counted(&place), "40");
    assert_eq!(
        place.rows("SELECT kind, why, record_count FROM corrections"),
        ["retract,replaced by a newer version of the file,40"]
    );
    place.ok(&["check"]);
    // Both versions are exported, and the replacement can be undone.
    place.ok(&["export", "--to", "back"]);
    let back = place.rows("SELECT name FROM files WHERE name LIKE 'p/a%' ORDER BY name");
    let back: Vec<Vec<u8>> = back
        .iter()
        .map(|name| place.read(&format!("back/{name}")))
        .collect();
    assert!(back.contains(&log(1, 40).into_bytes()) && back.contains(&edited().into_bytes()));
    place.ok(&["restore", "--all"]);
    assert_eq!(counted(&place), "80");
}

#[test]
#[ignore = "full tier"]
fn replace_ingests_the_new_version_and_retracts_the_earlier_one() {
    let place = ingested();
    place.write(FILE, edited());
    let stderr = place.ok(&["ingest", "--replace", "p"]).stderr;
    assert!(
        stderr.contains("replaces p/a.json, of which 40 records were retracted"),
        "{stderr}"
    );
    assert!(!stderr.contains("count twice"), "{stderr}");
    assert_eq!(counted(&place), "40");
    // A replaced version that is ingested again would leave no counting version.
    place.write(FILE, log(1, 40));
    let ran = place.tsql(&["ingest", "--replace", "p"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(
        ran.stderr
            .contains("the file is stored as `p/a.json`, whose records were retracted"),
        "{}",
        ran.stderr
    );
    assert_eq!(counted(&place), "40");
    // A grown file is not edited. Neither is one without an earlier version.
    place.write("p/other.json", log(900, 9));
    place.write(FILE, edited());
    place.write("p/new.json", log(2000, 3));
    let stderr = place.ok(&["ingest", "--replace", "p"]).stderr;
    assert!(
        stderr.contains("1 grown") && !stderr.contains("replaces"),
        "{stderr}"
    );
    assert_eq!(counted(&place), "47");
    place.ok(&["check"]);
}

/// Names of directly named files contain no folder, so another file of the same name is no earlier version.
#[test]
fn another_file_of_the_same_name_is_not_replaced() {
    let place = Place::new();
    place.write("x/a.json", log(1, 10));
    place.write("y/a.json", log(1, 9) + &log(500, 1));
    place.ok(&["ingest", "-q", "--platform", "p", "x/a.json"]);
    let stderr = place
        .ok(&["ingest", "--replace", "--platform", "p", "y/a.json"])
        .stderr;
    assert!(
        stderr.contains("9 of its 10 records are also in the earlier version `a.json`"),
        "{stderr}"
    );
    assert!(
        stderr.contains("hint: `tsql retract --where \"source = 'a.json'\""),
        "{stderr}"
    );
    assert_eq!(counted(&place), "20");
}

#[test]
fn a_file_without_common_records_is_not_reported() {
    let place = ingested();
    place.write(FILE, log(5000, 40));
    let stderr = place.ok(&["ingest", "p"]).stderr;
    assert!(!stderr.contains("count twice"), "{stderr}");
    assert!(
        stderr.contains("the store has another source of this name"),
        "{stderr}"
    );
}

#[test]
fn a_correction_that_would_count_a_part_of_a_file_twice_is_rejected() {
    let place = Place::new();
    let all = log(1, 20);
    place.write("x86/all.json", &all);
    // Its beginning under another name, and an edited copy.
    place.write("x68/half.json", log(1, 10));
    let edited: Vec<&str> = all
        .lines()
        .filter(|line| *line != all.lines().nth(4).unwrap())
        .collect();
    place.write("x69/edited.json", edited.join("\n") + "\n");
    place.write("x70/other.json", log(700, 4));
    place.ok(&["ingest", "-q", "x86", "x68", "x69", "x70"]);
    let correct = |platform: &str| {
        let predicate = format!("platform = '{platform}'");
        place.tsql(&[
            "correct",
            "--set",
            "platform=x86",
            "--where",
            &predicate,
            "--why",
            "x",
        ])
    };
    for (platform, name, count) in [("x68", "half", 10), ("x69", "edited", 19)] {
        let ran = correct(platform);
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        let wanted = format!(
            "`{platform}/{name}.json` has {count} measurements in common with `x86/all.json`"
        );
        assert!(ran.stderr.contains(&wanted), "{}", ran.stderr);
    }
    assert_eq!(correct("x70").code, Some(0));
}

#[test]
#[ignore = "full tier"]
fn a_correction_that_would_count_a_file_twice_is_rejected() {
    let place = Place::new();
    // A grown file duplicates its beginning, too.
    for platform in ["x86", "x68", "x69"] {
        place.write(&format!("{platform}/a.json"), log(1, 12));
    }
    place.ok(&["ingest", "-q", "x86", "x68"]);
    place.write("x86/a.json", log(1, 20));
    place.write("x68/a.json", log(1, 20));
    place.write("x70/b.json", log(700, 4));
    place.ok(&["ingest", "-q", "x86", "x68", "x69", "x70"]);
    for platform in ["x68", "x69"] {
        let predicate = format!("platform = '{platform}'");
        let act = [
            "correct",
            "--set",
            "platform=x86",
            "--where",
            &predicate,
            "--why",
            "a typing error",
        ];
        for act in [
            act.to_vec(),
            act.iter().copied().chain(["--dry-run"]).collect(),
        ] {
            let ran = place.tsql(&act);
            assert_eq!(ran.code, Some(2), "{}", ran.stderr);
            let wanted = format!(
                "`{platform}/a.json` has the same records as `x86/a.json`: with `platform=x86` they would count twice"
            );
            assert!(ran.stderr.contains(&wanted), "{}", ran.stderr);
            let hint =
                format!("hint: `tsql retract --where \"source = '{platform}/a.json'\" --why ...`");
            assert!(ran.stderr.contains(&hint), "{}", ran.stderr);
        }
    }
    // One correction makes two sources equal.
    let both = place.tsql(&[
        "correct",
        "--set",
        "platform=x90",
        "--where",
        "platform IN ('x68', 'x69')",
        "--why",
        "x",
    ]);
    assert_eq!(both.code, Some(2), "{}", both.stderr);
    assert_eq!(place.rows("SELECT count(*) FROM corrections"), ["0"]);
    assert_eq!(
        place.rows("SELECT platform, count(*) FROM records GROUP BY 1 ORDER BY 1"),
        ["x68,20", "x69,12", "x70,4", "x86,20"]
    );
    place.ok(&[
        "correct",
        "--set",
        "platform=x86",
        "--where",
        "platform = 'x70'",
        "--why",
        "x",
    ]);
    // The command of the hint.
    place.ok(&[
        "retract",
        "--where",
        "source = 'x68/a.json'",
        "--why",
        "a typing error",
    ]);
    assert_eq!(
        place.rows("SELECT platform, count(*) FROM records GROUP BY 1 ORDER BY 1"),
        ["x69,12", "x86,24"]
    );
}

/// After a kill at any moment exactly one version counts, and the same command completes the replacement.
#[test]
#[ignore = "full tier"]
fn a_killed_replacement_shows_one_version_and_completes() {
    let act = ["ingest", "--replace", "-q", "p"];
    let prepared = || {
        let place = ingested();
        place.write(FILE, edited());
        place
    };
    // Records of the first version, of the second one, and of both.
    let state = "SELECT count(*) FILTER (WHERE runtime_ns > 6e8), count(*) FROM records";
    let (old, new) = (["0,45"], ["1,40"]);
    let whole = prepared();
    assert_eq!(whole.rows(state), old);
    let started = Instant::now();
    whole.ok(&act);
    let takes = started.elapsed();
    assert_eq!(whole.rows(state), new);
    let kills = u32::try_from(wanted("TSQL_TEST_KILLS", 4)).unwrap();
    let mut interrupted = 0;
    for number in 0..kills {
        let place = prepared();
        let after = takes * (number * 97 % (kills * 2) + kills) / (kills * 3);
        let mut child = place
            .command(&act)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(after.max(Duration::from_millis(20)));
        interrupted += u32::from(child.try_wait().unwrap().is_none());
        let _ = child.kill();
        child.wait().unwrap();
        let now = place.rows(state);
        assert!(now == old || now == new, "after {after:?}: {now:?}");
        place.ok(&act);
        assert_eq!(place.rows(state), new, "after {after:?}");
        assert_eq!(
            place.rows("SELECT count(*) FROM corrections WHERE finished_at IS NULL"),
            ["0"]
        );
        place.ok(&["check"]);
    }
    assert!(interrupted > 0, "none was killed at work");
}

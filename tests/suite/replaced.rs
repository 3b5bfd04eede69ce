//! Files that were edited and ingested again: reported where records count twice, and put in the place of their earlier
//! versions.
//!
//! `TSQL_TEST_KILLS=50` asks for more kills.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::{Place, log, wanted};

const FILE: &str = "p/a.json";

/// A log of 40 records, and beside it another file.
fn ingested() -> Place {
    let place = Place::new();
    place.write(FILE, log(1, 40));
    place.write("p/other.json", log(900, 5));
    place.ok(&["ingest", "-q", "p"]);
    place
}

/// The log with another runtime in line 3, and without its last 5 lines.
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
fn an_edited_log_is_reported_with_the_way_out_and_replaced() {
    let place = ingested();
    place.write(FILE, edited());
    let told = place.ok(&["ingest", "p"]).stderr;
    let wanted = "p/a.json: 34 of its 35 records are those of `p/a.json`, an earlier version, and count twice";
    assert!(told.contains(wanted), "{told}");
    assert!(
        told.contains("hint: the same command with --replace keeps the new version only"),
        "{told}"
    );
    assert_eq!(counted(&place), "80");
    let told = place.ok(&["ingest", "--replace", "p"]).stderr;
    assert!(
        told.contains("p/a.json: in the place of p/a.json, of which 40 records were retracted"),
        "{told}"
    );
    assert_eq!(counted(&place), "40");
    assert_eq!(
        place.rows("SELECT count(*) FROM records WHERE runtime_ns > 6e8"),
        ["1"]
    );
    // Once more changes nothing, and makes no correction.
    place.ok(&["ingest", "--replace", "-q", "p"]);
    assert_eq!(counted(&place), "40");
    assert_eq!(
        place.rows("SELECT kind, why, record_count FROM corrections"),
        ["retract,replaced by a newer version of the file,40"]
    );
    place.ok(&["check"]);
    // Both versions come back, and the replacement can be undone.
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
fn replace_brings_the_new_version_as_the_earlier_one_leaves() {
    let place = ingested();
    place.write(FILE, edited());
    let told = place.ok(&["ingest", "--replace", "p"]).stderr;
    assert!(
        told.contains("in the place of p/a.json, of which 40 records were retracted"),
        "{told}"
    );
    assert!(!told.contains("count twice"), "{told}");
    assert_eq!(counted(&place), "40");
    // A version that was replaced, given again, would leave none that counts.
    place.write(FILE, log(1, 40));
    let told = place.tsql(&["ingest", "--replace", "p"]);
    assert_eq!(told.code, Some(2), "{}", told.stderr);
    assert!(
        told.stderr
            .contains("the file is `p/a.json`, whose records were retracted"),
        "{}",
        told.stderr
    );
    assert_eq!(counted(&place), "40");
    // A file that has grown is no edited one; neither is one without an earlier version.
    place.write("p/other.json", log(900, 9));
    place.write(FILE, edited());
    place.write("p/new.json", log(2000, 3));
    let told = place.ok(&["ingest", "--replace", "p"]).stderr;
    assert!(
        told.contains("1 grown") && !told.contains("in the place of"),
        "{told}"
    );
    assert_eq!(counted(&place), "47");
    place.ok(&["check"]);
}

/// Files that are named themselves have no folder in their name: another file of the name is no earlier version.
#[test]
fn another_file_of_the_same_name_is_not_replaced() {
    let place = Place::new();
    place.write("x/a.json", log(1, 10));
    place.write("y/a.json", log(1, 9) + &log(500, 1));
    place.ok(&["ingest", "-q", "--platform", "p", "x/a.json"]);
    let told = place
        .ok(&["ingest", "--replace", "--platform", "p", "y/a.json"])
        .stderr;
    assert!(
        told.contains("9 of its 10 records are those of `a.json`"),
        "{told}"
    );
    assert!(
        told.contains("hint: `tsql retract --where \"source = 'a.json'\""),
        "{told}"
    );
    assert_eq!(counted(&place), "20");
}

#[test]
fn a_file_that_shares_nothing_with_the_one_of_its_name_is_not_reported() {
    let place = ingested();
    place.write(FILE, log(5000, 40));
    let told = place.ok(&["ingest", "p"]).stderr;
    assert!(!told.contains("count twice"), "{told}");
    assert!(
        told.contains("the store has another one of this name"),
        "{told}"
    );
}

#[test]
fn a_correction_that_would_count_a_file_twice_is_rejected() {
    let place = Place::new();
    // The beginning of a file is doubled, too, where the file has grown.
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
            let told = place.tsql(&act);
            assert_eq!(told.code, Some(2), "{}", told.stderr);
            let wanted = format!(
                "`{platform}/a.json` has the bytes of `x86/a.json`: with `platform=x86` its records would count twice"
            );
            assert!(told.stderr.contains(&wanted), "{}", told.stderr);
            let hint =
                format!("hint: `tsql retract --where \"source = '{platform}/a.json'\" --why ...`");
            assert!(told.stderr.contains(&hint), "{}", told.stderr);
        }
    }
    // Two that become one by the same correction.
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
    // The way out.
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

/// Whenever it is killed, the records of one version count, and the same command completes it.
#[test]
fn a_killed_replacement_is_one_version_and_completes() {
    let act = ["ingest", "--replace", "-q", "p"];
    let prepared = || {
        let place = ingested();
        place.write(FILE, edited());
        place
    };
    // How many of the first version, of the second, of both.
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
            place.rows("SELECT count(*) FROM corrections WHERE done_at IS NULL"),
            ["0"]
        );
        place.ok(&["check"]);
    }
    assert!(interrupted > 0, "none was killed at work");
}

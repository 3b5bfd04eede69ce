//! Tags: retention of tagged versions, and differences between versions.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use crate::support::{Place, line, log};

const ALL: &str = "SELECT platform, count(*), sum(runtime_ns), sum(line) FROM records GROUP BY platform ORDER BY platform";

/// Returns a store with two files of a platform with an unusual name.
fn store() -> Place {
    let place = Place::new();
    for file in 0..2 {
        let platform = place.write(
            &format!("logs/k80 (new)/{file}.json"),
            log(1 + 100 * file, 40),
        );
        assert!(platform.exists());
    }
    place.ok(&["ingest", "logs"]);
    place
}

/// Ingests more files, one commit each, until logs have checkpoints.
fn grow(place: &Place, from: u32) {
    for file in from..from + 12 {
        place.write(&format!("logs/t4/{file}.json"), log(1 + 100 * file, 3));
        place.ok(&["ingest", "-q", "logs"]);
    }
}

/// Makes all log entries of records older than the retention of logs.
fn age(place: &Place) {
    for entry in fs::read_dir(place.path().join(".tsql/records/_delta_log")).unwrap() {
        let old = SystemTime::now() - Duration::from_hours(24 * 60);
        let entry = fs::File::open(entry.unwrap().path()).unwrap();
        entry.set_modified(old).unwrap();
    }
}

/// Returns the log entries of records.
fn entries(place: &Place) -> Vec<PathBuf> {
    let log = fs::read_dir(place.path().join(".tsql/records/_delta_log")).unwrap();
    let mut entries: Vec<PathBuf> = log.map(|entry| entry.unwrap().path()).collect();
    entries.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "json")
    });
    entries.sort();
    entries
}

#[test]
#[ignore = "full tier"]
fn tagged_versions_are_retained() {
    let place = store();
    let then = place.rows(ALL);
    place.ok(&["tag", "create", "v1.0", "--note", "the paper's"]);
    place.ok(&["optimize", "--again"]);
    // Removals of long ago: the next checkpoint omits these files.
    let long_ago = 1_600_000_000_000_u64;
    let last = entries(&place).pop().unwrap();
    let entry = fs::read_to_string(&last).unwrap();
    assert!(entry.contains("\"deletionTimestamp\":"));
    let aged: Vec<String> = entry
        .split("\"deletionTimestamp\":")
        .enumerate()
        .map(|(place, part)| match place {
            0 => part.to_owned(),
            _ => format!(
                "{long_ago}{}",
                part.trim_start_matches(|c: char| c.is_ascii_digit())
            ),
        })
        .collect();
    fs::write(&last, aged.join("\"deletionTimestamp\":")).unwrap();
    // Entries older than the retention of logs.
    age(&place);
    grow(&place, 0);
    assert_ne!(place.rows(ALL), then);
    let vacuum = ["vacuum", "--retain", "0s", "--force-unlisted"];
    place.ok(&vacuum);
    let as_it_was = |name: &str| place.tsql(&["--at", name, ALL]);
    let rows: Vec<String> = as_it_was("v1.0")
        .stdout
        .lines()
        .skip(1)
        .map(str::to_owned)
        .collect();
    assert_eq!(rows, then);
    place.ok(&["--at", "v1.0", "export", "--to", "back"]);
    let file = "logs/k80 (new)/1.json";
    assert_eq!(place.read(&format!("back/{file}")), place.read(file));
    // The same versions under another name. A tag of a tag is created at the present time.
    place.ok(&["--at", "v1.0", "tag", "create", "night/7"]);
    let versions = |name: &str| place.ok(&["tag", "show", name]).stdout;
    assert_eq!(versions("night/7"), versions("v1.0"));
    let own_bytes = || -> Vec<u64> {
        let list = place.ok(&["tag", "list"]).stdout;
        let column = |line: &str| line.split(',').nth(3).unwrap().parse().unwrap();
        list.lines().skip(1).map(column).collect()
    };
    assert_eq!(own_bytes(), [0, 0], "each keeps what the other has");
    place.ok(&["tag", "delete", "night/7"]);
    let held = own_bytes();
    assert!(held[0] > 1000, "{held:?}");
    assert_eq!(
        place.rows("SELECT name, note FROM tags"),
        ["v1.0,the paper's"]
    );
    // Without the tag the files are deleted, and then the entries.
    age(&place);
    grow(&place, 20);
    let before = entries(&place);
    assert!(before.len() > 24, "a tag is there: {}", before.len());
    place.ok(&["tag", "delete", "v1.0"]);
    let deleted = place.ok(&vacuum).stderr;
    assert!(!deleted.starts_with("0 files"), "{deleted}");
    let ran = as_it_was("v1.0");
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("no tag named `v1.0`"), "{}", ran.stderr);
    grow(&place, 40);
    assert!(!entries(&place).contains(&before[0]));
    place.ok(&["check"]);
}

#[test]
fn a_tag_is_created_once() {
    let place = store();
    let children: Vec<_> = (0..4)
        .map(|_| {
            let mut command = place.command(&["tag", "create", "v1"]);
            command.stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    let mut created = 0;
    for child in children {
        let done = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&done.stderr);
        created += usize::from(done.status.success());
        assert!(
            done.status.success() || stderr.contains("the tag `v1` exists already"),
            "{stderr}"
        );
    }
    assert_eq!(created, 1);
    for (name, reason) in [
        ("2026-11-21", "has the form of a time"),
        ("a b", "is not a valid tag name"),
        ("v1", "exists already"),
    ] {
        let ran = place.tsql(&["tag", "create", name]);
        assert_eq!(ran.code, Some(2));
        assert!(ran.stderr.contains(reason), "{}", ran.stderr);
    }
    let unknown = place.tsql(&["--at", "v2", "SELECT 1 FROM records"]);
    assert!(
        unknown.stderr.contains("there are v1"),
        "{}",
        unknown.stderr
    );
    let unchangeable = place.tsql(&["--at", "v1", "tag", "delete", "v1"]);
    assert!(
        unchangeable.stderr.contains("leave out --at"),
        "{}",
        unchangeable.stderr
    );
    // Deleted versions cannot be tagged.
    place.ok(&["optimize", "--again"]);
    place.ok(&["tag", "delete", "v1"]);
    place.ok(&["vacuum", "--retain", "0s"]);
    let lost = place.tsql(&["--at", "records@1", "tag", "create", "late"]);
    assert_eq!(lost.code, Some(2), "{}", lost.stderr);
    assert!(lost.stderr.contains("tsql vacuum"), "{}", lost.stderr);
}

#[test]
#[ignore = "full tier"]
fn diff_reports_added_and_removed_rows() {
    let place = store();
    place.ok(&["tag", "create", "v1"]);
    let diff = |args: &[&str]| {
        let all: Vec<&str> = ["diff"].into_iter().chain(args.iter().copied()).collect();
        let rows = place.ok(&all).stdout;
        rows.lines()
            .skip(1)
            .map(str::to_owned)
            .collect::<Vec<String>>()
    };
    let nothing = [
        "platforms,,1,1,0,0",
        "graphs,,1,1,0,0",
        "configurations,,80,80,0,0",
        "records,,80,80,0,0",
        "sources,,2,2,0,0",
    ];
    assert_eq!(diff(&["v1"])[..5], nothing);
    // Other files with the same rows.
    place.ok(&["optimize", "--again"]);
    assert_eq!(diff(&["v1"])[..5], nothing);
    // A file grows by a known and a new program, and a platform is added.
    let grown = format!("{}{}\n{}\n", log(1, 40), line(1, "0.5"), line(7777, "0.5"));
    place.write("logs/k80 (new)/0.json", grown);
    place.write("logs/t4/x.json", log(1, 5));
    place.ok(&["ingest", "logs"]);
    place.ok(&["tag", "create", "v2"]);
    let wanted = [
        "platforms,,1,2,1,0",
        "graphs,,1,1,0,0",
        "configurations,,80,81,1,0",
        "records,,80,87,7,0",
        "records,k80 (new),80,82,2,0",
        "records,t4,0,5,5,0",
        "sources,,2,3,1,0",
        "sources,t4,0,1,1,0",
    ];
    let counts = |rows: Vec<String>| -> Vec<String> {
        let of = |row: &String| !row.starts_with("environments") && !row.starts_with("tags");
        rows.into_iter().filter(of).collect()
    };
    assert_eq!(counts(diff(&["v1", "v2"])), wanted);
    let back = counts(diff(&["v2", "v1"]));
    assert_eq!(
        back[4..6],
        ["records,k80 (new),82,80,0,2", "records,t4,5,0,0,5"]
    );
    assert_eq!(
        diff(&["v1", "v2", "--sources"]),
        [
            "tenset,k80 (new),logs/k80 (new)/0.json,40,42",
            "tenset,t4,logs/t4/x.json,,5"
        ]
    );
    let json = place.ok(&["diff", "v1", "v2", "--format", "json"]).stdout;
    assert!(
        json.contains(r#""kind":"records","platform":"t4","before":0,"after":5"#),
        "{json}"
    );
}

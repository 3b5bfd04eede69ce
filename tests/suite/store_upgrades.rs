//! Stores of the first version: reads, writes, and repairs of their errors.
//!
//! `tests/stores/first-form.tar.zst` comes from the last tsql with `tsql.toml` as the store marker. It has three
//! programs on the platform `a b`, the same and another one on `a_b` (with files in the same folder), two measured ones
//! with objects as steps, a file of an unknown format, and an invalid log. The inputs are beside it in `p`.

use std::time::Instant;

use crate::support::{Place, wanted};

pub(crate) fn unpacked() -> Place {
    let place = Place::new();
    let packed = include_bytes!("../stores/first-form.tar.zst");
    let tar = zstd::stream::read::Decoder::new(packed.as_slice()).unwrap();
    tar::Archive::new(tar).unpack(place.path()).unwrap();
    place
}

const PLATFORMS: &str = "SELECT platform, count(*) FROM records GROUP BY 1 ORDER BY 1";

/// Returns the folders of the data files of the newest version of `records`.
fn folders(place: &Place) -> Vec<String> {
    let list = |folder: &str| -> Vec<String> {
        let entries = std::fs::read_dir(place.path().join(".tsql/records").join(folder));
        let names = entries.into_iter().flatten().flatten();
        let mut names: Vec<_> = names
            .map(|entry| entry.file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    list("dataset=tenset")
}

#[test]
fn a_store_of_the_first_format_is_read_and_written() {
    let place = unpacked();
    assert_eq!(place.rows(PLATFORMS), ["a b,3", "a_b,4", "m,2"]);
    let sketches = "SELECT DISTINCT sketch FROM configurations ORDER BY 1";
    let wanted = [
        r#""[[""SP"", ?, ?, ?, [?, ?], ?], [""FU"", ?, [?..?]], [""AN"", ?, ?, ?], [""PR"", ?, ?, ""auto_unroll_max_step$?""]]""#,
        r#""{""TILE"": ?, ""UNROLL"": ?}""#,
    ];
    assert_eq!(place.rows(sketches), wanted);
    place.write("q/more.json", crate::support::log(50, 2));
    place.ok(&["ingest", "-q", "--platform", "a b", "q/more.json"]);
    place.ok(&["optimize"]);
    assert_eq!(place.rows(PLATFORMS), ["a b,5", "a_b,4", "m,2"]);
    assert_eq!(place.rows(sketches), wanted);
    place.ok(&["export", "--to", "back"]);
    assert_eq!(place.read("back/spaced.json"), place.read("p/spaced.json"));
    assert_eq!(place.read("back/other.log"), place.read("p/other.log"));
    assert!(!place.path().join(".tsql/tsql-store.toml").exists());
}

#[test]
#[ignore = "full tier"]
fn errors_of_earlier_versions_are_reported_and_repaired_once() {
    let place = unpacked();
    let found = place.tsql(&["check"]);
    assert_eq!(found.code, Some(1), "{}", found.stderr);
    for message in [
        "which some engines rely on: 1\nhint: `tsql check --repair` moves them",
        "whose lines were all rejected: 1\nhint: `tsql check --repair` removes them",
    ] {
        assert!(
            found.stderr.contains(message),
            "{message}: {}",
            found.stderr
        );
    }
    let records = place.rows("SELECT count(*), sum(runtime_ns), sum(line) FROM records");
    let repaired = place.ok(&["check", "--repair"]);
    assert_eq!(
        repaired.stderr.matches("repaired: ").count(),
        2,
        "{}",
        repaired.stderr
    );
    assert!(
        repaired.stderr.contains("no damage: "),
        "{}",
        repaired.stderr
    );
    let versions = place.ok(&["history"]).stdout;
    let again = place.ok(&["check", "--repair"]);
    assert!(again.stderr.starts_with("no damage: "), "{}", again.stderr);
    assert_eq!(
        place.ok(&["history"]).stdout,
        versions,
        "a second run changes nothing"
    );
    assert_eq!(place.rows(PLATFORMS), ["a b,3", "a_b,4", "m,2"]);
    assert_eq!(
        place.rows("SELECT count(*), sum(runtime_ns), sum(line) FROM records"),
        records
    );
    // The invalid log stays rejected and stored. The file of the other format can be ingested again.
    assert_eq!(place.rows("SELECT name FROM rejects"), ["broken.json"]);
    assert_eq!(
        place.rows("SELECT name FROM sources WHERE name = 'other.log'"),
        Vec::<String>::new()
    );
    assert_eq!(place.rows("SELECT count(*) FROM lines"), ["1"]);
    place.ok(&["vacuum", "--retain", "0s"]);
    assert_eq!(folders(&place), ["platform=a%20b", "platform=a_b"]);
    place.ok(&["export", "--to", "back"]);
    for file in ["spaced.json", "plain.json", "measured.jsonl", "broken.json"] {
        assert_eq!(
            place.read(&format!("back/{file}")),
            place.read(&format!("p/{file}")),
            "{file}"
        );
    }
    assert!(!place.path().join("back/other.log").exists());
    // Another ingest reads the file with the reader of its format.
    let again = place.tsql(&["ingest", "--platform", "a_b", "p/other.log"]);
    assert!(
        !again.stderr.contains("already ingested"),
        "{}",
        again.stderr
    );
}

#[test]
#[ignore = "full tier"]
fn a_killed_repair_is_completed_by_the_next() {
    let whole = Instant::now();
    unpacked().ok(&["check", "--repair"]);
    let whole = whole.elapsed();
    let kills = u32::try_from(wanted("TSQL_TEST_KILLS", 4)).unwrap();
    // Kills from the beginning to the end of the repair.
    for kill in 0..kills {
        let place = unpacked();
        let mut child = place
            .command(&["check", "--repair"])
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(whole * (2 * kill + 1) / (2 * kills));
        let _ = child.kill();
        child.wait().unwrap();
        assert_eq!(place.rows(PLATFORMS), ["a b,3", "a_b,4", "m,2"]);
        let ran = place.tsql(&["check", "--repair"]);
        let lines = place.rows("SELECT count(*) FROM lines");
        // A kill between the commits to the ingest log and `lines` leaves rejected lines of an interrupted run.
        let interrupted = lines == ["4"] && ran.stderr.contains("was interrupted");
        assert!(ran.code == Some(0) || interrupted, "{}", ran.stderr);
    }
}

#[test]
#[ignore = "full tier"]
fn a_sound_store_is_not_changed() {
    let place = Place::new();
    place.write("a b/a.json", crate::support::log(1, 5));
    place.write("a b/bad.json", "{\"i\": [[\n");
    place.tsql(&["ingest", "-q", "a b"]);
    let versions = place.ok(&["history"]).stdout;
    let ran = place.ok(&["check", "--repair"]);
    assert!(ran.stderr.starts_with("no damage: "), "{}", ran.stderr);
    assert_eq!(place.ok(&["history"]).stdout, versions);
}

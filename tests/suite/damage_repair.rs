//! Damaged data files: reports of `check`, repairs, and queries before the repair.

use std::path::{Path, PathBuf};

use crate::support::{Place, Ran, log};

const ROWS: &str = "SELECT platform, line, runtime_ns FROM records ORDER BY 1, 3";

/// Returns a store of two logs of a platform, each in its data file.
fn store() -> Place {
    let place = Place::new();
    for (name, first) in [("a", 0), ("b", 40)] {
        let name = format!("{name}.json");
        place.write(&name, log(first, 40));
        place.ok(&["ingest", "-q", "--platform", "k80", &name]);
    }
    place
}

/// Returns the data files of records in the order of their writes.
fn data_files(place: &Place) -> Vec<PathBuf> {
    let folder = place
        .path()
        .join(".tsql/records/dataset=tenset/platform=k80");
    let files = std::fs::read_dir(folder).unwrap();
    let mut files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    files.sort_by_key(|file| file.metadata().unwrap().modified().unwrap());
    files
}

/// Flips a bit of a data file. Returns the name of the file.
fn flip(file: &Path, at: usize) -> String {
    let mut bytes = std::fs::read(file).unwrap();
    bytes[at] ^= 1;
    std::fs::write(file, bytes).unwrap();
    file.file_name().unwrap().to_str().unwrap().to_owned()
}

/// Returns the last position of these bytes in a file.
fn find(file: &Path, bytes: &[u8]) -> usize {
    memchr::memmem::rfind(&std::fs::read(file).unwrap(), bytes).unwrap()
}

fn assert_reports(ran: &Ran, messages: &[&str]) {
    assert_ne!(ran.code, Some(0), "{}", ran.stderr);
    for message in messages {
        assert!(ran.stderr.contains(message), "{message}: {}", ran.stderr);
    }
}

/// Magic number of zstd, which begins compressed Arrow streams.
const ZSTD_MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

#[test]
#[ignore = "full tier"]
fn preaggregates_are_rebuilt_from_sound_rows() {
    let place = store();
    let rows = place.rows(ROWS);
    let file = &data_files(&place)[0];
    let name = flip(file, find(file, ZSTD_MAGIC) + 20);
    // Rows are not affected.
    assert_eq!(place.rows(ROWS), rows);
    assert_reports(
        &place.tsql(&["check"]),
        &[&name, "not as written", "`tsql check --repair` rewrites it"],
    );
    let repaired = place.ok(&["check", "--repair"]).stderr;
    assert!(
        repaired.starts_with("repaired: damaged data files: 1\n"),
        "{repaired}"
    );
    assert_eq!(place.rows(ROWS), rows);
    let again = place.ok(&["check", "--repair"]).stderr;
    assert!(again.starts_with("no damage: "), "{again}");
}

#[test]
#[ignore = "full tier"]
fn lost_rows_are_restored_by_ingesting_their_files_again() {
    let place = store();
    let rows = place.rows(ROWS);
    let damaged = data_files(&place)[1].clone();
    let name = flip(&damaged, 100);
    assert_reports(&place.tsql(&[ROWS]), &[&name, "`tsql check --repair`"]);
    assert_reports(
        &place.tsql(&["check"]),
        &[&name, "ingesting `b.json` again restores its rows"],
    );
    // A missing file is reported like a damaged one.
    std::fs::remove_file(&damaged).unwrap();
    assert_reports(
        &place.tsql(&[ROWS]),
        &[&name, "it is missing", "\nhint: `tsql check --repair`"],
    );
    assert_reports(
        &place.tsql(&["check"]),
        &[&name, "ingesting `b.json` again restores its rows"],
    );
    let repaired = place.tsql(&["check", "--repair"]).stderr;
    let command = "tsql ingest --platform \"k80\" \"b.json\"";
    assert!(repaired.contains(command), "{repaired}");
    assert_eq!(place.rows(ROWS), rows[..40]);
    place.ok(&["ingest", "-q", "--platform", "k80", "b.json"]);
    assert_eq!(place.rows(ROWS), rows);
    place.assert_sound(&["a.json", "b.json"]);
}

#[test]
fn optimize_never_copies_damage_and_reading_it_is_opt_in() {
    let place = store();
    let rows = place.rows(ROWS);
    // A damaged footer that is still readable.
    let file = &data_files(&place)[0];
    let name = flip(file, find(file, b"tsql 0.") + 7);
    let file = [name.as_str(), "not as written"];
    assert_reports(&place.tsql(&[ROWS]), &file);
    let once = ["SET tsql.verify = 'once'", ROWS].join("; ");
    assert_reports(&place.tsql(&[&once]), &file);
    let sql = ["SET tsql.verify = 'never'", ROWS].join("; ");
    assert_eq!(place.rows(&sql), rows);
    let never = |args: &[&str]| {
        let mut command = place.command(args);
        let ran = command.env("TSQL_VERIFY", "never").output().unwrap();
        (ran.status.code(), String::from_utf8(ran.stderr).unwrap())
    };
    assert_eq!(never(&[ROWS]).0, Some(0));
    for args in [&["optimize"][..], &["check"]] {
        let (code, stderr) = never(args);
        assert_ne!(code, Some(0), "{stderr}");
        assert!(stderr.contains(&name), "{stderr}");
    }
    assert_reports(
        &place.tsql(&["SET tsql.verify = 'sometimes'"]),
        &["`sometimes` is invalid, expected always, once or never"],
    );
}

/// Entries of `vacuum` add no files.
#[test]
fn a_truncated_log_entry_is_reported() {
    let place = store();
    let folder = place.path().join(".tsql/records/_delta_log");
    let entries = || {
        let names = std::fs::read_dir(&folder).unwrap();
        let mut names: Vec<PathBuf> = names.map(|entry| entry.unwrap().path()).collect();
        names.retain(|name| {
            let bytes = std::fs::read(name).unwrap();
            memchr::memmem::find(&bytes, b"\"add\":").is_some()
        });
        names.sort();
        names
    };
    for vacuumed in [false, true] {
        if vacuumed {
            place.ok(&["optimize"]);
            place.ok(&["vacuum", "--retain", "0s"]);
            // Checkpoints contain the actions of earlier entries. Without checkpoints the entries of `vacuum` are read.
            for name in std::fs::read_dir(&folder).unwrap() {
                let path = name.unwrap().path();
                if path.to_string_lossy().contains("checkpoint") {
                    std::fs::remove_file(path).unwrap();
                }
            }
        }
        let last = entries().pop().unwrap();
        let whole = std::fs::read(&last).unwrap();
        let line = memchr::memchr(b'\n', &whole).unwrap();
        std::fs::write(&last, &whole[..line]).unwrap();
        let name = last.file_name().unwrap().to_str().unwrap();
        let damaged_entry = format!("`records/_delta_log/{name}`");
        assert_reports(
            &place.tsql(&[ROWS]),
            &[&damaged_entry, "`tsql check --repair`"],
        );
        std::fs::write(&last, whole).unwrap();
        assert_eq!(place.rows(ROWS).len(), 80);
    }
}

/// Returns the newest log entry. A read of a pipe in its place would block forever.
fn newest_entry(place: &Place, table: &str) -> PathBuf {
    let log = place.path().join(".tsql").join(table).join("_delta_log");
    let names = std::fs::read_dir(&log).unwrap();
    let names = names.map(|entry| entry.unwrap().path());
    let is_entry = |path: &PathBuf| path.extension().is_some_and(|end| end == "json");
    names.filter(is_entry).max().unwrap()
}

#[test]
#[ignore = "full tier"]
fn a_pipe_in_place_of_an_entry_is_repaired() {
    for table in ["records", "sources", "graphs"] {
        let place = store();
        let entry = newest_entry(&place, table);
        std::fs::remove_file(&entry).unwrap();
        let status = std::process::Command::new("mkfifo").arg(&entry).status();
        assert!(status.unwrap().success());
        place.tsql(&["check", "--repair"]);
        assert!(entry.is_file() || !entry.exists(), "{table}");
        place.ok(&["ingest", "-q", "--platform", "k80", "a.json", "b.json"]);
        assert_eq!(place.rows(ROWS).len(), 80, "{table}");
        place.ok(&["check"]);
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_in_place_of_a_file_is_reported_by_name() {
    let place = store();
    let at = place.path().join(".tsql");
    for file in [
        at.join("tsql-store.toml"),
        newest_entry(&place, "records"),
        data_files(&place)[0].clone(),
    ] {
        let bytes = std::fs::read(&file).unwrap();
        std::fs::remove_file(&file).unwrap();
        let status = std::process::Command::new("mkfifo").arg(&file).status();
        assert!(status.unwrap().success());
        let name = file.file_name().unwrap().to_str().unwrap();
        for args in [&[ROWS][..], &["check"]] {
            assert_reports(&place.tsql(args), &[name]);
        }
        std::fs::remove_file(&file).unwrap();
        std::fs::write(&file, bytes).unwrap();
    }
    assert_eq!(place.rows(ROWS).len(), 80);
}

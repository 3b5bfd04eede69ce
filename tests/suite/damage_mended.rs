//! Damaged data files as `check` tells and mends them, and what is read of them while they are there.

use std::path::{Path, PathBuf};

use crate::support::{Place, Ran, log};

const ROWS: &str = "SELECT platform, line, runtime_ns FROM records ORDER BY 1, 3";

/// Two logs of a platform, each in a data file.
fn store() -> Place {
    let place = Place::new();
    for (name, first) in [("a", 0), ("b", 40)] {
        let name = format!("{name}.json");
        place.write(&name, log(first, 40));
        place.ok(&["ingest", "-q", "--platform", "k80", &name]);
    }
    place
}

/// The data files of records, in the order in which they were written.
fn data_files(place: &Place) -> Vec<PathBuf> {
    let folder = place
        .path()
        .join(".tsql/records/dataset=tenset/platform=k80");
    let files = std::fs::read_dir(folder).unwrap();
    let mut files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    files.sort_by_key(|file| file.metadata().unwrap().modified().unwrap());
    files
}

/// Flips a bit of a data file, and gives the file's name.
fn flip(file: &Path, at: usize) -> String {
    let mut bytes = std::fs::read(file).unwrap();
    bytes[at] ^= 1;
    std::fs::write(file, bytes).unwrap();
    file.file_name().unwrap().to_str().unwrap().to_owned()
}

/// Where these bytes stand last in a file.
fn find(file: &Path, bytes: &[u8]) -> usize {
    memchr::memmem::rfind(&std::fs::read(file).unwrap(), bytes).unwrap()
}

fn assert_told(ran: &Ran, told: &[&str]) {
    assert_ne!(ran.code, Some(0), "{}", ran.stderr);
    for told in told {
        assert!(ran.stderr.contains(told), "{told}: {}", ran.stderr);
    }
}

/// What Arrow's streams are compressed to begins with this.
const SUMS: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

#[test]
fn sums_are_made_anew_from_sound_rows() {
    let place = store();
    let rows = place.rows(ROWS);
    let file = &data_files(&place)[0];
    let name = flip(file, find(file, SUMS) + 20);
    // Rows are no worse for it.
    assert_eq!(place.rows(ROWS), rows);
    assert_told(
        &place.tsql(&["check"]),
        &[
            &name,
            "not what was written",
            "`tsql check --repair` writes it anew",
        ],
    );
    let mended = place.ok(&["check", "--repair"]).stderr;
    assert!(
        mended.starts_with("repaired: damaged data files: 1\n"),
        "{mended}"
    );
    assert_eq!(place.rows(ROWS), rows);
    let again = place.ok(&["check", "--repair"]).stderr;
    assert!(again.starts_with("sound: "), "{again}");
}

#[test]
fn lost_rows_come_back_from_the_files_that_they_were_read_from() {
    let place = store();
    let rows = place.rows(ROWS);
    let damaged = data_files(&place)[1].clone();
    let name = flip(&damaged, 100);
    assert_told(&place.tsql(&[ROWS]), &[&name, "`tsql check --repair`"]);
    assert_told(
        &place.tsql(&["check"]),
        &[&name, "to ingest `b.json` again restores its rows"],
    );
    // A file that is gone is as good as one that is damaged.
    std::fs::remove_file(&damaged).unwrap();
    assert_told(
        &place.tsql(&[ROWS]),
        &[&name, "it is missing", "\nhint: `tsql check --repair`"],
    );
    assert_told(
        &place.tsql(&["check"]),
        &[&name, "to ingest `b.json` again restores its rows"],
    );
    let mended = place.tsql(&["check", "--repair"]).stderr;
    let command = "tsql ingest --platform \"k80\" \"b.json\"";
    assert!(mended.contains(command), "{mended}");
    assert_eq!(place.rows(ROWS), rows[..40]);
    place.ok(&["ingest", "-q", "--platform", "k80", "b.json"]);
    assert_eq!(place.rows(ROWS), rows);
    place.assert_sound(&["a.json", "b.json"]);
}

#[test]
fn optimize_never_copies_damage_and_reading_it_has_to_be_asked_for() {
    let place = store();
    let rows = place.rows(ROWS);
    // A footer that reads well all the same.
    let file = &data_files(&place)[0];
    let name = flip(file, find(file, b"tsql 0.") + 7);
    let file = [name.as_str(), "not what was written"];
    assert_told(&place.tsql(&[ROWS]), &file);
    let once = ["SET tsql.verify = 'once'", ROWS].join("; ");
    assert_told(&place.tsql(&[&once]), &file);
    let asked = ["SET tsql.verify = 'never'", ROWS].join("; ");
    assert_eq!(place.rows(&asked), rows);
    let never = |args: &[&str]| {
        let mut command = place.command(args);
        let ran = command.env("TSQL_VERIFY", "never").output().unwrap();
        (ran.status.code(), String::from_utf8(ran.stderr).unwrap())
    };
    assert_eq!(never(&[ROWS]).0, Some(0));
    for args in [&["optimize"][..], &["check"]] {
        let (code, told) = never(args);
        assert_ne!(code, Some(0), "{told}");
        assert!(told.contains(&name), "{told}");
    }
    assert_told(
        &place.tsql(&["SET tsql.verify = 'sometimes'"]),
        &["`sometimes` is none of always, once, never"],
    );
}

/// The entries that `vacuum` writes bring no files.
#[test]
fn a_log_that_has_lost_a_line_is_told() {
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
            // Checkpoints have what entries before them say. Older builds wrote none here: what a clean-up says is looked at.
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
        let told = format!("`records/_delta_log/{name}`");
        assert_told(&place.tsql(&[ROWS]), &[&told, "`tsql check --repair`"]);
        std::fs::write(&last, whole).unwrap();
        assert_eq!(place.rows(ROWS).len(), 80);
    }
}

/// Reads of a pipe would wait for a writer for ever.
fn newest_entry(place: &Place, table: &str) -> PathBuf {
    let log = place.path().join(".tsql").join(table).join("_delta_log");
    let names = std::fs::read_dir(&log).unwrap();
    let names = names.map(|entry| entry.unwrap().path());
    let is_entry = |path: &PathBuf| path.extension().is_some_and(|end| end == "json");
    names.filter(is_entry).max().unwrap()
}

#[test]
fn a_pipe_in_place_of_an_entry_is_repaired() {
    for table in ["records", "sources", "graphs"] {
        let place = store();
        let entry = newest_entry(&place, table);
        std::fs::remove_file(&entry).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&entry).status();
        assert!(made.unwrap().success());
        place.tsql(&["check", "--repair"]);
        assert!(entry.is_file() || !entry.exists(), "{table}");
        place.ok(&["ingest", "-q", "--platform", "k80", "a.json", "b.json"]);
        assert_eq!(place.rows(ROWS).len(), 80, "{table}");
        place.ok(&["check"]);
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_in_place_of_a_file_is_an_error_that_names_it() {
    let place = store();
    let at = place.path().join(".tsql");
    for file in [
        at.join("tsql-store.toml"),
        newest_entry(&place, "records"),
        data_files(&place)[0].clone(),
    ] {
        let bytes = std::fs::read(&file).unwrap();
        std::fs::remove_file(&file).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&file).status();
        assert!(made.unwrap().success());
        let name = file.file_name().unwrap().to_str().unwrap();
        for args in [&[ROWS][..], &["check"]] {
            assert_told(&place.tsql(args), &[name]);
        }
        std::fs::remove_file(&file).unwrap();
        std::fs::write(&file, bytes).unwrap();
    }
    assert_eq!(place.rows(ROWS).len(), 80);
}

//! `tsql check --repair` after loss of rows: rows restored from files with their labels and corrections, and reports of
//! lost rows.

use std::path::PathBuf;

use crate::support::{Place, Ran, file_contents, files_below, has_extension, log};

const ROWS: &str = "SELECT platform, line, runtime_ns FROM records ORDER BY 1, 3";

/// Returns the data files below a folder of a store in the order of their writes.
fn data_files(place: &Place, folder: &str) -> Vec<PathBuf> {
    let mut files = files_below(&place.path().join(".tsql").join(folder));
    files.retain(|path| {
        has_extension(path, "parquet") && !path.to_str().unwrap().contains("_delta_log")
    });
    files.sort_by_key(|file| file.metadata().unwrap().modified().unwrap());
    files
}

/// Damages the newest data file below a folder of a store.
fn damage(place: &Place, folder: &str) {
    let file = data_files(place, folder).pop().unwrap();
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[4] ^= 1;
    bytes[middle] ^= 1;
    std::fs::write(file, bytes).unwrap();
}

fn ingest(place: &Place, platform: &str, name: &str, first: u32, count: u32) {
    place.write(name, log(first, count));
    place.ok(&["ingest", "-q", "--platform", platform, name]);
}

fn assert_reports(ran: &Ran, messages: &[&str]) {
    assert_ne!(ran.code, Some(0), "{}", ran.stderr);
    for message in messages {
        assert!(ran.stderr.contains(message), "{message}: {}", ran.stderr);
    }
}

/// Runs the commands that a repair reports.
fn complete(place: &Place, repaired: &Ran) {
    let hints = repaired.stderr.lines().filter_map(|line| {
        let command = line.strip_prefix("hint: `tsql ")?;
        command.strip_suffix("` completes the repair")
    });
    let mut count = 0;
    for hint in hints {
        let parts = hint.split('"').enumerate().flat_map(|(at, part)| {
            let quoted = (at % 2 == 1).then_some(part);
            let words = part.split_whitespace().filter(move |_| at % 2 == 0);
            quoted.into_iter().chain(words)
        });
        place.ok(&parts.collect::<Vec<_>>());
        count += 1;
    }
    assert!(count > 0, "{}", repaired.stderr);
}

#[test]
#[ignore = "full tier"]
fn unrecoverable_rows_are_listed_and_the_rest_restored() {
    let place = Place::new();
    ingest(&place, "k80", "a.json", 0, 10);
    let rows = place.rows(ROWS);
    ingest(&place, "gone", "b.json", 20, 20);
    let piped = log(60, 30);
    let ran = place.tsql_with_input(
        &["ingest", "-q", "--platform", "piped", "-"],
        piped.as_bytes(),
    );
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    place.ok(&["note", "add", "a note", "--platform", "k80"]);
    for folder in ["records", "notes"] {
        for file in data_files(&place, folder) {
            std::fs::write(file, "damaged").unwrap();
        }
    }
    std::fs::remove_file(place.path().join("b.json")).unwrap();
    let versions = place.ok(&["history"]).stdout;
    let lost = [
        "`tsql check --repair` removes it; 1 rows of notes are permanently lost",
        "ingesting `a.json` again restores its rows",
        "50 rows are permanently lost, because their files do not exist: ",
        "20 of `b.json`",
        "30 of `-`",
    ];
    assert_reports(&place.tsql(&["check"]), &lost);
    assert_eq!(
        place.ok(&["history"]).stdout,
        versions,
        "check changes nothing"
    );
    let repaired = place.ok(&["check", "--repair"]);
    for message in [
        "permanently lost: 1 rows of notes\n",
        "permanently lost: 20 rows of `b.json`, whose file does not exist\n",
        "permanently lost: 30 rows of `stdin/",
    ] {
        assert!(
            repaired.stderr.contains(message),
            "{message}: {}",
            repaired.stderr
        );
    }
    complete(&place, &repaired);
    assert_eq!(place.rows(ROWS), rows);
    assert_eq!(place.rows("SELECT count(*) FROM notes"), ["0"]);
    place.assert_sound(&["a.json"]);
}

#[test]
#[ignore = "full tier"]
fn a_damaged_log_with_damaged_data_is_repaired() {
    let place = Place::new();
    ingest(&place, "k80", "a.json", 0, 10);
    ingest(&place, "k80", "b.json", 20, 10);
    ingest(&place, "k80", "c.json", 40, 10);
    let rows = place.rows(ROWS);
    damage(&place, "records");
    let log = place.path().join(".tsql/records/_delta_log");
    std::fs::write(log.join("00000000000000000002.json"), "{").unwrap();
    place.tsql(&["check", "--repair"]);
    for name in ["a.json", "b.json", "c.json"] {
        place.ok(&["ingest", "-q", "--platform", "k80", name]);
    }
    assert_eq!(place.rows(ROWS), rows);
    place.assert_sound(&["a.json", "b.json", "c.json"]);
}

#[test]
#[ignore = "full tier"]
fn retracted_records_stay_retracted_when_their_file_is_restored() {
    let place = Place::new();
    ingest(&place, "k80", "a.json", 0, 10);
    ingest(&place, "k80", "b.json", 20, 10);
    let chosen = "source = 'b.json' AND (line < 4 OR line = 7)";
    place.ok(&["retract", "--where", chosen, "--why", "the fan was broken"]);
    let rows = place.rows(ROWS);
    let retracted = "SELECT r.line, t.why FROM retracted AS r JOIN retractions AS t USING (retraction_id) ORDER BY 1";
    let retracted_rows = place.rows(retracted);
    assert_eq!((rows.len(), retracted_rows.len()), (16, 4));
    damage(&place, "records");
    let hint = "ingesting `b.json` again restores its rows";
    assert_reports(&place.tsql(&["check"]), &[hint]);
    let repaired = place.ok(&["check", "--repair"]);
    complete(&place, &repaired);
    assert_eq!(place.rows(ROWS), rows);
    assert_eq!(place.rows(retracted), retracted_rows);
    place.assert_sound(&["a.json", "b.json"]);
}

#[test]
#[ignore = "full tier"]
fn labels_and_corrections_are_restored_with_their_file() {
    let place = Place::new();
    ingest(&place, "k80", "a.json", 0, 10);
    place.write("b's.json", log(20, 10));
    place.ok(&[
        "ingest",
        "-q",
        "--platform",
        "wrong",
        "b's.json",
        "--label",
        "night=7",
        "--label",
        "driver=550 x",
    ]);
    place.ok(&[
        "correct",
        "--set",
        "platform=right",
        "--where",
        "platform = 'wrong'",
        "--why",
        "a typing error",
    ]);
    let rows = place.rows(ROWS);
    let labels = place.rows("SELECT key, value FROM labels ORDER BY key");
    assert_eq!((rows.len(), labels.len()), (20, 2));
    damage(&place, "records/dataset=tenset/platform=right");
    let repaired = place.ok(&["check", "--repair"]);
    complete(&place, &repaired);
    let assert_same = || {
        assert_eq!(place.rows(ROWS), rows);
        assert_eq!(
            place.rows("SELECT key, value FROM labels ORDER BY key"),
            labels
        );
    };
    assert_same();
    // The file is known under its first platform.
    place.ok(&["ingest", "-q", "--platform", "wrong", "b's.json"]);
    assert_same();
    place.assert_sound(&["a.json", "b's.json"]);
}

#[test]
#[ignore = "full tier"]
fn a_file_with_equal_bytes_restores_a_missing_one() {
    let place = Place::new();
    place.write("a.json", log(0, 10));
    place.ok(&[
        "ingest",
        "-q",
        "--platform",
        "k80",
        "a.json",
        "--label",
        "night=7",
    ]);
    ingest(&place, "k80", "copy.json", 0, 10);
    let rows = place.rows(ROWS);
    damage(&place, "records");
    std::fs::remove_file(place.path().join("a.json")).unwrap();
    let repaired = place.ok(&["check", "--repair"]);
    let lost =
        "permanently lost: the name `a.json` with the labels night=7, whose file does not exist\n";
    assert!(repaired.stderr.contains(lost), "{}", repaired.stderr);
    complete(&place, &repaired);
    assert_eq!(place.rows(ROWS), rows);
    place.assert_sound(&["copy.json"]);
}

/// Counts of samples, and all names.
const CONTENT: &str = "SELECT (SELECT count(*) FROM samples), (SELECT count(*) FROM sources), \
     (SELECT count(*) FROM texts), (SELECT count(*) FROM runs), (SELECT string_agg(name, ' ' ORDER BY name) FROM sources)";

#[test]
#[ignore = "full tier"]
fn all_files_of_a_sample_are_restored_together() {
    let place = Place::new();
    let from = crate::graphnet::own();
    for (name, bytes) in file_contents(&from) {
        place.write(&format!("in/{name}"), bytes);
    }
    place.ok(&["ingest", "-q", "in"]);
    let content = place.rows(CONTENT);
    damage(&place, "texts");
    let repaired = place.tsql(&["check", "--repair"]);
    assert!(
        repaired
            .stderr
            .contains("hint: `tsql ingest \"in\"` completes the repair"),
        "{}",
        repaired.stderr
    );
    complete(&place, &repaired);
    assert_eq!(place.rows(CONTENT), content);
    place.ok(&["check"]);
}

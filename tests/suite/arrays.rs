//! npz files as tables: rows match NumPy, and other arrays are rejected with a hint.

use std::path::PathBuf;

use serde_json::Value;

use crate::engines::{python, run};
use crate::support::{Place, shared};
use crate::web::serve;

/// Returns files that NumPy wrote, with their rows.
fn written() -> Option<(Place, Value)> {
    let python = python()?;
    let place = Place::new();
    let rows = run(&python, "arrays.py", &[place.path().to_str().unwrap()]);
    Some((place, rows))
}

/// Returns the rows of a query as JSON.
fn rows(place: &Place, sql: &str) -> Vec<Value> {
    let lines = place.ok(&[sql, "--format", "jsonl"]).stdout;
    let lines = lines.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn rows_match_numpy() {
    let Some((place, wanted)) = written() else {
        return;
    };
    for name in ["kinds", "lists", "scalars"] {
        let found = rows(&place, &format!("FROM '{name}.npz'"));
        assert_eq!(Value::from(found), wanted[name], "{name}");
    }
    let sums = rows(
        &place,
        "SELECT sum(n) AS n, sum(m[100]) AS m FROM 'many.npz'",
    );
    assert_eq!(Value::from(sums), wanted["sums"]);
}

#[test]
fn queries_read_selected_arrays() {
    let Some((place, _)) = written() else { return };
    for (sql, wanted) in [
        ("SELECT count(*) FROM 'many.npz'", &["20000"][..]),
        (
            "SELECT n FROM 'many.npz' WHERE n > 19997 ORDER BY n",
            &["19998", "19999"],
        ),
        ("SELECT n FROM 'many.npz' LIMIT 2", &["0", "1"]),
        ("SELECT count(*), min(version) FROM 'empty.npz'", &["0,"]),
        ("SELECT a, version FROM 'empty.npz'", &[]),
        (
            "SELECT list_median(m) FROM 'lists.npz' LIMIT 2",
            &["0.125", "0.625"],
        ),
        (
            "SELECT a, b[4] FROM read_npz('lengths.npz', arrays => 'a, b') ORDER BY a",
            &["0,0.0", "1,0.0", "2,0.0"],
        ),
        (
            "SELECT sum(t.c) FROM read_npz('lengths.npz', arrays => 'c') AS t",
            &["1"],
        ),
        (
            "SELECT a, m[1] FROM 'parts/*.npz' ORDER BY a",
            &["0.0,0.0", "1.0,0.0", "2.0,1.0", "3.0,1.0", "4.5,1.0"],
        ),
        ("SELECT sum(a) FROM 'parts'", &["10.5"]),
        (
            "SELECT column_type FROM (DESCRIBE FROM 'lists.npz') WHERE column_name = 'm'",
            &["FixedSizeList(2 x Float64)"],
        ),
    ] {
        assert_eq!(place.rows(sql), wanted, "{sql}");
    }
    let cube = place.rows("SELECT cube[2][3] FROM 'lists.npz' LIMIT 2");
    assert_eq!(cube, ["5", "11"]);
    let port = serve(place.path().to_owned());
    let sql = format!("SELECT count(*), sum(n) FROM 'http://127.0.0.1:{port}/many.npz'");
    assert_eq!(place.rows(&sql), ["20000,199990000"]);
}

#[test]
fn non_tabular_files_are_rejected_with_a_hint() {
    let Some((place, _)) = written() else { return };
    place.write("words.npz", "words");
    let bytes = place.read("many.npz");
    place.write("cut.npz", &bytes[..bytes.len() / 2]);
    for (from, wanted) in [
        ("'lengths.npz'", "array `what` has Python objects"),
        (
            "'lengths.npz'",
            "hint: read_npz('...', arrays => 'a, b') selects arrays of equal length; the file has a <i8 (3), b <f8 (3, 4); c <i8 (2); what |O (1)",
        ),
        (
            "read_npz('lengths.npz', arrays => 'a,c')",
            "arrays of 2 different lengths do not form a table",
        ),
        (
            "read_npz('lengths.npz', arrays => 'A')",
            "did you mean `a`?",
        ),
        (
            "read_npz('lengths.npz', arrays => '')",
            "the file has no arrays",
        ),
        (
            "read_npz('lengths.npz', delim => ';')",
            "the options are arrays =>",
        ),
        ("'complex.npz'", "save a.real and a.imag"),
        ("'words.npz'", "not an npz file"),
        ("'cut.npz'", "the file is truncated or not an npz file"),
        ("'no.npz'", "the file does not exist"),
        ("read_npz('kinds.npy')", "the file does not exist"),
    ] {
        let ran = place.tsql(&[&format!("SELECT * FROM {from}")]);
        assert_ne!(ran.code, Some(0), "{from}");
        assert!(ran.stderr.contains(wanted), "{from}: {}", ran.stderr);
    }
    let mut damaged = bytes.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 0x55;
    place.write("damaged.npz", damaged);
    let ran = place.tsql(&["SELECT sum(m[1]) FROM 'damaged.npz'"]);
    assert_ne!(ran.code, Some(0));
    assert!(
        ran.stderr.contains("damaged.npz: array `m`"),
        "{}",
        ran.stderr
    );
}

/// Returns the files below a folder.
fn files(folder: PathBuf) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let entries = entries.map(|entry| entry.unwrap().path());
    let below = entries.flat_map(|path| match path.is_dir() {
        true => files(path),
        false => vec![path],
    });
    below.collect()
}

#[test]
fn real_files_match_numpy() {
    let (Some(python), Some(shared)) = (python(), shared()) else {
        return;
    };
    let place = Place::new();
    let mut compared = 0;
    for file in files(shared.join("data/tpugraphs/npz/tile")) {
        let path = file.to_str().unwrap();
        let names = "config_feat,config_runtime,config_runtime_normalizers";
        let wanted = run(&python, "arrays.py", &["--of", path, names]);
        let found = rows(
            &place,
            &format!("FROM read_npz('{path}', arrays => '{names}')"),
        );
        assert_eq!(Value::from(found), wanted, "{path}");
        compared += 1;
    }
    assert!(compared > 5, "{compared}");
}

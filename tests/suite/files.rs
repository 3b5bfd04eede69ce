//! Files as tables: what the command writes it reads, and what is no file is told.

use std::fs;

use crate::support::Place;

/// Rows that are hard to write: NULL, quotes, tabs and line ends, nested values.
const ROWS: &str = "SELECT * FROM (VALUES \
    (1, 'plain', 1.5), (2, E'tab\\tand\\nline \\\\ \"q\"', -0.25), (3, NULL, NULL)) AS t(id, name, x)";

#[test]
fn every_format_that_is_written_is_read() {
    let place = Place::new();
    place.ok(&[ROWS, "-o", "rows.parquet"]);
    for ending in [
        "csv",
        "csv.gz",
        "csv.zst",
        "tsv",
        "tsv.gz",
        "json",
        "json.gz",
        "jsonl",
        "jsonl.zst",
        "ndjson",
        "ndjson.gz",
        "parquet",
        "arrow",
        "feather",
        "arrows",
    ] {
        let folder = ending.replace('.', "-");
        fs::create_dir(place.path().join(&folder)).unwrap();
        let file = format!("{folder}/x.{ending}");
        place.ok(&[ROWS, "-o", &file]);
        for path in [file.clone(), folder.clone(), format!("{folder}/*.{ending}")] {
            let columns = "id, name, cast(x AS DOUBLE) AS x";
            let (one, other) = ("rows.parquet", path.as_str());
            for (one, other) in [(one, other), (other, one)] {
                let differ = format!(
                    "SELECT count(*) FROM (SELECT {columns} FROM '{one}' EXCEPT SELECT {columns} FROM '{other}') AS d"
                );
                assert_eq!(place.rows(&differ), ["0"], "{path}");
            }
            assert_eq!(
                place.rows(&format!("SELECT count(*) FROM '{path}'")),
                ["3"],
                "{path}"
            );
        }
    }
}

#[test]
fn columns_of_several_files_are_told_by_name() {
    let place = Place::new();
    place.write("logs/1.csv", "a,b\n1,2\n");
    place.write("logs/2.csv", "b,a\n3,4\n");
    place.write("logs/3.csv", "a,b,c\n5,6.5,x\n");
    let rows = place.rows("SELECT a, b, c FROM 'logs/*.csv' ORDER BY a");
    assert_eq!(rows, ["1,2.0,", "4,3.0,", "5,6.5,x"]);
}

#[test]
fn options_say_how_a_file_is_read() {
    let place = Place::new();
    place.write("x.log", "# made by hand\n1;a\n2;b\n");
    let sql = "SELECT column_1 + 1, column_2 FROM \
        read_csv('x.log', delim => ';', header => false, comment => '#') ORDER BY 1";
    assert_eq!(place.rows(sql), ["2,a", "3,b"]);
}

#[test]
fn what_is_no_file_is_told() {
    let place = Place::new();
    place.write("predictions.csv", "a\n1\n");
    place.write("empty.csv", "");
    place.write("x.log", "words\n");
    place.write("both/1.csv", "a\n1\n");
    place.write("both/2.jsonl", "{\"a\": 1}\n");
    fs::create_dir(place.path().join("none")).unwrap();
    for (path, wanted) in [
        ("predictoins.csv", "did you mean `predictions.csv`?"),
        ("no/x.csv", "there is no such folder"),
        ("empty.csv", "empty"),
        ("x.log", "hint: read_csv("),
        ("both", "several kinds: csv, jsonl"),
        ("none", "the folder has no files"),
        ("no*.csv", "no file has a name like that"),
    ] {
        let ran = place.tsql(&[&format!("SELECT * FROM '{path}'")]);
        assert!(ran.stderr.contains(wanted), "{path}: {}", ran.stderr);
        assert_ne!(ran.code, Some(0), "{path}");
    }
}

#[test]
fn a_file_is_written_whole_or_not_at_all() {
    let place = Place::new();
    let ran = place.tsql(&["SELECT 1", "-o", "x.xlsx"]);
    assert!(
        ran.stderr.contains("its ending names no format"),
        "{}",
        ran.stderr
    );
    place.write("x.csv", "old\n");
    let ran = place.tsql(&[
        "SELECT 1 / (n - 5) FROM generate_series(1, 9) AS t(n)",
        "-o",
        "x.csv",
    ]);
    assert_ne!(ran.code, Some(0));
    assert_eq!(place.read("x.csv"), b"old\n");
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
}

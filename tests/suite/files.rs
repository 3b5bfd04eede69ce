//! Files as tables: written files are readable, and missing files are reported.

use std::fs;
use std::process::Command;

use crate::engines::python;
use crate::support::Place;

/// Rows with special values: NULL, quotes, tabs, line ends and nested values.
const ROWS: &str = "SELECT * FROM (VALUES \
    (1, 'plain', 1.5), (2, E'tab\\tand\\nline \\\\ \"q\"', -0.25), (3, NULL, NULL)) AS t(id, name, x)";

#[test]
#[ignore = "full tier"]
fn every_written_format_is_readable() {
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
fn columns_of_several_files_are_matched_by_name() {
    let place = Place::new();
    place.write("logs/1.csv", "a,b\n1,2\n");
    place.write("logs/2.csv", "b,a\n3,4\n");
    place.write("logs/3.csv", "a,b,c\n5,6.5,x\n");
    let rows = place.rows("SELECT a, b, c FROM 'logs/*.csv' ORDER BY a");
    assert_eq!(rows, ["1,2.0,", "4,3.0,", "5,6.5,x"]);
}

/// `*` matches within one name and `**` any folders. A folder without files reads its subfolders.
#[test]
fn files_in_subfolders_are_read() {
    let place = Place::new();
    for (path, value) in [
        ("d/a/1.csv", 1),
        ("d/b/c/2.csv", 2),
        ("e/3.csv", 3),
        ("e/f/4.csv", 4),
    ] {
        place.write(path, format!("v\n{value}\n"));
    }
    place.write("d/b/_SUCCESS", "");
    for (path, expected) in [
        ("d/*/*.csv", "1"),
        ("d/**/*.csv", "1,2"),
        ("d/*/*/*.csv", "2"),
        ("d", "1,2"),
        ("e", "3"),
        ("e/*.csv", "3"),
        ("e/**/*.csv", "3,4"),
    ] {
        let sql = format!("SELECT string_agg(v, ',' ORDER BY v) AS v FROM '{path}'");
        assert_eq!(
            place.ok(&[&sql, "--format", "jsonl"]).stdout,
            format!("{{\"v\":\"{expected}\"}}\n"),
            "{path}"
        );
    }
    for folder in ["a b", "ä日", "p%20q", "x#y", "q?"] {
        place.write(&format!("odd/{folder}/%2F.csv"), "v\n1\n");
    }
    let odd = place.ok(&["SELECT count(*) AS n FROM 'odd/*/*.csv'"]);
    assert_eq!(odd.stdout, "n\n5\n");
    let none = place.tsql(&["SELECT * FROM 'd/*.csv'"]);
    assert!(
        none.stderr.contains("no file matches the pattern"),
        "{}",
        none.stderr
    );
    place.ok(&[
        "--sample",
        "publish",
        "out",
        "--title",
        "T",
        "--license",
        "CC0-1.0",
    ]);
    let counted = place.ok(&["SELECT count(*) AS n FROM 'out/records'"]);
    assert_eq!(counted.stdout, "n\n480\n");
}

#[test]
fn options_control_how_a_file_is_read() {
    let place = Place::new();
    place.write("x.log", "# made by hand\n1;a\n2;b\n");
    let sql = "SELECT column_1 + 1, column_2 FROM \
        read_csv('x.log', delim => ';', header => false, comment => '#') ORDER BY 1";
    assert_eq!(place.rows(sql), ["2,a", "3,b"]);
}

#[test]
fn files_compressed_by_other_tools_are_read() {
    let Some(python) = python() else { return };
    let place = Place::new();
    place.ok(&[ROWS, "-o", "rows.csv"]);
    place.ok(&[ROWS, "-o", "rows.jsonl"]);
    place.ok(&[ROWS, "-o", "rows.json"]);
    let script = "import bz2, lzma, sys\n\
        for path in sys.argv[1:]:\n    \
            data = open(path, 'rb').read()\n    \
            bz2.open(path + '.bz2', 'wb').write(data)\n    \
            lzma.open(path + '.xz', 'wb').write(data)\n";
    let ran = Command::new(python)
        .args(["-c", script, "rows.csv", "rows.jsonl", "rows.json"])
        .current_dir(place.path())
        .status();
    assert!(ran.unwrap().success());
    for name in ["rows.csv", "rows.jsonl", "rows.json"] {
        let plain = place.rows(&format!("SELECT id, name, x FROM '{name}' ORDER BY id"));
        assert!(plain.len() > 2, "{plain:?}");
        for packing in ["bz2", "xz"] {
            let sql = format!("SELECT id, name, x FROM '{name}.{packing}' ORDER BY id");
            assert_eq!(place.rows(&sql), plain, "{name}.{packing}");
            let read = if name.ends_with("csv") {
                "read_csv"
            } else {
                "read_json"
            };
            fs::copy(
                place.path().join(format!("{name}.{packing}")),
                place.path().join("unnamed"),
            )
            .unwrap();
            let sql = format!("SELECT id, name, x FROM {read}('unnamed') ORDER BY id");
            assert_eq!(place.rows(&sql), plain, "{name}.{packing} without its name");
        }
    }
}

#[test]
fn functions_read_files_without_their_extension() {
    let place = Place::new();
    for (ending, read) in [
        ("parquet", "read_parquet"),
        ("arrow", "read_arrow"),
        ("arrows", "read_arrow"),
        ("jsonl", "read_json"),
        ("json", "read_json"),
    ] {
        let named = format!("{ending}/1.{ending}");
        fs::create_dir(place.path().join(ending)).unwrap();
        place.ok(&[ROWS, "-o", &named]);
        let plain = place.rows(&format!("SELECT id, name, x FROM '{named}' ORDER BY id"));
        fs::rename(
            place.path().join(&named),
            place.path().join(format!("{ending}/1.part")),
        )
        .unwrap();
        for path in [
            format!("{ending}/1.part"),
            format!("{ending}/*.part"),
            ending.to_owned(),
        ] {
            let sql = format!("SELECT t.id, name, x FROM {read}('{path}') AS t ORDER BY id");
            assert_eq!(place.rows(&sql), plain, "{read}({path})");
        }
    }
    place.write("mixed.txt", "{\"a\": 1}\n{\"a\": 2, \"b\": 3}\n");
    for (options, columns) in [("", "2"), (", sample => 1", "1")] {
        let sql = format!("SELECT count(*) FROM (DESCRIBE FROM read_json('mixed.txt'{options}))");
        assert_eq!(place.rows(&sql), [columns], "{sql}");
    }
    for (sql, wanted) in [
        (
            "SELECT a FROM read_json('mixed.txt', lines => true)",
            "the options are sample => 100000",
        ),
        (
            "SELECT a FROM read_parquet('mixed.txt', sample => 1)",
            "none, the file describes itself",
        ),
        ("SELECT a FROM read_arrow('mixed.txt', 5)", "has no name"),
        ("SELECT a FROM read_parquet('mixed.txt')", "mixed.txt"),
        ("SELECT a FROM read_arrow('mixed.txt')", "mixed.txt"),
        (
            "SELECT a FROM read_csv('mixd.txt')",
            "did you mean `mixed.txt`?",
        ),
    ] {
        let ran = place.tsql(&[sql]);
        assert_ne!(ran.code, Some(0), "{sql}: {}", ran.stdout);
        assert!(ran.stderr.contains(wanted), "{sql}: {}", ran.stderr);
    }
}

#[test]
fn missing_and_ambiguous_files_are_reported() {
    let place = Place::new();
    place.write("predictions.csv", "a\n1\n");
    place.write("empty.csv", "");
    place.write("x.log", "words\n");
    place.write("both/1.csv", "a\n1\n");
    place.write("both/2.jsonl", "{\"a\": 1}\n");
    fs::create_dir(place.path().join("none")).unwrap();
    for (path, wanted) in [
        ("predictoins.csv", "did you mean `predictions.csv`?"),
        ("no/x.csv", "the folder does not exist"),
        ("empty.csv", "empty"),
        ("x.log", "hint: read_csv("),
        ("both", "several formats: csv, jsonl"),
        ("none", "the folder has no files"),
        ("no*.csv", "no file matches the pattern"),
    ] {
        let ran = place.tsql(&[&format!("SELECT * FROM '{path}'")]);
        assert!(ran.stderr.contains(wanted), "{path}: {}", ran.stderr);
        assert_ne!(ran.code, Some(0), "{path}");
    }
}

#[test]
fn writes_are_all_or_nothing() {
    let place = Place::new();
    let ran = place.tsql(&["SELECT 1", "-o", "x.xlsx"]);
    assert!(
        ran.stderr.contains("has no known extension"),
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

/// Minimum and maximum of a Parquet column ignore NaN.
#[test]
fn a_column_of_nan_and_one_value_returns_both() {
    let place = Place::new();
    place.ok(&[
        "SELECT n, CASE WHEN n > 4 THEN 1.0 ELSE CAST('NaN' AS DOUBLE) END AS x FROM generate_series(1, 9) AS t(n)",
        "-o",
        "x.parquet",
    ]);
    for (sql, wanted) in [
        (
            "SELECT count(*) FILTER (WHERE isnan(x)) FROM 'x.parquet'",
            "4",
        ),
        ("SELECT count(*) FROM 'x.parquet' WHERE x = 1", "5"),
        ("SELECT sum(n) FROM 'x.parquet' WHERE isnan(x)", "10"),
        ("SELECT count(*) FROM 'x.parquet'", "9"),
    ] {
        assert_eq!(place.rows(sql), [wanted], "{sql}");
    }
}

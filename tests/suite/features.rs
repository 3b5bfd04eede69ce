//! Features of other programs: imported rows, reports of rejected rows, and uses of features.

use std::fmt::Write as _;
use std::fs;

use serde_json::Value;

use crate::support::{Place, log};

/// Returns a store of four programs of one task, and their keys by line.
fn four_programs() -> (Place, Vec<String>) {
    let place = Place::new();
    place.write("logs/a/x.json", log(1, 4));
    place.ok(&["ingest", "-q", "logs", "--platform", "a"]);
    let keys = place.rows("SELECT config_key FROM records ORDER BY line");
    assert_eq!(keys.len(), 4);
    (place, keys)
}

fn import(place: &Place, file: &str, more: &[&str], code: i32) -> String {
    let args = ["import", "features", file, "--name", "ansor"];
    let ran = place.tsql(&[&args, more].concat());
    assert_eq!(ran.code, Some(code), "{file} {more:?}: {}", ran.stderr);
    assert_eq!(ran.stdout, "");
    ran.stderr
}

#[test]
#[ignore = "full tier"]
fn matching_rows_are_imported_once_and_others_reported_by_line() {
    let (place, keys) = four_programs();
    let unknown = "0123456789abcdef0123456789abcdef";
    let mut rows = "config_key,a,b\n".to_owned();
    for (key, numbers) in [
        (keys[0].as_str(), "1,0.5"),
        (&keys[1], "2,-3"),
        (&keys[0], "1,0.5"),
        (&keys[1], "2,-4"),
        (unknown, "1,1"),
        ("no key", "1,1"),
        (&keys[2], "1,NaN"),
        (&keys[2], "1,"),
        (&keys[2], "1,1e300"),
    ] {
        writeln!(rows, "{key},{numbers}").unwrap();
    }
    place.write("x.csv", rows);
    let stderr = import(&place, "x.csv", &[], 1);
    for line in [
        format!("x.csv:5: line 3 has other numbers for {}", keys[1]),
        format!("x.csv:6: no configuration of the store has the key {unknown}"),
        "x.csv:7: `config_key` is NULL or not a key of 32 hexadecimal digits".to_owned(),
        "x.csv:8: number 1 is NaN".to_owned(),
        "x.csv:9: number 1 is NULL".to_owned(),
        "x.csv:10: number 1 is outside the range of float32".to_owned(),
        "rejected: 3 rows with a NULL, infinite or missing number".to_owned(),
        "ansor@1: 9 rows of 2 numbers, 2 new, 0 unchanged, 1 repeated".to_owned(),
        "missing: 2 configurations of the same graphs; 2 have these features".to_owned(),
    ] {
        assert!(stderr.contains(&line), "{line}: {stderr}");
    }
    let sql = "SELECT r.line, f.name, f.version, f.numbers[1], f.numbers[2] FROM records AS r \
               JOIN features AS f ON f.config_key = r.config_key ORDER BY r.line";
    assert_eq!(place.rows(sql), ["1,ansor,1,1.0,0.5", "2,ansor,1,2.0,-3.0"]);
    let versions = "SELECT count(*), count(DISTINCT config_key) FROM features";
    let stderr = import(&place, "x.csv", &[], 1);
    assert!(
        stderr.contains("0 new, 3 unchanged, 0 repeated"),
        "{stderr}"
    );
    assert_eq!(place.rows(versions), ["2,2"]);
    // Rows of another length belong to another revision.
    let lists: String = keys
        .iter()
        .map(|key| format!("{{\"config_key\": \"{key}\", \"feature\": [1, 2, 3.5]}}\n"))
        .collect();
    place.write("y.jsonl", lists);
    let stderr = import(&place, "y.jsonl", &[], 1);
    assert!(
        stderr.contains("y.jsonl:1: 3 numbers, expected 2 as in ansor@1")
            && stderr.contains("rejected: 4 rows with more or fewer numbers than the others"),
        "{stderr}"
    );
    let stderr = import(&place, "y.jsonl", &["--revision", "2"], 0);
    assert!(
        stderr.contains("ansor@2: 4 rows of 3 numbers, 4 new"),
        "{stderr}"
    );
    for (more, expected) in [
        (["--revision", "4"], "ansor has 2 revisions"),
        (["--revision", "0"], "revisions are counted from 1"),
        (["--column", "none"], "it has no column `none`"),
    ] {
        let stderr = import(&place, "y.jsonl", &more, 2);
        assert!(stderr.contains(expected), "{stderr}");
    }
    place.write("none.csv", "config_key,a\n");
    assert!(import(&place, "none.csv", &[], 2).contains("it has no rows"));
    place.write("keyless.csv", "key,a\n1,2\n");
    assert!(
        import(&place, "keyless.csv", &[], 2)
            .contains("no column `config_key`, and has `key`, `a`")
    );
    let renamed = place.tsql(&["import", "features", "x.csv", "--name", "An-sor"]);
    assert!(renamed.code == Some(2) && renamed.stderr.contains("not a valid name for features"));
    assert_eq!(place.rows(versions), ["6,4"]);
    place.ok(&["check"]);
}

#[test]
#[ignore = "full tier"]
fn training_files_contain_features_with_their_revision() {
    let (place, keys) = four_programs();
    let lists: String = keys[..3]
        .iter()
        .zip(1..)
        .map(|(key, number)| format!("{{\"config_key\": \"{key}\", \"f\": [{number}, 0.25]}}\n"))
        .collect();
    place.write("f.jsonl", lists);
    import(&place, "f.jsonl", &[], 0);
    let export = [
        "export",
        "--format",
        "training",
        "-o",
        "files",
        "--features",
    ];
    let stderr = place
        .tsql(&[&export[..], &["workload_shape,ansor"]].concat())
        .stderr;
    assert!(
        stderr.contains("1 rows without `ansor`: the feature cannot be computed"),
        "{stderr}"
    );
    let written = place.ok(&[&export[..], &["workload_shape,ansor", "--skip-null"]].concat());
    assert!(
        written
            .stderr
            .contains("left out: 1 record without a value"),
        "{}",
        written.stderr
    );
    let sql = "SELECT line, ansor FROM 'files/all/part-00000.parquet' ORDER BY line";
    let rows = place.ok(&[sql, "--format", "jsonl"]).stdout;
    let rows: Vec<Value> = rows
        .lines()
        .map(|row| serde_json::from_str(row).unwrap())
        .collect();
    let expected =
        (1..4).map(|line| serde_json::json!({"line": line, "ansor": [f64::from(line), 0.25]}));
    assert_eq!(rows, expected.collect::<Vec<_>>());
    let manifest = fs::read_to_string(place.path().join("files/manifest.json")).unwrap();
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    let feature = &manifest["features"][1];
    assert_eq!(
        (
            &feature["name"],
            &feature["version"],
            &feature["element_type"]
        ),
        (&"ansor@1".into(), &1.into(), &"Float32".into())
    );
    assert_eq!(manifest["rows"]["features"][1], "ansor@1");
    place.ok(&["export", "--verify", "files"]);
    // A newer revision does not change exports that name the old one.
    place.ok(&[
        "import",
        "features",
        "f.jsonl",
        "--name",
        "ansor",
        "--revision",
        "2",
    ]);
    place.ok(&["export", "--verify", "files"]);
    let ran = place.tsql(&[&export[..], &["none"]].concat());
    assert!(
        ran.code == Some(2) && ran.stderr.contains("ansor@1, ansor@2"),
        "{}",
        ran.stderr
    );
    // Another store has the features under the same keys.
    place.ok(&["copy", ".tsql", "t"]);
    let copied = place.ok(&[
        "--store",
        "t",
        "SELECT count(*) FROM features JOIN configurations USING (config_key)",
    ]);
    assert_eq!(copied.stdout.lines().nth(1), Some("6"));
}

/// Any name is valid, also SQL keywords, except names of other columns.
#[test]
#[ignore = "full tier"]
fn feature_names_become_columns_unless_reserved() {
    let (place, keys) = four_programs();
    let rows = keys
        .iter()
        .map(|key| format!("{{\"config_key\": \"{key}\", \"f\": [7]}}\n"));
    place.write("f.jsonl", rows.collect::<String>());
    for (name, is_reserved) in [
        ("select", false),
        ("config_id", false),
        ("numbers", false),
        ("status", true),
        ("workload_key", true),
        ("of_key", true),
        ("label", true),
    ] {
        place.ok(&["import", "features", "f.jsonl", "--name", name]);
        let args = ["export", "--format", "training", "--features", name, "-o"];
        let exported = place.tsql(&[&args[..], &[name]].concat());
        assert_eq!(
            exported.code == Some(0),
            !is_reserved,
            "{}",
            exported.stderr
        );
        let stderr = exported.stderr;
        assert_eq!(
            stderr.contains("the name of another column"),
            is_reserved,
            "{stderr}"
        );
        if !is_reserved {
            let file = format!("SELECT DISTINCT \"{name}\" FROM '{name}/all/*.parquet'");
            assert_eq!(place.rows(&file), ["[7.0]"]);
        }
    }
}

/// Runs of a log have the features of the sample at the path in the log.
#[test]
fn graphnet_runs_have_the_features_of_their_samples() {
    let place = Place::new();
    place.ok(&["ingest", "-q", crate::graphnet::own().to_str().unwrap()]);
    let runs = "SELECT runs.source_id || ':' || runs.line FROM runs JOIN records USING (source_id, line) \
                WHERE records.status = 'ok' AND sample LIKE '%/convnet'";
    let runs = place.rows(runs);
    assert!(!runs.is_empty());
    place.ok(&[
        "export",
        "--format",
        "training",
        "--features",
        "graphnet_op_histogram,graphnet_tensor_histogram",
        "--skip-null",
        "--where",
        "dataset = 'graphnet'",
        "-o",
        "files",
    ]);
    // Counted line by line in its model.py. A line with two chained calls counts as the last one.
    let ops = "Tensor.chunk:1 Tensor.mean:1 add:1 batch_norm:1 conv2d:1 getitem:2 iadd:1 linear:1 mul:1 relu:1 setitem:1 zeros:1";
    let manifest = fs::read_to_string(place.path().join("files/manifest.json")).unwrap();
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    let names: Vec<&str> = manifest["features"][0]["elements"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect();
    let rows = place.ok(&[
        "SELECT * FROM 'files/all/part-00000.parquet'",
        "--format",
        "jsonl",
    ]);
    let rows: Vec<Value> = rows
        .stdout
        .lines()
        .map(|row| serde_json::from_str(row).unwrap())
        .collect();
    let of_sample = |row: &&Value| {
        runs.contains(&format!(
            "{}:{}",
            row["source_id"].as_str().unwrap(),
            row["line"]
        ))
    };
    assert_eq!(rows.iter().filter(of_sample).count(), runs.len());
    for row in rows.iter().filter(of_sample) {
        let counts = row["graphnet_op_histogram"]
            .as_array()
            .unwrap()
            .iter()
            .zip(&names);
        let found = counts.filter_map(|(count, name)| {
            let count = count.as_f64().unwrap();
            (count > 0.0).then(|| format!("{name}:{count}"))
        });
        let found: Vec<String> = found.collect();
        assert_eq!(found.join(" "), ops);
        let tensors = row["graphnet_tensor_histogram"].as_array().unwrap();
        // Three parameters with 8 * 3 * 3 * 3, 12 * 8 and 12 elements.
        let counted = [0, 25].map(|place: usize| tensors[place].as_f64().unwrap());
        assert_eq!(counted, [3.0, 324.0]);
    }
}

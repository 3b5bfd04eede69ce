//! Splits and keys in SQL: all positions of functions, and rejected queries.

use crate::splits::shapes;
use crate::support::Place;

/// Queries without a matching split, with their error messages.
const NO_SPLITS: [(&str, &str); 8] = [
    (
        "SELECT split('by-tsk') FROM records",
        "did you mean `by-task`?",
    ),
    (
        "SELECT split('by-task@2') FROM records",
        "no split named `by-task@2`",
    ),
    (
        "SELECT split('by-task') FROM platforms_of_mine",
        "platforms_of_mine",
    ),
    (
        "SELECT split('by-task') FROM (SELECT platform FROM records)",
        "needs graph_id, environment_id of each row",
    ),
    (
        "SELECT split('by-task')",
        "needs graph_id, environment_id of each row",
    ),
    (
        "SELECT split(platform) FROM records",
        "expects the name of a split in quotes",
    ),
    (
        "SELECT split('by-task') FROM records AS a JOIN records AS b ON a.config_id = b.config_id",
        "select one relation: split('by-task', a)",
    ),
    ("SELECT table_version('recrods')", "did you mean `records`?"),
];

/// Queries with functions in all positions, and their results. Bars separate rows.
const QUERIES: [(&str, &str); 17] = [
    // In ORDER BY, GROUP BY, HAVING, windows, filters, subqueries, common tables, joins under other names.
    (
        "SELECT platform, line FROM records ORDER BY split('t'), platform DESC, line DESC LIMIT 1",
        "q,6",
    ),
    (
        "SELECT split('t'), count(*) FROM records GROUP BY 1 ORDER BY 1",
        "test,6|train,12",
    ),
    (
        "SELECT count(*) FILTER (WHERE split('t') = 'test') FROM records",
        "6",
    ),
    (
        "SELECT count(*) FROM records AS r JOIN configurations AS c ON c.config_id = r.config_id WHERE split('t') = 'test'",
        "6",
    ),
    (
        "SELECT count(*) FROM configurations WHERE split('s') IN ('test', 'valid')",
        "6",
    ),
    (
        "WITH x AS (SELECT *, split('t') AS part FROM records) SELECT part, max(line) FROM x WHERE part <> 'train' GROUP BY part",
        "test,6",
    ),
    (
        "SELECT count(*) FROM records AS a JOIN records AS b ON a.config_id = b.config_id WHERE split('t', a) = 'test' AND split('s', b) = 'test'",
        "12",
    ),
    (
        "FROM records SELECT count(*) WHERE NOT (split('t') = 'test')",
        "12",
    ),
    (
        "SELECT count(*) FROM (SELECT graph_id, environment_id FROM records) WHERE split('t') = 'train'",
        "12",
    ),
    (
        "SELECT part, n FROM (SELECT split('s') AS part, count(*) AS n FROM records GROUP BY 1) ORDER BY n",
        "train,6|test,12",
    ),
    (
        "SELECT DISTINCT split('t') || '!' AS p FROM records WHERE split('t') = 'valid'",
        "",
    ),
    // Keys of records.
    (
        "SELECT count(DISTINCT config_key), count(DISTINCT r.graph_key), count(DISTINCT environment_key) FROM records AS r",
        "9,3,1",
    ),
    (
        "SELECT count(*) FROM records WHERE config_key IN (SELECT config_key FROM configurations WHERE graph_id IN (SELECT graph_id FROM graphs WHERE workload_key LIKE '%128%'))",
        "6",
    ),
    (
        "SELECT count(*) FROM records AS r JOIN (SELECT DISTINCT config_key FROM records) AS k ON k.config_key = r.config_key",
        "18",
    ),
    (
        "SELECT count(*) FROM records JOIN (SELECT config_key FROM configurations LIMIT 2) AS k USING (config_key)",
        "4",
    ),
    (
        "SELECT octet_length(key_text(key_bytes(config_key))) FROM records ORDER BY config_key LIMIT 1",
        "32",
    ),
    (
        "WITH records AS (SELECT 1 AS config_key) SELECT config_key FROM records",
        "1",
    ),
];

fn assert_rejects(place: &Place, args: &[&str], words: &[&str]) {
    let args = [&["split", "create"], args].concat();
    let ran = place.tsql(&args);
    assert_ne!(ran.code, Some(0), "{args:?}");
    for word in words {
        assert!(ran.stderr.contains(word), "{args:?}: {}", ran.stderr);
    }
}

#[test]
fn invalid_splits_are_rejected() {
    let place = shapes();
    let assert_rejects = |args: &[&str], words: &[&str]| assert_rejects(&place, args, words);
    assert_rejects(
        &["a", "--unit", "network"],
        &["the split has no units", "network_info"],
    );
    assert_rejects(
        &[
            "a",
            "--unit",
            "task",
            "--query",
            "SELECT * FROM records WHERE platform = 'no'",
        ],
        &["the split has no units: the query has no record with a task"],
    );
    for ratio in ["80/20", "0.8/0.1/0.1", "0/0/0", "x"] {
        assert_rejects(
            &["a", "--unit", "task", "--ratio", ratio],
            &["is not a ratio", "80/10/10"],
        );
    }
    assert_rejects(
        &["a", "--unit", "taks"],
        &["no unit of a split named `taks`", "did you mean `task`?"],
    );
    assert_rejects(
        &["a b", "--unit", "task"],
        &["`a b` is not a valid split name"],
    );
    assert_rejects(
        &["a@1", "--unit", "task"],
        &["`a@1` is not a valid split name"],
    );
    assert_rejects(
        &[
            "a",
            "--unit",
            "task",
            "--hold-out",
            "SELECT graph_id FROM graphs WHERE kind = 'no'",
        ],
        &["returns no unit of the store", "test the query"],
    );
    assert_rejects(
        &["a", "--unit", "platform", "--hold-out", "SELECT 'pp'"],
        &["no platform named `pp`", "there are p, q"],
    );
    assert_rejects(
        &[
            "a",
            "--unit",
            "dag",
            "--hold-out",
            "SELECT 'mm', 'later' AS part",
        ],
        &["`later` is not a part"],
    );
    assert_rejects(
        &[
            "a",
            "--unit",
            "dag",
            "--hold-out",
            "SELECT workload_name AS k, CASE WHEN workload_key LIKE '%128%' THEN 'test' ELSE 'valid' END AS part FROM graphs",
        ],
        &["`mm` is assigned both to"],
    );
    assert_rejects(
        &["a", "--unit", "time", "--hold-out", "SELECT 1"],
        &["does not support held-out units"],
    );
    assert_rejects(
        &[
            "a",
            "--unit",
            "task",
            "--query",
            "SELECT platform FROM records",
        ],
        &["no column `graph_id`"],
    );
    assert_rejects(&["a", "--unit", "task", "--query", "SELEC"], &["SELEC"]);
    assert_rejects(
        &["--preset", "tenset-all"],
        &["did you mean `tenset-all-five`?"],
    );
    assert_rejects(
        &["--preset", "tenset-all-five"],
        &["returns no unit of the store", "network_info"],
    );
    assert_eq!(place.rows("SELECT count(*) FROM splits"), ["0"]);
}

#[test]
fn queries_without_a_matching_split_are_rejected() {
    let place = shapes();
    let none = place.tsql(&["SELECT split('a') FROM records"]).stderr;
    assert!(
        none.contains("no split named `a`") && none.contains("tsql split create"),
        "{none}"
    );
    place.ok(&["split", "create", "by-task", "--unit", "task"]);
    for (sql, words) in NO_SPLITS {
        let ran = place.tsql(&[sql]);
        assert!(
            ran.code != Some(0) && ran.stderr.contains(words),
            "{sql}: {}",
            ran.stderr
        );
    }
    let unknown = place
        .tsql(&["split", "check", "by-task", "--level", "L9"])
        .stderr;
    assert!(
        unknown.contains("no level of leaks named `L9`"),
        "{unknown}"
    );
    assert!(
        place
            .tsql(&["split", "drop", "by-taks"])
            .stderr
            .contains("did you mean `by-task`?")
    );
    place.ok(&["split", "drop", "by-task"]);
    assert_eq!(place.rows("SELECT count(*) FROM splits"), ["0"]);
}

/// Splits work in all positions, prune like columns, and are equal at another version.
#[test]
#[ignore = "full tier"]
fn a_split_is_a_function_of_the_row() {
    let place = shapes();
    let large = "SELECT graph_id FROM graphs WHERE workload_key LIKE '%128%'";
    for (name, unit) in [("t", "task"), ("s", "structure")] {
        place.ok(&[
            "split",
            "create",
            name,
            "--unit",
            unit,
            "--ratio",
            "1/0/0",
            "--hold-out",
            large,
        ]);
    }
    place.ok(&["tag", "create", "then"]);
    let mut text = String::new();
    for (sql, _) in QUERIES {
        text += &format!("SELECT '#' AS asked; {sql};\n");
    }
    let wide = "SELECT * FROM records WHERE config_key = 'x'; SELECT * FROM records LIMIT 0;";
    place.write("q.sql", format!("{text}{wide}"));
    place.ok(&["ingest", "-q", "p", "q"]);
    for at in [&[][..], &["--at", "then"]] {
        let out = place
            .ok(&[at, &["-f", "q.sql", "--format", "csv"]].concat())
            .stdout;
        let results: Vec<&str> = out.split("asked\n#\n").collect();
        assert_eq!(results.len(), QUERIES.len() + 1, "{out}");
        for ((sql, expected), result) in QUERIES.iter().zip(&results[1..]) {
            let mut rows = result
                .lines()
                .skip(1)
                .filter(|row| !row.starts_with("dataset,"));
            let rows: Vec<&str> = rows.by_ref().collect();
            assert_eq!(rows.join("|"), *expected, "{sql}");
        }
    }
    // `*` has the same columns with and without a key in the condition.
    let header = |sql: &str| {
        place
            .ok(&[sql])
            .stdout
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    let all = header("SELECT * FROM records LIMIT 1");
    let keyed = "SELECT * FROM records WHERE config_key = (SELECT min(config_key) FROM configurations) LIMIT 1";
    assert_eq!(header(keyed), all);
    assert!(!all.contains("config_key"));
    let explained = place
        .ok(&["EXPLAIN SELECT runtime_ns FROM records WHERE split('s') = 'test'"])
        .stdout;
    assert!(
        explained.contains("graph_id") && !explained.contains("part_in_table"),
        "{explained}"
    );
    let explained = place
        .ok(&["EXPLAIN SELECT runtime_ns FROM records WHERE split('t') = 'test'"])
        .stdout;
    assert!(
        explained.contains("graph_id = ") && explained.contains("part_in_table"),
        "{explained}"
    );
    let version = place.rows("SELECT table_version('records')");
    assert_eq!(
        place.rows("SELECT max(version) FROM (SELECT table_version('records') AS version)"),
        version
    );
}

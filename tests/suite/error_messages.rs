//! Error messages of user mistakes: the fact, a mark at the position, and a hint.

use crate::support::{Place, log};

/// Asserts the error message of a statement on the sample, with the line and the mark below it.
fn assert_error(sql: &str, wanted: &str) {
    let ran = Place::new().tsql(&["--sample", "-c", sql]);
    assert_eq!(ran.code, Some(1), "{sql}: {}", ran.stderr);
    assert_eq!(ran.stderr.trim_end(), wanted, "{sql}");
}

#[test]
fn unknown_names_are_marked_in_the_query() {
    for (sql, wanted) in [
        (
            "SELECT platfrom FROM records",
            "error: no column named `platfrom`\n  \
             SELECT platfrom FROM records\n         ^^^^^^^^\nhint: did you mean `platform`?",
        ),
        (
            "SELECT * FROM recods",
            "error: no table or view named `recods`\n  \
             SELECT * FROM recods\n                ^^^^^^\nhint: did you mean `records`?",
        ),
        (
            "SELECT r.foo, s.line FROM records r JOIN records s USING (line)",
            "error: no column named `r.foo`\n  \
             SELECT r.foo, s.line FROM records r JOIN records s USING (line)\n         ^^^^^\n\
             hint: `tsql describe TABLE` lists the columns; write text in single quotes: 'text'",
        ),
        (
            "SELECT line FROM records r JOIN records s ON r.line = s.line",
            "error: column `line` is in several of the tables\n  \
             SELECT line FROM records r JOIN records s ON r.line = s.line\n         ^^^^\n\
             hint: use TABLE.line",
        ),
        (
            "SELECT count(*) FROM records WHERE platform = \"k80\"",
            "error: no column named `k80`\n  \
             SELECT count(*) FROM records WHERE platform = \"k80\"\n                                                ^^^^^\n\
             hint: `tsql describe records` lists the columns; write text in single quotes: 'text'",
        ),
        (
            "SELECT *\nFROM records\nWHERE runtim_ns > 5",
            "error: no column named `runtim_ns`\n  \
             line 3: WHERE runtim_ns > 5\n                ^^^^^^^^^\nhint: did you mean `runtime_ns`?",
        ),
        (
            "SELECT top_k_eror(runtime_ns, min_ns, 3) FROM records",
            "error: no function named `top_k_eror`\n  \
             SELECT top_k_eror(runtime_ns, min_ns, 3) FROM records\n         ^^^^^^^^^^\n\
             hint: did you mean `top_k_error`?",
        ),
        (
            "SELECT row_number() FROM records",
            "error: `row_number` is a window function\n  \
             SELECT row_number() FROM records\n         ^^^^^^^^^^\n\
             hint: use it over rows: row_number(...) OVER (ORDER BY ...)",
        ),
    ] {
        assert_error(sql, wanted);
    }
}

#[test]
fn syntax_errors_are_marked_in_the_query() {
    for (sql, wanted) in [
        (
            "SELEC 1",
            "error: expected an SQL statement, found `SELEC`\n  \
             SELEC 1\n  ^^^^^\nhint: did you mean `SELECT`?",
        ),
        (
            "SELECT 1 +",
            "error: expected an expression, found the end\n  \
             SELECT 1 +\n            ^",
        ),
        (
            "SELECT 'a",
            "error: unterminated string literal\n  SELECT 'a\n         ^",
        ),
        (
            "SELECT 1 FROM records WHERE line ==== 3",
            "error: expected an expression, found `==`\n  \
             SELECT 1 FROM records WHERE line ==== 3\n                                     ^",
        ),
    ] {
        assert_error(sql, wanted);
    }
}

#[test]
fn wrong_arguments_are_reported_with_valid_ones() {
    let place = Place::new();
    let error = |sql: &str| place.tsql(&["--sample", "-c", sql]).stderr;
    let sum = error("SELECT sum(platform) FROM records");
    assert!(
        sum.starts_with("error: no function matches `sum(Utf8View)`\n"),
        "{sum}"
    );
    assert!(sum.contains("hint: use sum(Decimal), "), "{sum}");
    let grouped = error("SELECT platform, count(*) FROM records");
    assert!(
        grouped.contains("\n         ^^^^^^^^\n")
            && grouped.contains("hint: ")
            && grouped.contains("GROUP BY"),
        "{grouped}"
    );
    for (sql, wanted) in [
        ("SELECT 1 / 0", "error: divide by zero error\n"),
        (
            "SELECT CAST('x' AS INT)",
            "error: cannot cast string 'x' to value of Int32 type\n",
        ),
    ] {
        assert_eq!(error(sql), wanted);
    }
    // Messages contain no layers and no internal names of the engine.
    for sql in [
        "SELECT x FROM y",
        "SELECT nofn(1)",
        "SELECT platform + 1 FROM records",
        "SELECT 1 UNION SELECT 1, 2",
        "SELECT a.b.c.d.e FROM records",
        "SELECT sum(count(*)) FROM records",
    ] {
        let stderr = error(sql);
        for layer in [
            "ParserError",
            "tsql.public.",
            "Error during",
            "Schema error",
            "caused by",
            "bug in DataFusion",
        ] {
            assert!(!stderr.contains(layer), "{sql}: {stderr}");
        }
    }
}

#[test]
fn misspelt_values_are_reported_with_existing_ones() {
    let place = Place::new();
    let stderr = |selected: &str, condition: &str| {
        let sql = format!("SELECT {selected} FROM records r WHERE {condition}");
        let ran = place.tsql(&["--sample", &sql]);
        assert_eq!(ran.code, Some(0), "{sql}: {}", ran.stderr);
        ran.stderr
    };
    for (condition, note) in [
        (
            "platform = 'EPYC-1T'",
            "no platform `EPYC-1T`\nhint: did you mean `epyc-1t`?",
        ),
        (
            "r.platform LIKE 'epyc1t'",
            "no platform `epyc1t`\nhint: did you mean `epyc-1t`?",
        ),
        (
            "dataset = 'TenSet'",
            "no dataset `TenSet`\nhint: did you mean `tenset`?",
        ),
        (
            "status = 'good'",
            "no status `good`\nhint: there are failed, ok, unmeasured",
        ),
    ] {
        for selected in ["line", "count(*)", "max(runtime_ns), count(*)"] {
            assert_eq!(stderr(selected, condition), format!("note: {note}\n"));
        }
    }
    assert_eq!(stderr("count(*)", "platform = 'epyc-1t' AND line < 0"), "");
    assert_eq!(stderr("count(*)", "platform <> 'a100'"), "");
}

#[test]
fn out_of_memory_errors_name_the_largest_consumer() {
    let sql = "SELECT a.value, count(*) FROM generate_series(1, 1000000) a, generate_series(1, 3) b GROUP BY 1 ORDER BY 2 LIMIT 1";
    let ran = Place::new().tsql(&["--sample", "--memory-limit", "2MB", sql]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(
        ran.stderr.starts_with("error: not enough memory within 19"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.contains("most is held by ") && ran.stderr.contains("hint: --memory-limit"),
        "{}",
        ran.stderr
    );
}

#[test]
fn mistyped_commands_files_and_options_get_suggestions() {
    let place = Place::new();
    place.write("logs/records.json", log(1, 3));
    for (args, wanted) in [
        (
            &["ingst", "logs"][..],
            "no command `ingst`\nhint: did you mean `tsql ingest`?",
        ),
        (&["ingst"], "hint: did you mean `tsql ingest`?"),
        (&["nonsense"], "hint: `tsql --help` lists the commands"),
        (
            &["ingest", "logs/record.json"],
            "logs/record.json: no such file, directory or match\nhint: did you mean `logs/records.json`?",
        ),
        (&["--sampel", "SELECT 1"], "'--sample'"),
        (&["ingest", "logs", "--platfrom", "x"], "'--platform'"),
        (
            &["queries", "platform-sumary"],
            "hint: did you mean `platform-summary`?",
        ),
        (&["describe", "recods"], "hint: did you mean `records`?"),
    ] {
        let ran = place.tsql(args);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(2), ""),
            "{args:?}: {}",
            ran.stderr
        );
        assert!(ran.stderr.contains(wanted), "{args:?}: {}", ran.stderr);
    }
    // A mistyped name creates no store.
    assert!(!place.path().join(".tsql").exists());
}

#[test]
fn errors_have_a_json_format() {
    let place = Place::new();
    let json_error = |args: &[&str]| -> serde_json::Value {
        let ran = place.tsql(&[&["--error-format", "json"], args].concat());
        let [line] = ran.stderr.lines().collect::<Vec<_>>()[..] else {
            panic!("{}", ran.stderr)
        };
        serde_json::from_str::<serde_json::Value>(line).unwrap()["error"].clone()
    };
    assert_eq!(
        json_error(&["--sample", "SELECT\n platfrom FROM records"]),
        serde_json::json!({
            "kind": "sql", "message": "no column named `platfrom`", "hint": "did you mean `platform`?",
            "line": 2, "column": 2, "length": 8
        })
    );
    let no_store = json_error(&["SELECT * FROM records"]);
    assert_eq!(no_store["kind"], "no_store");
    assert!(no_store["hint"].as_str().unwrap().contains("tsql ingest"));
    let usage = json_error(&["--sampel"]);
    assert_eq!(usage["kind"], "usage");
    assert!(
        usage["message"].as_str().unwrap().contains("--sampel"),
        "{usage}"
    );
    assert_eq!(
        json_error(&["ingst", "x"])["hint"],
        "did you mean `tsql ingest`?"
    );
    assert_eq!(json_error(&["--sample", "SELECT 1/0"])["kind"], "query");
    let ran = place
        .command(&["--sample", "SELEC 1"])
        .env("TSQL_ERROR_FORMAT", "json")
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&ran.stderr);
    assert!(stderr.starts_with("{\"error\":{"), "{stderr}");
}

/// 0 for success, 1 for a failed query or rejected input, 2 for usage, store or files.
#[test]
fn exit_codes_distinguish_causes() {
    let place = Place::new();
    place.write("logs/a.json", log(1, 3));
    place.write("odd/notes.txt", "nothing that is read\n");
    assert_eq!(place.tsql(&["ingest", "-q", "logs"]).code, Some(0));
    for (args, code) in [
        (&["SELECT 1"][..], 0),
        (&["SELECT nothing FROM records"], 1),
        (&["SELECT 1 / 0"], 1),
        (&["SELECT 1; SELECT x; SELECT 2"], 1),
        (&["ingest", "odd"], 1),
        (&["report", "graphnet", "--to", "r"], 1),
        (&["queries", "network-latency"], 1),
        (&["--format", "xml", "SELECT 1"], 2),
        (&["--store", "nowhere", "SELECT * FROM records"], 2),
        (&["-f", "missing.sql"], 2),
        (&["ingest", "missing"], 2),
        (&["--set", "a=1", "SELECT 1"], 2),
    ] {
        let ran = place.tsql(args);
        assert_eq!(ran.code, Some(code), "{args:?}: {}", ran.stderr);
    }
    // Statements before the error have returned their results.
    let ran = place.tsql(&["--format", "csv", "SELECT 1 AS a; SELECT x; SELECT 2"]);
    assert_eq!(ran.stdout, "a\n1\n");
}

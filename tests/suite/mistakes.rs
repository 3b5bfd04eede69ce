//! What people get wrong: the message says what, points at it, and says what to write instead.

use crate::support::{Place, log};

/// A statement of the sample, and what is said of it: with the line and the mark below it.
fn assert_told(sql: &str, wanted: &str) {
    let ran = Place::new().tsql(&["--sample", "-c", sql]);
    assert_eq!(ran.code, Some(1), "{sql}: {}", ran.stderr);
    assert_eq!(ran.stderr.trim_end(), wanted, "{sql}");
}

#[test]
fn names_that_there_are_not_are_pointed_at() {
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
             hint: `tsql describe TABLE` lists the columns; text goes in single quotes: 'text'",
        ),
        (
            "SELECT line FROM records r JOIN records s ON r.line = s.line",
            "error: column `line` is in more than one of the tables\n  \
             SELECT line FROM records r JOIN records s ON r.line = s.line\n         ^^^^\n\
             hint: say which: TABLE.line",
        ),
        (
            "SELECT count(*) FROM records WHERE platform = \"k80\"",
            "error: no column named `k80`\n  \
             SELECT count(*) FROM records WHERE platform = \"k80\"\n                                                ^^^^^\n\
             hint: `tsql describe records` lists the columns; text goes in single quotes: 'text'",
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
             hint: it goes over rows: row_number(...) OVER (ORDER BY ...)",
        ),
    ] {
        assert_told(sql, wanted);
    }
}

#[test]
fn text_that_is_no_sql_is_pointed_at() {
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
        assert_told(sql, wanted);
    }
}

#[test]
fn what_functions_do_not_take_is_told_with_what_they_do() {
    let place = Place::new();
    let told = |sql: &str| place.tsql(&["--sample", "-c", sql]).stderr;
    let sum = told("SELECT sum(platform) FROM records");
    assert!(
        sum.starts_with("error: no `sum(Utf8View)`: the function takes other arguments\n"),
        "{sum}"
    );
    assert!(
        sum.contains("hint: it is called as sum(Decimal), "),
        "{sum}"
    );
    let grouped = told("SELECT platform, count(*) FROM records");
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
        assert_eq!(told(sql), wanted);
    }
    // Of the engine's layers and of its names for things nothing is told.
    for sql in [
        "SELECT x FROM y",
        "SELECT nofn(1)",
        "SELECT platform + 1 FROM records",
        "SELECT 1 UNION SELECT 1, 2",
        "SELECT a.b.c.d.e FROM records",
        "SELECT sum(count(*)) FROM records",
    ] {
        let told = told(sql);
        for layer in [
            "ParserError",
            "tsql.public.",
            "Error during",
            "Schema error",
            "caused by",
            "bug in DataFusion",
        ] {
            assert!(!told.contains(layer), "{sql}: {told}");
        }
    }
}

#[test]
fn what_does_not_fit_in_memory_is_told_with_who_has_it() {
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
fn commands_files_and_options_that_there_are_not_are_seen_through() {
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
    // A mistyped name makes no store.
    assert!(!place.path().join(".tsql").exists());
}

#[test]
fn programs_are_told_in_json() {
    let place = Place::new();
    let told = |args: &[&str]| -> serde_json::Value {
        let ran = place.tsql(&[&["--error-format", "json"], args].concat());
        let [line] = ran.stderr.lines().collect::<Vec<_>>()[..] else {
            panic!("{}", ran.stderr)
        };
        serde_json::from_str::<serde_json::Value>(line).unwrap()["error"].clone()
    };
    assert_eq!(
        told(&["--sample", "SELECT\n platfrom FROM records"]),
        serde_json::json!({
            "kind": "sql", "message": "no column named `platfrom`", "hint": "did you mean `platform`?",
            "line": 2, "column": 2, "length": 8
        })
    );
    let no_store = told(&["SELECT * FROM records"]);
    assert_eq!(no_store["kind"], "no_store");
    assert!(no_store["hint"].as_str().unwrap().contains("tsql ingest"));
    let usage = told(&["--sampel"]);
    assert_eq!(usage["kind"], "usage");
    assert!(
        usage["message"].as_str().unwrap().contains("--sampel"),
        "{usage}"
    );
    assert_eq!(told(&["ingst", "x"])["hint"], "did you mean `tsql ingest`?");
    assert_eq!(told(&["--sample", "SELECT 1/0"])["kind"], "query");
    let ran = place
        .command(&["--sample", "SELEC 1"])
        .env("TSQL_ERROR_FORMAT", "json")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(said.starts_with("{\"error\":{"), "{said}");
}

/// 0 done, 1 the question failed or something was refused, 2 usage, store or files.
#[test]
fn exit_codes_say_whose_fault_it_is() {
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
    // What came before the mistake was answered.
    let ran = place.tsql(&["--format", "csv", "SELECT 1 AS a; SELECT x; SELECT 2"]);
    assert_eq!(ran.stdout, "a\n1\n");
}

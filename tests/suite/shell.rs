//! The command line: formats, sources of the query, exit codes, pipes.

use std::io::Read as _;
use std::process::Stdio;

use crate::support::{Place, log};

fn filled() -> Place {
    let place = Place::new();
    place.write("p/a.json", log(1, 3));
    place.ok(&["ingest", "p"]);
    place
}

#[test]
fn every_format_contains_every_row() {
    let place = filled();
    let sql = "SELECT line, runtime_ns, error_message FROM records ORDER BY line LIMIT 2";
    for (format, wanted) in [
        (
            "csv",
            "line,runtime_ns,error_message\n1,1001000.0,\n2,1002000.0,\n",
        ),
        (
            "tsv",
            "line\truntime_ns\terror_message\n1\t1001000.0\t\n2\t1002000.0\t\n",
        ),
        (
            "jsonl",
            "{\"line\":1,\"runtime_ns\":1001000.0,\"error_message\":null}\n{\"line\":2,\"runtime_ns\":1002000.0,\"error_message\":null}\n",
        ),
        ("none", ""),
    ] {
        assert_eq!(
            place.ok(&["--format", format, sql]).stdout,
            wanted,
            "{format}"
        );
    }
    assert!(
        place
            .ok(&["--format", "table", sql])
            .stdout
            .contains("(2 rows)")
    );
    assert!(
        place
            .ok(&["--format", "markdown", sql])
            .stdout
            .starts_with("| line")
    );
    assert!(
        place
            .ok(&["--format", "vertical", sql])
            .stdout
            .starts_with("-[ row 1 ]")
    );
    for (file, magic) in [
        ("x.parquet", b"PAR1".as_slice()),
        ("x.arrow", b"ARROW1"),
        ("x.arrows", &[255, 255, 255, 255]),
    ] {
        assert_eq!(place.ok(&[sql, "-o", file]).stdout, "");
        assert!(place.read(file).starts_with(magic), "{file}");
    }
    let back = place.rows("SELECT sum(runtime_ns) FROM 'x.parquet'");
    assert_eq!(back, ["2003000.0"]);
}

#[test]
fn a_query_is_read_from_arguments_files_or_stdin() {
    let place = filled();
    place.write("q.sql", "SELECT 1 AS a;\n-- then\nSELECT 2 AS b;");
    assert_eq!(place.ok(&["-f", "q.sql"]).stdout, "a\n1\nb\n2\n");
    assert_eq!(
        place.ok(&["-c", "-- comment first\nSELECT 3 AS c"]).stdout,
        "c\n3\n"
    );
    for args in [vec!["-"], vec![]] {
        assert_eq!(
            place.tsql_with_input(&args, b"SELECT 4 AS d").stdout,
            "d\n4\n"
        );
    }
}

#[test]
fn errors_go_to_stderr() {
    let place = filled();
    for (args, code, reason) in [
        (vec!["SELEC 1"], 1, "expected an SQL statement"),
        (vec!["SELECT nothing FROM records"], 1, "nothing"),
        (vec!["SELECT * FROM record"], 1, "record"),
        (vec!["ingst"], 2, "no command `ingst`\nhint: "),
        (
            vec!["describe", "rec"],
            2,
            "no table named `rec`\nhint: there are node_types, graphs, ",
        ),
        (vec!["queries", "best"], 2, "no built-in query named `best`"),
        (vec!["--format", "xml", "SELECT 1"], 2, "possible values"),
        (vec!["-f", "missing.sql"], 2, "missing.sql: "),
    ] {
        let ran = place.tsql(&args);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(code), ""),
            "{args:?}: {}",
            ran.stderr
        );
        assert!(ran.stderr.contains(reason), "{args:?}: {}", ran.stderr);
    }
}

#[test]
fn a_closed_output_pipe_is_no_error() {
    let place = filled();
    let sql = "SELECT a.value, b.value FROM generate_series(1, 3000) a, generate_series(1, 300) b";
    let mut child = place
        .command(&[sql])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 100];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stderr).as_ref()
        ),
        (Some(0), "")
    );
}

#[test]
fn the_store_is_named_or_found() {
    let place = filled();
    let count = "SELECT count(*) FROM records";
    std::fs::create_dir_all(place.path().join("deep/down")).unwrap();
    let below = place
        .command(&[count])
        .current_dir(place.path().join("deep/down"))
        .output()
        .unwrap();
    assert_eq!(below.stdout, b"count(*)\n3\n");
    let named = Place::new();
    let store = place.path().join(".tsql");
    let output = named
        .command(&[count])
        .env("TSQL_STORE", &store)
        .output()
        .unwrap();
    assert_eq!(output.stdout, b"count(*)\n3\n");
    assert_eq!(
        named
            .ok(&["--store", store.to_str().unwrap(), count])
            .stdout,
        "count(*)\n3\n"
    );
}

/// A query in a folder without a store never reads the sample store.
#[test]
fn the_sample_is_used_only_with_its_option() {
    let place = Place::new();
    let count = "SELECT count(*) FROM records";
    let query = ["queries", "platform-summary"];
    let commands: [&[&str]; 5] = [
        &[count],
        &["--at", "records@1", count],
        &["SELECT * FROM rejects"],
        &["tables"],
        &query,
    ];
    for args in commands {
        let ran = place.tsql(args);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{args:?}");
        assert!(
            ran.stderr.contains("there is no store here") && ran.stderr.contains("--sample"),
            "{args:?}: {}",
            ran.stderr
        );
    }
    assert_eq!(place.rows("SELECT 1 + 1"), ["2"]);
    let sample = |args: &[&str]| place.ok(&[args, &["--sample"]].concat()).stdout;
    assert_eq!(sample(&[count]), "count(*)\n480\n");
    assert!(sample(&["tables"]).contains("records,480,"));
    assert!(sample(&query).lines().count() > 1);
    assert!(sample(&["describe", "records"]).contains("runtime_ns"));
    place.write("p/a.json", log(1, 1));
    let written = place.tsql(&["--sample", "ingest", "p"]);
    assert_eq!(written.code, Some(2));
    assert!(
        written.stderr.contains("`tsql ingest` cannot use it"),
        "{}",
        written.stderr
    );
    // `--sample` ignores a named store and one in the working directory.
    place.ok(&["init"]);
    assert_eq!(place.rows(count), ["0"]);
    assert_eq!(sample(&[count]), "count(*)\n480\n");
}

#[test]
#[ignore = "full tier"]
fn every_built_in_query_returns_rows_for_the_sample() {
    let place = Place::new();
    // The sample has no networks (see `networks`), no repeated files and no repeated records. Both platforms have all programs.
    let lacking = [
        (
            "gflops-by-operator",
            "needs records of tasks with known operations",
        ),
        ("gflops-beside-peak", "the store has none"),
        (
            "hold-out-networks",
            "needs records of tasks of these networks, but the store has none",
        ),
        (
            "missing-programs",
            "no rows meet the conditions with has = epyc-1t, lacks = epyc-2t",
        ),
        ("network-latency", "the store has none"),
        ("noise-floor", "platform with 20 pairs of repeated records"),
        (
            "parameter-importance",
            "configurations with named parameters",
        ),
        ("pareto-time-energy", "records with the metric `energy`"),
        (
            "random-search",
            "graphs whose search space was measured exhaustively",
        ),
        ("search-spaces", "records of autotuners"),
        ("recent-changes", "no rows meet the conditions"),
        ("roofline", "the store has none"),
        ("rejected-lines", "no rows meet the conditions"),
        ("source-regressions", "no rows meet the conditions"),
        ("task-bounds", "the store has none"),
        ("task-gflops", "the store has none"),
    ];
    let listed = place.ok(&["queries", "--format", "csv"]).stdout;
    let mut results = 0;
    for name in listed
        .lines()
        .skip(1)
        .map(|line| line.split(',').next().unwrap())
        .filter(|name| !name.starts_with("tpugraphs-") && !name.starts_with("graphnet-"))
    {
        let ran = place.tsql(&["--sample", "queries", name]);
        if let Some((_, why)) = lacking.iter().find(|(lacking, _)| *lacking == name) {
            assert!(ran.stderr.contains(why), "{name}: {}", ran.stderr);
            continue;
        }
        assert_eq!(ran.code, Some(0), "{name}: {}", ran.stderr);
        assert!(ran.stdout.lines().count() > 1, "{name}: {}", ran.stderr);
        results += 1;
    }
    assert!(results > 15, "{results}");
    // Default values of parameters are reported, given values are not.
    let chosen = place.ok(&["--sample", "queries", "widest-tasks"]).stderr;
    assert_eq!(
        chosen,
        "note: platform = epyc-1t (--set platform=NAME for another)\n"
    );
    let chosen_args = [
        "--sample",
        "queries",
        "widest-tasks",
        "--set",
        "platform=epyc-2t",
    ];
    assert_eq!(place.ok(&chosen_args).stderr, "");
    let set = [
        "--sample",
        "queries",
        "best-program-per-graph",
        "--set",
        "platform=epyc-2t",
    ];
    let set = place.ok(&set).stdout;
    assert!(set.contains("epyc-2t/"), "{set}");
}

#[test]
fn tables_describe_and_history_report_the_contents() {
    let place = filled();
    assert!(place.ok(&["tables"]).stdout.contains("records,3,1,"));
    let columns = place.ok(&["describe", "records"]).stdout;
    assert!(
        columns.contains("runtime_ns,Float64,yes,ns,stored,,")
            && columns.contains("graph_id,Int64,no,,stored,\"graphs, configurations\",")
            && columns.contains("config_id,Int64,no,,stored,configurations,"),
        "{columns}"
    );
    assert!(
        columns.contains("noise,Float64,yes,,computed,"),
        "{columns}"
    );
    place.ok(&["optimize"]);
    assert!(
        place.ok(&["optimize"]).stderr.starts_with("0 files"),
        "a second time there is nothing to do"
    );
    let again = place.ok(&["optimize", "--again"]).stderr;
    assert!(!again.starts_with("0 files"), "{again}");
    assert_eq!(place.rows("SELECT count(*) FROM records"), ["3"]);
    let history = place.ok(&["history"]).stdout;
    assert!(
        history.contains("records,1,WRITE,ingest of 1 files"),
        "{history}"
    );
    assert!(
        place
            .ok(&["vacuum", "--dry-run", "--retain", "0s"])
            .stdout
            .contains("part-")
            || history.contains("OPTIMIZE")
    );
}

#[test]
fn queries_are_timed_and_respect_their_memory_limit() {
    let place = filled();
    let timed = place.ok(&["--timer", "-c", "SELECT 1; SELECT line FROM records"]);
    let lines: Vec<&str> = timed.stderr.lines().collect();
    assert_eq!(lines.len(), 2, "{}", timed.stderr);
    assert!(lines[1].starts_with("3 rows in 0."), "{}", lines[1]);
    let limited = [
        "--memory-limit",
        "64MB",
        "SELECT line FROM records ORDER BY runtime_ns",
    ];
    assert_eq!(place.ok(&limited).stdout.lines().count(), 4);
    let tiny = place.tsql(&["--memory-limit", "1B", limited[2]]);
    assert_eq!(tiny.code, Some(1));
    assert!(tiny.stderr.contains("--memory-limit"), "{}", tiny.stderr);
    let wrong = place.tsql(&["--memory-limit", "much", "SELECT 1"]);
    assert!(wrong.stderr.contains("500MB or 2GiB"), "{}", wrong.stderr);
}

#[test]
fn failed_records_sort_last_in_both_directions() {
    let place = filled();
    for order in ["ASC", "DESC"] {
        let values = "(VALUES (1.0), (NULL), (2.0)) AS v (t)";
        let rows = place.rows(&format!(
            "SELECT t, t IS NULL FROM {values} ORDER BY t {order}"
        ));
        assert_eq!(rows.last().map(String::as_str), Some(",true"), "{order}");
    }
}

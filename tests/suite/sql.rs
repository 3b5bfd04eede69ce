//! SQL over synthetic lines. Expected values are computed by hand.

use crate::support::{Place, line, result_line};

fn store() -> Place {
    let place = Place::new();
    let lines = [
        line(1, "0.001, 0.002, 0.003"),
        line(2, "0.0005"),
        result_line(3, "[1e+10], 6, 15.25, 1600000000"),
        result_line(4, "[0], 0, 0, 1600000001"),
    ];
    place.write("k80/a.json", lines.join("\n") + "\n");
    place.write(
        "t4/a.json",
        line(1, "0.004") + "\n" + &line(2, "2.34567e-05") + "\nbad\n",
    );
    assert_eq!(place.tsql(&["ingest", "k80", "t4"]).code, Some(1));
    place
}

#[test]
fn computed_columns_match_the_line() {
    let place = store();
    let rows = place.rows(
        "SELECT line, status, runtime_ns, min_ns, round(noise, 6), repeat_count, all_cost_s, \
         measured_at, array_to_string(repeats_ns, ' ') FROM records WHERE platform = 'k80' ORDER BY line",
    );
    assert_eq!(
        rows,
        [
            "1,ok,2000000.0,1000000.0,0.408248,3,0.5,2023-11-14T22:13:21Z,1000000 2000000 3000000",
            "2,ok,500000.0,500000.0,,1,0.5,2023-11-14T22:13:22Z,500000",
            "3,failed,,,,0,15.25,2020-09-13T12:26:40Z,",
            "4,unmeasured,,,,0,0.0,2020-09-13T12:26:41Z,",
        ]
    );
}

/// Parameters of lambda functions are not mistaken for columns of the files.
#[test]
fn lambda_functions_read_lists_of_records() {
    let place = store();
    let rows = place.rows(
        "SELECT array_to_string(list_transform(repeats_ns, x -> x / 1000), ' '), \
         len(list_filter(repeats_ns, x -> x > min_ns)) FROM records WHERE platform = 'k80' AND line = 1",
    );
    assert_eq!(rows, ["1000 2000 3000,2"]);
    let sql = "SET tsql.rules.lambda_projections = false; \
               SELECT list_transform(repeats_ns, x -> x + 1) FROM records";
    let without = place.tsql(&[sql]);
    assert_ne!(
        without.code,
        Some(0),
        "DataFusion is right without `lambda_projections`: remove the workaround"
    );
}

#[test]
fn runtimes_are_exact() {
    let rows = store().rows("SELECT runtime_ns FROM records WHERE platform = 't4' ORDER BY line");
    assert_eq!(rows, ["4000000.0", "23456.7"]);
}

#[test]
fn counts_and_extremes_agree_with_and_without_filters() {
    let place = store();
    for (sql, wanted) in [
        ("SELECT count(*) FROM records", "6"),
        ("SELECT count(*) FROM records WHERE platform = 't4'", "2"),
        (
            "SELECT count(*) FROM records WHERE platform IN ('t4', 'none')",
            "2",
        ),
        ("SELECT count(*) FROM records WHERE platform = 'none'", "0"),
        (
            "SELECT count(*) FROM records WHERE NOT platform = 't4'",
            "4",
        ),
        (
            "SELECT count(*) FROM records WHERE platform = 't4' OR line = 4",
            "3",
        ),
        ("SELECT count(runtime_ns) FROM records", "4"),
        (
            "SELECT min(runtime_ns), max(runtime_ns) FROM records",
            "23456.7,4000000.0",
        ),
        (
            "SELECT min(line), max(line) FROM records WHERE error_no = 6",
            "3,3",
        ),
        ("SELECT count(*) FROM records WHERE runtime_ns < 1e6", "2"),
    ] {
        assert_eq!(place.rows(sql), [wanted], "{sql}");
    }
}

#[test]
fn one_program_on_two_platforms_is_one_configuration() {
    let place = store();
    assert_eq!(place.rows("SELECT count(*) FROM configurations"), ["4"]);
    let pairs = place.rows(
        "SELECT a.runtime_ns, b.runtime_ns FROM records a JOIN records b USING (config_id) \
         WHERE a.platform = 'k80' AND b.platform = 't4' ORDER BY 1",
    );
    assert_eq!(pairs, ["500000.0,23456.7", "2000000.0,4000000.0"]);
    let names = place.rows("SELECT workload_name, workload_args FROM graphs");
    assert_eq!(names, ["mm,\"[64, 64]\""]);
    let target =
        place.rows("SELECT target, target_kind, hardware_params[1], writer FROM environments");
    assert_eq!(target, ["llvm -keys=cpu,llvm,4,tvm"]);
}

#[test]
fn steps_and_parameters_reproduce_the_program() {
    let place = store();
    let rows = place.rows("SELECT params_list, sketch FROM configurations ORDER BY config_id");
    assert_eq!(rows.len(), 4);
    assert!(
        rows[0].contains("[\"\"SP\"\", ?, ?, ?, [?, ?], ?]"),
        "{}",
        rows[0]
    );
    let steps = place.rows("SELECT steps FROM configurations ORDER BY config_id LIMIT 1");
    assert!(
        steps[0].contains("[\"\"SP\"\", 1, 0, 64, [1, 4], 1]"),
        "{}",
        steps[0]
    );
}

#[test]
fn rejects_have_their_reason_and_text() {
    let rows = store().rows("SELECT name, line, text FROM rejects");
    assert_eq!(rows, ["t4/a.json,3,bad"]);
}

#[test]
fn an_empty_store_can_be_queried() {
    let place = Place::new();
    place.ok(&["init"]);
    assert_eq!(
        place.rows("SELECT count(*), min(runtime_ns) FROM records"),
        ["0,"]
    );
    assert!(place.rows("SELECT * FROM rejects").is_empty());
    place.ok(&["check"]);
}

#[test]
fn a_path_is_a_table() {
    let place = store();
    place.write("predictions.csv", "line,score\n1,0.5\n2,0.25\n");
    let sql = "SELECT p.score FROM 'predictions.csv' p JOIN records r USING (line) WHERE r.platform = 't4' ORDER BY 1";
    assert_eq!(place.rows(sql), ["0.25", "0.5"]);
}

#[test]
fn common_sql_variants_are_accepted() {
    let place = store();
    for (sql, wanted) in [
        (
            "SELECT line FROM records WHERE platform = 'k80' ORDER BY line FETCH FIRST 2 ROWS ONLY",
            "line|1|2",
        ),
        (
            "SELECT line FROM records WHERE platform = 'k80' ORDER BY line OFFSET 1 ROW FETCH NEXT ROW ONLY",
            "line|2",
        ),
        (
            "SELECT error_no, error_no, CAST(error_no AS DOUBLE) FROM records WHERE line = 3",
            "error_no,error_no_2,error_no_3|6,6,6.0",
        ),
        (
            "SELECT (SELECT count(*) FROM records), (SELECT count(*) FROM configurations)",
            "count(*),count(*)_2|6,4",
        ),
        (
            "SELECT count(*) AS n FROM records WHERE (platform, line) IN (SELECT platform, line FROM records WHERE line < 3) AND error_no = 0",
            "n|4",
        ),
        (
            "SELECT count(*) AS n FROM records WHERE (runtime_ns IS NULL) IS DISTINCT FROM TRUE AND platform = 't4'",
            "n|2",
        ),
        (
            "SELECT count(*) AS n FROM records WHERE platform IS DISTINCT FROM 't4' AND line = 3 OR line = 1",
            "n|3",
        ),
        (
            "SELECT min_by(line, runtime_ns) AS a, arg_max(line, runtime_ns) AS b, max_by(runtime_ns, line) AS c, min_by(platform, error_no) AS d FROM records",
            "a,b,c,d|2,1,23456.7,k80",
        ),
        (
            "SELECT platform, min_by(line, runtime_ns) FILTER (WHERE line <> 2) AS a FROM records GROUP BY platform ORDER BY platform",
            "platform,a|k80,1|t4,1",
        ),
        (
            "SELECT min_by(line, runtime_ns) IS NULL AS a FROM records WHERE error_no <> 0",
            "a|true",
        ),
        (
            "SELECT percentile_cont(0.12345678) WITHIN GROUP (ORDER BY x) AS p, quantile_cont(x, 0.5) AS q, percentile_cont(0.25) WITHIN GROUP (ORDER BY x DESC) AS r FROM (VALUES (0.0), (1e9)) AS t(x)",
            "p,q,r|123456780.0,500000000.0,750000000.0",
        ),
        (
            "SELECT platform, percentile_cont(0.5) WITHIN GROUP (ORDER BY line) AS p FROM records GROUP BY platform ORDER BY platform",
            "platform,p|k80,2.5|t4,1.5",
        ),
    ] {
        let result = place.ok(&[sql]).stdout.trim_end().replace('\n', "|");
        assert_eq!(result, wanted, "{sql}");
    }
}

#[test]
fn row_membership_in_a_subquery_respects_null() {
    let place = store();
    let equal = place.rows("SELECT count(*) FROM records WHERE (graph_id, runtime_ns) IN (SELECT graph_id, runtime_ns FROM records)");
    // NULL equals nothing.
    assert_eq!(equal, ["4"]);
    // By hand: (2, NULL) differs from both rows, and (3, 3) may equal the second.
    let absent = "SELECT a FROM (VALUES (1, 1), (2, NULL), (3, 3)) AS l(a, b) WHERE (a, b) NOT IN (SELECT * FROM (VALUES (1, 1), (3, NULL)) AS r(x, y))";
    assert_eq!(place.rows(absent), ["2"]);
}

#[test]
fn rejected_sql_has_a_hint() {
    let place = store();
    for (sql, hint) in [
        (
            "SELECT * FROM records TABLESAMPLE BERNOULLI (1)",
            "random() < 0.01",
        ),
        (
            "SELECT platform SIMILAR TO status FROM records",
            "supports any regular expression",
        ),
        ("SELECT 1 FETCH FIRST 1 ROW WITH TIES", "rank()"),
        (
            "SELECT p.platform, (SELECT r.line FROM records AS r WHERE r.platform = p.platform ORDER BY line LIMIT 2) FROM records AS p",
            "ORDER BY ... LIMIT 1",
        ),
        (
            "SELECT u FROM records AS r CROSS JOIN unnest(r.repeats_ns) AS t(u)",
            "unnest(list)",
        ),
        (
            "SET datafusion.optimizer.enable_window_topn = true",
            "cannot be enabled",
        ),
        (
            "SELECT line, min_by(line, line) OVER () FROM records",
            "first_value",
        ),
        ("SELECT (SELECT line, line FROM records)", "EXISTS"),
    ] {
        let ran = place.tsql(&[sql]);
        assert_eq!(ran.code, Some(1), "{sql}");
        assert!(ran.stderr.contains(hint), "{sql}: {}", ran.stderr);
    }
    let mut command = place.command(&["SELECT 1"]);
    command.env("DATAFUSION_OPTIMIZER_ENABLE_WINDOW_TOPN", "true");
    let ran = command.output().unwrap();
    assert_eq!(ran.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&ran.stderr).contains("cannot be enabled"));
}

#[test]
fn platforms_with_null_among_them_are_selected_everywhere() {
    let place = store();
    let list = "platform IN ('t4', 'a', 'b', NULL)";
    assert_eq!(
        place.rows(&format!("SELECT count(*) FROM records WHERE {list}")),
        ["2"]
    );
    let joined = format!(
        "SELECT count(*), median(r.line) FROM records AS r JOIN graphs AS g USING (graph_id) WHERE r.{list}"
    );
    assert_eq!(place.rows(&joined), ["2,1.5"]);
    place.ok(&[&format!(
        "COPY (SELECT line FROM records WHERE {list}) TO 'copied.csv'"
    )]);
    assert_eq!(place.read("copied.csv"), b"line\n1\n2\n");
    let chosen = place.ok(&["export", "--format", "tenset", "--where", list]);
    assert_eq!(chosen.stdout.lines().count(), 2);
}

#[test]
#[ignore = "full tier"]
fn a_version_of_records_matches_its_ingest_log() {
    let place = store();
    let joined = "SELECT count(*), count(s.source_id), count(g.graph_id), count(c.config_id) FROM records AS r \
                  LEFT JOIN (SELECT DISTINCT source_id FROM sources) AS s USING (source_id) \
                  LEFT JOIN graphs AS g USING (graph_id) LEFT JOIN configurations AS c USING (config_id)";
    place.write("v100/a.json", line(7, "0.001") + "\n");
    place.ok(&["ingest", "v100"]);
    place.write(
        "v100/a.json",
        line(7, "0.001") + "\n" + &line(8, "0.002") + "\n",
    );
    place.ok(&["ingest", "v100"]);
    for (version, rows) in [(1, "6,6,6,6"), (2, "7,7,7,7"), (3, "8,8,8,8")] {
        let at = format!("records@{version}");
        let then = place.ok(&["--at", &at, joined]).stdout;
        assert_eq!(then.lines().nth(1), Some(rows), "{at}");
    }
    let ledger = "SELECT count(*) FROM sources";
    let at = |version: &str| place.ok(&["--at", version, ledger]).stdout;
    assert_eq!(at("records@1"), "count(*)\n2\n");
    assert_eq!(at("records@2"), "count(*)\n3\n");
    assert_eq!(at("sources@1"), "count(*)\n2\n");

    // The clock moves back: the third commit is the oldest. The named table has that version.
    let entry = "records/_delta_log/00000000000000000003.json";
    let store = if place.path().join(".tsql").is_dir() {
        ".tsql"
    } else {
        "s"
    };
    let entry = place.path().join(store).join(entry);
    let text = std::fs::read_to_string(&entry).unwrap();
    let begin = text.find("\"timestamp\":").unwrap() + "\"timestamp\":".len();
    let end = begin + text[begin..].find([',', '}']).unwrap();
    for stepped in [
        format!("{}1000000000000{}", &text[..begin], &text[end..]),
        format!("{}null{}", &text[..begin], &text[end..]),
        format!("{}9000000000000{}", &text[..begin], &text[end..]),
    ] {
        std::fs::write(&entry, stepped).unwrap();
        for (version, rows) in [(1, "6,6,6,6"), (2, "7,7,7,7"), (3, "8,8,8,8")] {
            let at = format!("records@{version}");
            let then = place.ok(&["--at", &at, joined]).stdout;
            assert_eq!(then.lines().nth(1), Some(rows), "{at}");
        }
    }
    // The time of a version is at least the time of all earlier versions. The ingest log has versions of the same
    // times, and rows without a source in it are in no result.
    for table in ["records", "sources"] {
        for (version, second) in [(0, 0), (1, 40), (2, 20), (3, 60)] {
            let entry = format!("{table}/_delta_log/{version:020}.json");
            let entry = place.path().join(store).join(entry);
            let text = std::fs::read_to_string(&entry).unwrap();
            let begin = text.find("\"timestamp\":").unwrap() + "\"timestamp\":".len();
            let end = begin + text[begin..].find([',', '}']).unwrap();
            let text = format!("{}{}{}", &text[..begin], second * 1000, &text[end..]);
            std::fs::write(&entry, text).unwrap();
        }
    }
    for (second, rows) in [(10, "0"), (30, "0"), (50, "7"), (59, "7")] {
        let at = format!("1970-01-01T00:00:{second}Z");
        let then = place.ok(&["--at", &at, "SELECT count(*) FROM records"]);
        assert_eq!(then.stdout, format!("count(*)\n{rows}\n"), "{at}");
    }
}

#[test]
fn optimizer_rules_are_listed_and_switched_off() {
    let place = store();
    let rules = place.rows("SHOW tsql.rules");
    assert!(rules.iter().any(|row| row.starts_with("full_sort,true,")));
    let sql = "EXPLAIN SELECT line FROM records ORDER BY runtime_ns";
    let is_named = |sql: &str| {
        let rows = place.rows(sql);
        let mut rows = rows.iter().filter(|row| row.starts_with("rules,"));
        rows.any(|row| row.contains("full_sort"))
    };
    assert!(is_named(sql));
    assert!(!is_named(&format!(
        "SET tsql.rules.full_sort = false; {sql}"
    )));
    let unknown = place.tsql(&["SET tsql.rules.sort = false; SELECT 1"]);
    assert_eq!(unknown.code, Some(1), "{}", unknown.stderr);
    assert!(
        unknown
            .stderr
            .contains("did you mean `tsql.rules.full_sort`?"),
        "{}",
        unknown.stderr
    );
}

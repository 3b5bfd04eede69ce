//! What SQL says, on lines of our own; expected values worked out by hand.

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
fn computed_columns_say_what_the_line_says() {
    let place = store();
    let rows = place.rows(
        "SELECT line, status, runtime_ns, min_ns, round(noise, 6), repeat_count, all_cost_s, \
         measured_at, array_to_string(repeats_ns, ' ') FROM records WHERE platform = 'k80' ORDER BY line",
    );
    assert_eq!(
        rows,
        [
            "1,ok,2000000.0,1000000.0,0.408248,3,0.5,2023-11-14T22:13:21Z,1000000 2000000 3000000",
            "2,ok,500000.0,500000.0,0.0,1,0.5,2023-11-14T22:13:22Z,500000",
            "3,failed,,,,0,15.25,2020-09-13T12:26:40Z,",
            "4,unmeasured,,,,0,0.0,2020-09-13T12:26:41Z,",
        ]
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
fn steps_and_parameters_make_up_the_program() {
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
fn an_empty_store_answers() {
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

//! AutoTVM logs: ingest, deduplication, queries and export.

use serde_json::Value;

use crate::support::{Place, shared};

/// Lines of two configurations of a template, and one of a program that failed.
pub(crate) const LINES: &str = r#"{"input": ["cuda -keys=cuda,gpu", "dense", [["TENSOR", [1, 768], "float32"], null], {}], "config": {"index": 5, "code_hash": null, "entity": [["tile_k", "sp", [-1, 8]]]}, "result": [[0.5, 0.25], 0, 2.2458248138427734, 1694904726.0244505], "version": 0.2, "tvm_version": "0.8.dev0"}
{"input": ["cuda -keys=cuda,gpu", "dense", [["TENSOR", [1, 768], "float32"], null], {}], "config": {"index": 6, "code_hash": null, "entity": [["tile_k", "sp", [-1, 16]]]}, "result": [[0.125], 0, 2.5, 1694904727.5], "version": 0.2, "tvm_version": "0.8.dev0"}
{"input": ["cuda -keys=cuda,gpu", "dense", [["TENSOR", [1, 768], "float32"], null], {}], "config": {"index": 5, "code_hash": null, "entity": [["tile_k", "sp", [-1, 8]]]}, "result": [[1000000000.0], 1, 10, 1694904728.25], "version": 0.2, "tvm_version": "0.8.dev0"}
"#;

#[test]
fn lines_become_template_records_and_export_unchanged() {
    let place = Place::new();
    let text = format!("{LINES}{{\"input\": 1, \"config\": 2, \"result\": 3}}\n");
    place.write("gpu/log.json", &text);
    let ran = place.tsql(&["ingest", "gpu"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    let expected = "log.json:4: `input` is not a list";
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    let sql = "SELECT r.dataset, platform, g.workload_name, g.workload_args, e.target_kind, e.log_version, \
                 e.tvm_version, count(*), count(DISTINCT config_id), min(runtime_ns), max(error_no), \
                 max(measured_at) FROM records r JOIN graphs g USING (graph_id) \
                 JOIN environments e USING (environment_id) GROUP BY 1, 2, 3, 4, 5, 6, 7";
    let row = place.rows(sql);
    let wanted = r#"autotvm,gpu,dense,"[[""TENSOR"", [1, 768], ""float32""], null]",cuda,0.2,0.8.dev0,3,2,125000000.0,1,2023-09-16T22:52:08Z"#;
    assert_eq!(row, [wanted]);
    let knobs = "SELECT params_list FROM configurations ORDER BY config_id";
    assert_eq!(place.rows(knobs).len(), 2);
    place.ok(&["check"]);
    place.ok(&["export", "--to", "back"]);
    assert_eq!(place.read("back/gpu/log.json"), text.as_bytes());
    let verbatim = place.rows("SELECT sum(verbatim_count) FROM sources");
    assert_eq!(verbatim, ["0"], "all are rebuilt from columns");
}

#[test]
fn a_stream_resumes_after_the_last_stored_line() {
    let place = Place::new();
    let append = [
        "append",
        "--stream",
        "night",
        "--platform",
        "p",
        "--input-format",
        "autotvm",
    ];
    let first: String = LINES.split_inclusive('\n').take(1).collect();
    for (text, count) in [(first.as_str(), "1"), (LINES, "3"), (LINES, "3")] {
        let ran = place.tsql_with_input(&append, text.as_bytes());
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert_eq!(place.rows("SELECT count(*) FROM records"), [count]);
    }
    place.ok(&["export", "--to", "back"]);
    assert_eq!(place.read("back/streams/p/night.json"), LINES.as_bytes());
}

/// Python's JSON parser produced the expected numbers of the real log.
#[test]
fn the_real_log_matches_its_json() {
    let Some(shared) = shared() else { return };
    let folder = shared.join("data/autotvm");
    let file = folder.join("matmul.json");
    let text = std::fs::read_to_string(&file).unwrap();
    let place = Place::new();
    place.ok(&["ingest", "-q", file.to_str().unwrap(), "--platform", "cpu"]);
    let mut errors = std::collections::BTreeMap::<i64, usize>::new();
    let (mut best, mut configs) = (f64::INFINITY, std::collections::BTreeSet::new());
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let result = &line["result"];
        let error = result[1].as_i64().unwrap();
        *errors.entry(error).or_default() += 1;
        if error == 0 {
            best = best.min(result[0][0].as_f64().unwrap());
        }
        configs.insert((line["input"].to_string(), line["config"].to_string()));
    }
    let wanted: Vec<String> = errors
        .iter()
        .map(|(error, n)| format!("{error},{n}"))
        .collect();
    let by_error = "SELECT error_no, count(*) FROM records GROUP BY 1 ORDER BY 1";
    assert_eq!(place.rows(by_error), wanted);
    let sql = "SELECT min(runtime_ns) / 1e9 FROM records";
    let found: f64 = place.rows(sql)[0].parse().unwrap();
    assert!(
        (found - best).abs() <= best * 1e-15,
        "{found} is not {best}"
    );
    let sql = "SELECT count(*) FROM configurations";
    assert_eq!(place.rows(sql), [configs.len().to_string()]);
    let verbatim = place.rows("SELECT sum(verbatim_count) FROM sources");
    assert_eq!(verbatim, ["0"], "all are rebuilt from columns");
    place.ok(&["check"]);
    place.ok(&["export", "--to", "back"]);
    assert!(
        place.read("back/matmul.json") == text.as_bytes(),
        "it differs"
    );
}

use super::*;

const LINE: &str = r#"{"input": ["cuda -keys=cuda,gpu", "dense", [["TENSOR", [1, 768], "float32"], null, "float32"], {}], "config": {"index": 5, "code_hash": null, "entity": [["tile_k", "sp", [-1, 8]], ["unroll_kw", "ot", false]]}, "result": [[0.0136712, 1.28171e-05], 0, 2.2458248138427734, 1694904726.0244505], "version": 0.2, "tvm_version": "0.13.dev0"}"#;

/// Asserts that columns reproduce the lines, and returns their rows.
fn rebuilt(text: &str) -> LogRows {
    let rows = parse(text.as_bytes(), false);
    assert!(rows.others.is_empty(), "{:?}", rows.others);
    assert!(rows.verbatim.is_empty(), "{:?}", rows.verbatim);
    rows
}

#[test]
fn a_line_is_template_arguments_configuration_and_result() {
    let rows = rebuilt(LINE);
    let graph = r#"["dense", ["TENSOR", [1, 768], "float32"], null, "float32"]"#;
    assert_eq!(rows.graphs, [graph]);
    let environment = &rows.environments[0];
    assert_eq!(environment.target, "cuda -keys=cuda,gpu");
    assert_eq!(environment.log_version, "0.2");
    assert_eq!(environment.tvm_version.as_deref(), Some("0.13.dev0"));
    assert_eq!(environment.writer, JsonWriter::Python);
    let row = &rows.records[0];
    assert_eq!(row.runtime_ns, Some((13_671_200.0 + 12_817.1) / 2.0));
    assert_eq!((row.repeat_count, row.error_no), (2, 0));
    assert_eq!(row.measured_at_s, Some(1_694_904_726));
    assert_eq!(row.measured_at_fraction, Some(244_505));
}

#[test]
fn configurations_of_one_template_have_one_sketch() {
    let other = LINE
        .replace("\"index\": 5", "\"index\": 6")
        .replace("-1, 8", "-1, 16");
    let rows = rebuilt(&format!("{LINE}\n{other}\n"));
    assert_eq!(
        (rows.records.len(), rows.graphs.len(), rows.sketches.len()),
        (2, 1, 1)
    );
    let [first, other] = [&rows.records[0], &rows.records[1]];
    assert_ne!(first.program, other.program);
    let mut steps = Vec::new();
    let sketch = &rows.sketches[0].text;
    assert!(tsql_codecs::sketch::fill(
        sketch,
        rows.params(other),
        &mut steps
    ));
    let expected = r#"{"index": 6, "code_hash": null, "entity": [["tile_k", "sp", [-1, 16]], ["unroll_kw", "ot", false]]}"#;
    assert_eq!(String::from_utf8(steps).unwrap(), expected);
}

#[test]
fn supported_formats_are_rebuilt() {
    let compact = LINE.replace(", ", ",").replace(": ", ":");
    assert_eq!(
        rebuilt(&compact).environments[0].writer,
        JsonWriter::PythonCompact
    );
    for (old, new) in [
        (", \"tvm_version\": \"0.13.dev0\"", ""),
        ("1694904726.0244505", "1694904726"),
        ("1694904726.0244505", "1694904726.0"),
        ("1694904726.0244505", "1694904726.5"),
        (
            "[[\"TENSOR\", [1, 768], \"float32\"], null, \"float32\"]",
            "[]",
        ),
        (
            "[0.0136712, 1.28171e-05], 0, 2.2458248138427734",
            "[1000000000.0], 6, 10",
        ),
        ("[0.0136712, 1.28171e-05]", "[0]"),
        ("cuda -keys=cuda,gpu", "\\u00e4 \\\"x\\\""),
    ] {
        assert!(LINE.contains(old), "{old}");
        rebuilt(&LINE.replace(old, new));
    }
    let crlf = parse(format!("{LINE}\r\n").as_bytes(), true);
    assert!(crlf.verbatim.is_empty() && crlf.others.is_empty());
}

#[test]
fn unusual_valid_lines_are_stored_verbatim() {
    for (old, new) in [
        ("2.2458248138427734", "10.0"),
        ("1694904726.0244505", "1694904726.02445051"),
        ("1694904726.0244505", "1694904726.500"),
        ("\"version\": 0.2", "\"version\":  0.2"),
        ("[0.0136712, 1.28171e-05], 0", "[0.0136712], 4"),
    ] {
        assert!(LINE.contains(old), "{old}");
        let line = LINE.replace(old, new);
        let rows = parse(line.as_bytes(), false);
        assert_eq!(rows.records.len(), 1, "{:?}", rows.others);
        assert_eq!(rows.verbatim, [(0, line.into_bytes())]);
    }
}

#[test]
fn failed_and_unmeasured_programs_have_no_runtime() {
    let failed = LINE.replace("[0.0136712, 1.28171e-05], 0", "[1000000000.0], 1");
    let proposed = LINE.replace("[0.0136712, 1.28171e-05]", "[0]");
    let rows = rebuilt(&format!("{failed}\n{proposed}\n"));
    let results = rows.records.iter();
    let results = results.map(|row| (row.runtime_ns, row.repeat_count, row.error_no));
    assert_eq!(results.collect::<Vec<_>>(), [(None, 0, 1), (None, 0, 0)]);
}

#[test]
fn errors_have_a_reason() {
    for (old, new, expected) in [
        ("{}]", "{\"a\": 1}]", "the keyword arguments in `input`"),
        ("\"dense\"", "7", "the template is not a string: `7`"),
        ("[-1, 8]]", "[-1, 8]", "expected"),
        (
            "0, 2.2458248138427734",
            "2.2458248138427734",
            "3 elements, expected 4",
        ),
        (
            "[0.0136712, 1.28171e-05], 0",
            "[0.0136712, -1], 0",
            "cost `-1`",
        ),
        (
            "1.28171e-05], 0",
            "1.28171e305], 0",
            "run time is out of range",
        ),
        ("1694904726.0244505", "9694904726000000", "invalid time"),
        ("1694904726.0244505", "1e9", "invalid time"),
        ("\"version\": 0.2, ", "", "key `version` is missing"),
        (
            "\"version\": 0.2",
            "\"version\": 0.3",
            "unknown version 0.3, expected 0.2",
        ),
        (
            "\"version\": 0.2",
            "\"versions\": 0.2",
            "unknown key `versions`",
        ),
        (" 0, 2.24", " 70000, 2.24", "error number"),
    ] {
        assert!(LINE.contains(old), "{old}");
        let rows = parse(LINE.replace(old, new).as_bytes(), false);
        assert_eq!(rows.records.len(), 0, "{new}");
        let reason = rows.others[0].reason.as_deref().unwrap();
        assert!(reason.contains(expected), "{reason}");
    }
}

#[test]
fn logs_differ_from_other_json() {
    assert!(Log.begins_record(LINE.as_bytes()));
    assert!(
        !Log.begins_record(
            br#"{"i": [["[\"mm\"]", "llvm"], []], "r": [[0], 0, 0, 0], "v": "v0.6"}"#
        )
    );
    assert!(!Log.begins_record(br#"["7523732197612418965", "UlEAAA"]"#));
    assert!(!Log.begins_record(b""));
}

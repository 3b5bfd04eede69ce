use super::*;

const LINE: &str = r#"{"workload_key": ["matmul_f32", {"K": 512, "M": 128}], "steps": {"TILE_M": 8, "UNROLL": 2}, "repeats_ns": [1312345.5, 1312000, 1299871.25], "cpu_repeats_ns": [1312001, 1311999, 1299870], "disturbed_repeats": [[2500000.5, 1400000, 3]], "flags": ["migrated", "not_converged"], "all_cost_s": 0.25, "measured_at": 1697658022, "environment": {"target": "c", "machine": {"cores": 2, "model": "a \u00e9"}, "settings": {"repeat": 10}, "program": {"files": {"mm.c": "int x;\n"}}}}"#;

fn parse_one(text: &str) -> LogRows {
    let rows = parse(text.as_bytes(), false);
    assert!(rows.others.is_empty(), "{:?}", rows.others);
    assert_eq!(rows.records.len(), 1);
    rows
}

#[test]
fn a_line_is_rebuilt_from_columns_with_spaces_and_without() {
    let rows = parse_one(LINE);
    assert!(rows.verbatim.is_empty());
    assert_eq!(rows.environments[0].writer, JsonWriter::Python);
    assert_eq!(rows.graphs, [r#"["matmul_f32", {"K": 512, "M": 128}]"#]);
    assert_eq!(
        rows.sketches[0].text,
        br#"{"TILE_M": ?, "UNROLL": ?}"#.to_vec()
    );
    let row = rows.records[0];
    assert_eq!(row.repeat_count, 3);
    let mean = (1_312_345.5 + 1_312_000.0 + 1_299_871.25) / 3.0;
    assert!((row.runtime_ns.unwrap() - mean).abs() < 1e-6);
    let details = rows.details(&row).unwrap();
    assert_eq!(
        details.flags.as_ref().unwrap(),
        &["migrated", "not_converged"]
    );
    let mut compact = Vec::new();
    tsql_codecs::json::write_compact(LINE.as_bytes(), &mut compact);
    let rows = parse_one(std::str::from_utf8(&compact).unwrap());
    assert!(rows.verbatim.is_empty());
    assert_eq!(rows.environments[0].writer, JsonWriter::PythonCompact);
}

#[test]
fn short_lines_and_failures_are_rebuilt_too() {
    for line in [
        r#"{"workload_key": "mm", "steps": "tile=8"}"#,
        r#"{"workload_key": "mm", "steps": {"a?": 1}, "repeats_ns": [7]}"#,
        r#"{"workload_key": "[1,", "steps": [], "repeats_ns": [0.125, 7]}"#,
        r#"{"workload_key": [1], "steps": {"x": {"y": [1, -2, 2.5]}}, "error_no": 4, "error_message": "signal:11: \"x\"\n", "all_cost_s": 1e-05}"#,
        r#"{"workload_key": [1], "steps": {}, "repeats_ns": [0.1], "baseline_ns": 17.5, "environment": {"settings": {}}}"#,
    ] {
        assert!(parse_one(line).verbatim.is_empty(), "{line}");
    }
}

#[test]
fn other_formats_are_stored_verbatim_with_equal_columns() {
    let reordered = r#"{"steps": {"UNROLL":2,"TILE_M":8}, "workload_key": ["matmul_f32",{"M":128,"K":512}], "runtime_ns": 5.0, "measured_at": "2023-10-18T19:40:22.5Z"}"#;
    // With the same environment, which determines the kernel.
    let environment = &LINE[LINE.find(", \"environment\"").unwrap()..];
    let reordered = &format!("{}{environment}", reordered.trim_end_matches('}'));
    let rows = parse_one(reordered);
    assert_eq!(rows.verbatim, [(0, reordered.as_bytes().to_vec())]);
    let canonical = parse_one(LINE);
    assert_eq!(rows.graphs, canonical.graphs);
    assert_eq!(rows.records[0].program, canonical.records[0].program);
    assert_eq!(rows.records[0].measured_at_s, Some(1_697_658_022));
    assert_eq!(rows.records[0].runtime_ns, Some(5.0));
}

#[test]
fn invalid_lines_have_a_reason() {
    for (line, reason) in [
        (r#"{"steps": {}}"#, "key `workload_key` is missing"),
        (
            r#"{"workload_key": 7, "steps": {}}"#,
            "`workload_key` is not a string, list or object",
        ),
        (
            r#"{"workload_key": "a", "steps": {}, "step": 1}"#,
            "unknown key `step`",
        ),
        (
            r#"{"workload_key": "a", "workload_key": "a", "steps": {}}"#,
            "duplicate key `workload_key`",
        ),
        (
            r#"{"workload_key": "a", "steps": {}, "repeats_ns": [1, -2]}"#,
            "`repeats_ns`: invalid value `-2`, expected a number of at least 0",
        ),
        (
            r#"{"workload_key": "a", "steps": {}, "repeats_ns": 3}"#,
            "`repeats_ns` is not a list",
        ),
        (
            r#"{"workload_key": "a", "steps": {}, "repeats_ns": [1], "cpu_repeats_ns": []}"#,
            "has 0 numbers",
        ),
        (
            r#"{"workload_key": "a", "steps": {}, "error_no": 99999}"#,
            "`error_no`: invalid value `99999`",
        ),
        (
            r#"{"workload_key": "a", "steps": {}, "flags": ["a,b"]}"#,
            "invalid flag `a,b`",
        ),
        (
            r#"{"workload_key": "a", "steps": {}, "measured_at": "yesterday"}"#,
            "RFC 3339",
        ),
        (
            r#"{"workload_key": "a", "steps": {}, "environment": {"host": 1}}"#,
            "environment: unknown key `host`",
        ),
        (r#"{"workload_key": "a", "steps": {}"#, "EOF"),
        ("[1]", "not a JSON object"),
    ] {
        let rows = parse(line.as_bytes(), false);
        assert_eq!(rows.records.len(), 0, "{line}");
        let actual = rows.others[0].reason.as_deref().unwrap();
        assert!(actual.contains(reason), "{line}: {actual}");
    }
}

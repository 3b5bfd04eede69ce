//! Synthetic records, in both formats of TVM and others.

use tsql_codecs::identity::ProgramHash;
use tsql_codecs::repeats;

use super::*;
use crate::Folder;
use crate::log_context::CompanionGraphs;
use crate::rows::LogRow;

/// Written by TVM 0.27; older versions write `GetBlock` and `[1]`.
const LINE: &str = r#"[3,[[[["GetSBlock",[],["T_add","main"],["b0"]],["Annotate",["b0","\"SSRSRS\""],["meta_schedule.tiling_structure"],[]],["SamplePerfectTile",["l2"],[2,64],["v6","v7"]],["Split",["l2","v6","v7"],[1,0],["l10","l11"]],["SampleCategorical",[],[[0,16],[0.2000000000000000111,0.8000000000000000444]],["v9"]],["ComputeAt",["b0","l56"],[1,-1],[]]],[[2,[16,8]],[4,1],[5,-1]]],[0.00050302899999999999784,5.5322999999999998696e-05],{"keys":["cpu"],"kind":"llvm","mcpu":"generic","num-cores":2,"tag":""},[["TENSOR","float32",[1,128,128]],["TENSOR","float32",[128]]]]]"#;

const TIMES: &str = "[0.00050302899999999999784,5.5322999999999998696e-05]";

/// Its arguments in the format of keys.
const ARGUMENTS: &str = r#"[["TENSOR", "float32", [1, 128, 128]], ["TENSOR", "float32", [128]]]"#;

/// Asserts that columns reproduce the lines, and returns their rows.
fn rebuilt(text: &str) -> LogRows {
    let rows = parse(text.as_bytes(), false, &LogContext::default());
    assert!(rows.others.is_empty(), "{:?}", rows.others);
    assert!(rows.verbatim.is_empty(), "{:?}", rows.verbatim);
    rows
}

/// `LINE` with a part replaced.
fn replace_in_line(old: &str, new: &str) -> String {
    assert!(LINE.contains(old), "{old}");
    LINE.replace(old, new)
}

fn fill_sketch(rows: &LogRows, row: &LogRow) -> String {
    let mut trace = Vec::new();
    let sketch = &rows.sketches[row.sketch as usize].text;
    assert!(tsql_codecs::sketch::fill(
        sketch,
        rows.params(row),
        &mut trace
    ));
    String::from_utf8(trace).unwrap()
}

#[test]
fn a_line_is_workload_trace_times_target_and_arguments() {
    let rows = rebuilt(LINE);
    assert_eq!(rows.graphs, [format!("[\"#3\", {ARGUMENTS}, \"\", 0]")]);
    assert_eq!(rows.records[0].workload_index, Some(3));
    let environment = &rows.environments[0];
    let target = r#"{"keys":["cpu"],"kind":"llvm","mcpu":"generic","num-cores":2,"tag":""}"#;
    assert_eq!(environment.target, target);
    assert_eq!(environment.writer, JsonWriter::TvmCompact);
    let row = &rows.records[0];
    assert_eq!(row.runtime_ns, Some((503_029.0 + 55_323.0) / 2.0));
    assert_eq!((row.repeat_count, row.error_no), (2, 0));
    assert_eq!((row.all_cost, row.measured_at_s), (None, None));
    let trace = fill_sketch(&rows, row);
    assert!(
        trace.ends_with(", [[2, [16, 8]], [4, 1], [5, -1]]]"),
        "{trace}"
    );
}

#[test]
fn workloads_are_identified_by_the_companion_file() {
    let context = |file: &str| {
        let names = Log.read_graph_names(&mut file.as_bytes()).unwrap();
        let file = "database_workload.json".to_owned();
        LogContext {
            source_id: -5,
            folder: Folder {
                name: "a \"b\"".to_owned(),
                hash: "1c".to_owned(),
            },
            graphs: Some(CompanionGraphs { file, names }),
        }
    };
    let location_key = format!(r##"["a \"b\"#3", {ARGUMENTS}, "1c", -5]"##);
    // Invalid lines count, too. A workload without a hash is identified by its location.
    let hash = "18446744073709551615";
    let prefix = "[\"7\",\"\"]\n\nx\n";
    for (file, key) in [
        (
            format!("{prefix}[\"{hash}\",\"\"]\n"),
            format!("[\"{hash}\", {ARGUMENTS}]"),
        ),
        (
            format!("{prefix}[ \"0042\" , \"no module"),
            format!("[\"42\", {ARGUMENTS}]"),
        ),
        (
            format!("{prefix}[\"99999999999999999999\",\"\"]\n"),
            location_key,
        ),
    ] {
        let rows = parse(LINE.as_bytes(), false, &context(&file));
        assert_eq!(rows.graphs, [key], "{:?}", rows.others);
        assert!(rows.verbatim.is_empty());
    }
    let rows = parse(LINE.as_bytes(), false, &context(prefix));
    assert_eq!(
        rows.others[0].reason.as_deref().unwrap(),
        "workload 3 (from 0) is not in `database_workload.json`, which has 3 lines"
    );
    let max_lines = "\n".repeat(1 << 20);
    assert_eq!(
        Log.read_graph_names(&mut max_lines.as_bytes())
            .unwrap()
            .len(),
        1 << 20
    );
    let error = Log
        .read_graph_names(&mut format!("{max_lines}\n").as_bytes())
        .unwrap_err();
    assert_eq!(error.to_string(), "more than 1048576 workloads");
    let names = |name| Log.companion_file_name(name);
    let expected = Some("database_workload.json".to_owned());
    assert_eq!(names("database_tuning_record.json"), expected);
    assert_eq!(names("database_tuning_record.json.gz"), expected);
    assert_eq!(names("records.json"), None);
}

#[test]
fn programs_of_one_design_have_one_sketch() {
    let other = replace_in_line("[16,8]", "[4,32]").replace("[4,1]", "[4,0]");
    let rows = rebuilt(&format!("{LINE}\n{other}\n"));
    assert_eq!(
        (rows.records.len(), rows.graphs.len(), rows.sketches.len()),
        (2, 1, 1)
    );
    assert!(!rows.sketches[0].literal);
    let [first, other] = [&rows.records[0], &rows.records[1]];
    assert_ne!(first.program, other.program);
    assert!(fill_sketch(&rows, other).ends_with(", [[2, [4, 32]], [4, 0], [5, -1]]]"));
}

#[test]
fn supported_formats_are_rebuilt() {
    let older = LINE
        .replace("GetSBlock", "GetBlock")
        .replace("[1,0]", "[1]");
    rebuilt(&older);
    let python = replace_in_line(TIMES, "[0.000503029,5.5323e-05]");
    assert_eq!(
        rebuilt(&python).environments[0].writer,
        JsonWriter::PythonCompact
    );
    let spaced =
        String::from_utf8(tsql_codecs::json::normalize_spacing(python.as_bytes())).unwrap();
    let rows = rebuilt(&format!("{spaced}\n{LINE}"));
    assert_eq!(rows.environments[0].writer, JsonWriter::Python);
    assert_eq!(rows.environments[0].target, rows.environments[1].target);
    assert_eq!((rows.graphs.len(), rows.sketches.len()), (1, 1));
    assert_eq!(rows.records[0].program, rows.records[1].program);
    assert_eq!(rows.records[0].runtime_ns, rows.records[1].runtime_ns);
    for (old, new) in [
        (TIMES, "[0.00050302899999999999784]"),
        (
            TIMES,
            "[2.1597788127208481006e-05,1.9843601130742046304e-05,1.9591760989399292206e-05]",
        ),
        (TIMES, "[0.25,0.25,0.25]"),
        (TIMES, "[0,1,2.5]"),
        (TIMES, "[4.9406564584124654418e-324]"),
        (TIMES, "[9999999999.9999980927,1.0000000000000000818e-05]"),
        ("[[2,[16,8]],[4,1],[5,-1]]", "[]"),
        ("\\\"SSRSRS\\\"", "\\\"a\\\\ b, c: d\\n\\t\\/ ?..\\\""),
        ("T_add", "T_add$12"),
        ("\"main\"", "\"\\u00e4 \u{e4}\""),
        (
            r#"{"keys":["cpu"],"kind":"llvm","mcpu":"generic","num-cores":2,"tag":""}"#,
            "null",
        ),
        (
            r#"{"keys":["cpu"],"kind":"llvm","mcpu":"generic","num-cores":2,"tag":""}"#,
            "{}",
        ),
        (
            "\"mcpu\":\"generic\"",
            "\"host\":{\"kind\":\"llvm\",\"mcpu\":\"a, b: c\"}",
        ),
        (
            r#"[["TENSOR","float32",[1,128,128]],["TENSOR","float32",[128]]]"#,
            "null",
        ),
        (
            r#"[["TENSOR","float32",[1,128,128]],["TENSOR","float32",[128]]]"#,
            "[]",
        ),
        ("[3,[", "[0,["),
        ("[3,[", "[2147483647,["),
    ] {
        rebuilt(&replace_in_line(old, new));
    }
    let crlf = parse(
        format!("{LINE}\r\n\r\n{LINE}\r\n").as_bytes(),
        true,
        &LogContext::default(),
    );
    assert!(crlf.verbatim.is_empty());
    assert_eq!((crlf.records.len(), crlf.others.len()), (2, 1));
    assert_eq!(crlf.others[0].reason, None);
}

#[test]
fn failed_and_unmeasured_programs_have_no_runtime() {
    let failed = replace_in_line(TIMES, "[10000000000]");
    let unmeasured = replace_in_line(TIMES, "null");
    let rows = rebuilt(&format!("{failed}\n{unmeasured}\n"));
    let results = rows.records.iter();
    let results = results.map(|row| (row.runtime_ns, row.repeat_count, row.error_no));
    assert_eq!(results.collect::<Vec<_>>(), [(None, 0, 8), (None, 0, 0)]);
}

#[test]
fn unusual_valid_lines_are_stored_verbatim() {
    for (times, error_no) in [
        ("[]", 0),
        ("[0]", 0),
        ("[0.0]", 0),
        ("[10000000000,10000000000]", 8),
        ("[0.25,1e300]", 8),
        ("[1e10]", 8),
        ("[0.250]", 0),
        // Neither twenty digits of a double nor the shortest digits.
        ("[0.00050302899999999999785]", 0),
        ("[0.0005030290]", 0),
    ] {
        let line = replace_in_line(TIMES, times);
        let rows = parse(line.as_bytes(), false, &LogContext::default());
        assert_eq!(rows.records.len(), 1, "{:?}", rows.others);
        assert_eq!(rows.records[0].error_no, error_no, "{times}");
        assert_eq!(rows.verbatim, [(0, line.into_bytes())]);
    }
    for (old, new) in [
        ("[3,[", "[3, ["),
        ("[3,[", "\u{feff}[3,["),
        ("[16,8]", "[16,\t8]"),
    ] {
        let line = replace_in_line(old, new);
        let rows = parse(line.as_bytes(), false, &LogContext::default());
        assert_eq!(rows.verbatim, [(0, line.into_bytes())]);
    }
    // One line of a file with the other line ending.
    let rows = parse(LINE.as_bytes(), true, &LogContext::default());
    assert_eq!(rows.verbatim.len(), 1);
}

#[test]
fn errors_have_a_reason() {
    for (old, new, expected) in [
        ("[3,[", "[-3,[", "invalid workload index `-3`"),
        ("[3,[", "[3.0,[", "invalid workload index `3.0`"),
        ("[3,[", "[3,4,[", "the line has 3 elements, expected 2"),
        (
            "[16,8]",
            "[16,8",
            "invalid JSON: EOF while parsing a list at line 1 column 552",
        ),
        (
            ",[[2,[16,8]],[4,1],[5,-1]]",
            "",
            "the trace has 1 elements, expected 2",
        ),
        (
            "[[2,[16,8]],[4,1],[5,-1]]",
            "7",
            "instructions and decisions of the trace",
        ),
        (TIMES, "0.5", "the run times are not a list"),
        (TIMES, "[-0.5]", "run time `-0.5`"),
        (TIMES, "[null]", "run time `null`"),
        (TIMES, "[\"0.5\"]", "run time `\"0.5\"`"),
        (TIMES, "[0.5],0", "the record has 5 elements, expected 4"),
        (
            "{\"keys\":[\"cpu\"],",
            "[],{\"keys\":[\"cpu\"],",
            "the record has 5 elements",
        ),
        (
            r#"{"keys":["cpu"],"kind":"llvm","mcpu":"generic","num-cores":2,"tag":""}"#,
            "\"llvm\"",
            "the target is not an object",
        ),
        (
            r#"[["TENSOR","float32",[1,128,128]],["TENSOR","float32",[128]]]"#,
            "{}",
            "the argument types are not a list",
        ),
    ] {
        let text = format!("{}\n{LINE}", replace_in_line(old, new));
        let rows = parse(text.as_bytes(), false, &LogContext::default());
        assert_eq!(rows.records.len(), 1, "{new}");
        assert_eq!(rows.others[0].line, 0);
        let reason = rows.others[0].reason.as_deref().unwrap();
        assert!(reason.contains(expected), "{reason}");
    }
    let rows = parse(b"[0,[[[\xff", false, &LogContext::default());
    let reason = rows.others[0].reason.as_deref().unwrap();
    assert_eq!(reason, "invalid UTF-8 at byte 7");
}

#[test]
fn records_differ_from_other_json() {
    let spaced = tsql_codecs::json::normalize_spacing(LINE.as_bytes());
    assert!(Log.begins_record(LINE.as_bytes()) && Log.begins_record(&spaced));
    assert!(Log.begins_record(b"[12,[[[]"));
    for other in [
        &br#"["7523732197612418965","UlEAAA=="]"#[..],
        br#"[1,[["TENSOR"]]]"#,
        b"[,[[[",
        b"[1",
        br#"{"i": [["[\"mm\"]", "llvm"], []], "r": [[0], 0, 0, 0], "v": "v0.6"}"#,
        b"",
    ] {
        assert!(!Log.begins_record(other));
    }
}

/// Each byte of a line removed, duplicated or swapped, and the line truncated there.
#[test]
fn damaged_lines_are_parsed_or_stored() {
    let mut damaged = Vec::new();
    for position in 0..LINE.len() {
        let (prefix, rest) = LINE.as_bytes().split_at(position);
        for middle in [
            &b""[..],
            b"]",
            b"[",
            b"\"",
            b"9",
            b"-",
            b"e",
            b"?",
            b"..",
            b"\xc3",
        ] {
            damaged.extend_from_slice(prefix);
            damaged.extend_from_slice(middle);
            damaged.extend_from_slice(&rest[1..]);
            damaged.push(b'\n');
        }
        damaged.extend_from_slice(prefix);
        damaged.push(b'\n');
    }
    let rows = parse(&damaged, false, &LogContext::default());
    let count = LINE.len() * 11;
    assert_eq!(rows.line_count, count as u64);
    assert_eq!(rows.records.len() + rows.others.len(), count);
    for row in &rows.records {
        assert_eq!(
            ProgramHash::from_steps(fill_sketch(&rows, row).as_bytes()),
            row.program,
            "{row:?}"
        );
        if let Some(runtime_ns) = row.runtime_ns {
            let repeat_bytes = rows.repeats(row);
            assert!(repeats::is_mean(runtime_ns, row.repeat_count, repeat_bytes));
        }
    }
}

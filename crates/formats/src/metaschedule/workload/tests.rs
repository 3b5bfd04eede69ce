//! Synthetic workloads in graphs of both formats, and invalid ones.

use super::*;

/// `main` with one parameter and a second one without a buffer, and a block in a loop in `root`.
const OLDER: &str = r#"{"root": 1, "nodes": [{"type_key": ""},
    {"type_key": "IRModule", "attrs": {"functions": "2"}},
    {"type_key": "Map", "data": [3, 5]},
    {"type_key": "GlobalVar", "attrs": {"name_hint": "4"}},
    {"type_key": "runtime.String", "repr_str": "main"},
    {"type_key": "tir.PrimFunc", "attrs": {"params": "6", "buffer_map": "9", "body": "16"}},
    {"type_key": "Array", "data": [7, 8]},
    {"type_key": "tir.Var", "attrs": {"name": "14", "dtype": "handle"}},
    {"type_key": "tir.Var", "attrs": {"name": "15", "dtype": "int32"}},
    {"type_key": "Map", "data": [7, 10]},
    {"type_key": "tir.Buffer", "attrs": {"name": "13", "dtype": "float32", "shape": "11"}},
    {"type_key": "Array", "data": [12, 12]},
    {"type_key": "IntImm", "attrs": {"dtype": "int32", "value": "64"}},
    {"type_key": "runtime.String", "repr_str": "p0"},
    {"type_key": "runtime.String", "repr_str": "var_p0"},
    {"type_key": "runtime.String", "repr_str": "n"},
    {"type_key": "tir.BlockRealize", "attrs": {"block": "17"}},
    {"type_key": "tir.Block", "attrs": {"name_hint": "18", "init": "0", "body": "19"}},
    {"type_key": "runtime.String", "repr_str": "root"},
    {"type_key": "tir.SeqStmt", "attrs": {"seq": "20"}},
    {"type_key": "Array", "data": [21, 24]},
    {"type_key": "tir.For", "attrs": {"kind": "0", "body": "22"}},
    {"type_key": "tir.Block", "attrs": {"name_hint": "23", "init": "0", "body": "26"}},
    {"type_key": "runtime.String", "repr_str": "pad"},
    {"type_key": "tir.Block", "attrs": {"name_hint": "25", "init": "26", "body": "26"}},
    {"type_key": "runtime.String", "repr_str": "T_add"},
    {"type_key": "tir.BufferStore", "attrs": {"value": "12"}}],
    "b64ndarrays": [], "attrs": {"tvm_version": "0.16.dev0"}}"#;

const LATER: &str = r#"{"root_index": 1, "nodes": [{"type": "None"},
    {"type": "ir.IRModule", "data": {"functions": 2}},
    {"type": "ffi.Map", "data": [3, 5, 3, 16]},
    {"type": "ir.GlobalVar", "data": {"name_hint": 4}},
    {"type": "ffi.String", "data": "main"},
    {"type": "tirx.PrimFunc", "data": {"params": 6, "body": 14}},
    {"type": "ffi.Array", "data": [7]},
    {"type": "ir.Var", "data": {"name": 8, "ty": 9}},
    {"type": "ffi.String", "data": "A"},
    {"type": "tirx.BufferType", "data": {"dtype": 10, "shape": 11, "data_alignment": 64}},
    {"type": "ir.PrimType", "data": {"dtype": "float16"}},
    {"type": "ffi.Array", "data": [12]},
    {"type": "ir.IntImm", "data": {"value": 13}},
    {"type": "int", "data": 128},
    {"type": "s_tir.SBlockRealize", "data": {"block": 15}},
    {"type": "s_tir.SBlock", "data": {"name_hint": 4, "init": 0, "body": 0}},
    {"type": "relax.expr.Function", "data": {}}],
    "metadata": {"tvm_version": "0.27.0"}}"#;

fn line(json: &str) -> String {
    let mut out = Vec::new();
    write(u64::MAX, json.as_bytes(), &mut out);
    String::from_utf8(out).unwrap()
}

fn workload(json: &str) -> Workload {
    let line = line(json);
    let mut lines = read_lines(line.as_bytes(), false);
    let line = lines.next().unwrap();
    assert!(line.is_rebuilt);
    line.workload.unwrap()
}

/// Reason why the only line is rejected.
fn reason(line: &str) -> String {
    let line = read_lines(line.as_bytes(), false).next().unwrap();
    assert!(!line.is_rebuilt);
    line.workload.unwrap_err().to_string()
}

#[test]
fn modules_in_both_formats_are_parsed() {
    let older = workload(OLDER);
    assert_eq!(
        (older.hash, older.json.as_slice()),
        (u64::MAX, OLDER.as_bytes())
    );
    assert_eq!(older.module.tvm_version.as_deref(), Some("0.16.dev0"));
    let parameter = |name: &str, dtype: &str, shape: Option<Vec<i64>>| Parameter {
        name: name.to_owned(),
        dtype: Some(dtype.to_owned()),
        shape,
    };
    let main = Function {
        name: "main".to_owned(),
        parameters: vec![
            parameter("p0", "float32", Some(vec![64, 64])),
            parameter("n", "int32", None),
        ],
        blocks: ["root", "pad", "T_add"].map(str::to_owned).to_vec(),
    };
    assert_eq!(older.functions, [main]);
    let main = Function {
        name: "main".to_owned(),
        parameters: vec![parameter("A", "float16", Some(vec![128]))],
        blocks: vec!["main".to_owned()],
    };
    assert_eq!(workload(LATER).functions, [main]);
    // An invalid extent invalidates the shape.
    let variable_extent = OLDER.replace("\"data\": [12, 12]", "\"data\": [12, 8]");
    assert_eq!(
        workload(&variable_extent).functions[0].parameters[0].shape,
        None
    );
}

#[test]
fn invalid_lines_do_not_affect_others() {
    let valid = line(OLDER);
    let text = format!("{valid}\n[\"x\",\"\"]\n\n{valid}");
    let entries: Vec<_> = read_lines(text.as_bytes(), false).collect();
    let results = entries
        .iter()
        .map(|line| (line.index, line.workload.is_ok()));
    let expected = [(0, true), (1, false), (2, false), (3, true)];
    assert_eq!(results.collect::<Vec<_>>(), expected);
    assert!(entries[3].is_rebuilt && !entries[1].is_rebuilt);
    let error = entries[1].workload.as_ref().unwrap_err();
    assert_eq!((error.line, error.at), (2, 2));
}

#[test]
fn errors_have_a_reason_and_a_position() {
    for (line, expected) in [
        ("", ""),
        (
            "[\"1\"",
            "line 1, byte 4: invalid JSON: EOF while parsing a list",
        ),
        ("7", "line 1, byte 1: not a list of"),
        (
            r#"["1"]"#,
            "line 1, byte 1: not a list of a structural hash and a module",
        ),
        (
            r#"["-1",""]"#,
            "line 1, byte 2: the structural hash is not a string",
        ),
        (r#"["+1",""]"#, "line 1, byte 2: the structural hash"),
        (r#"[1,""]"#, "line 1, byte 2: the structural hash"),
        (r#"["",""]"#, "line 1, byte 2: the structural hash"),
        (
            r#"["18446744073709551616",""]"#,
            "line 1, byte 2: the structural hash",
        ),
        (r#"["1",7]"#, "line 1, byte 6: the module is not a string"),
        (
            r#"["1","AgAA&AAAAAB7fQ=="]"#,
            "line 1, byte 11: the module: invalid base64: ",
        ),
        (
            r#"["1","AgAAAAAAAAB7fQ"]"#,
            "line 1, byte 7: the module: invalid base64: ",
        ),
        (
            r#"["1","AgAA"]"#,
            "line 1, byte 7: the module: the length of the graph is missing",
        ),
        (
            r#"["1","AwAAAAAAAAB7fQ=="]"#,
            "line 1, byte 7: the module: the graph has 2 bytes, expected 3",
        ),
        (
            r#"["1","AgAAAAAAAAB7fQ=="]"#,
            "line 1, byte 7: the module: invalid TVM graph: missing field `nodes` at line 1",
        ),
    ] {
        if !line.is_empty() {
            let reason = reason(line);
            assert!(reason.starts_with(expected), "{reason}");
        }
    }
    assert!(reason("\n").contains("invalid JSON: EOF"));
    let line = read_lines(b"[\"1\",\"\xff\"]", false).next().unwrap();
    let error = line.workload.unwrap_err().to_string();
    assert_eq!(error, "line 1, byte 7: invalid UTF-8");
}

#[test]
fn inconsistent_graphs_are_rejected() {
    for (old, new, expected) in [
        (
            "\"body\": \"16\"",
            "\"body\": \"99\"",
            "no node 99 in a graph of 27 nodes",
        ),
        (
            "\"body\": \"16\"",
            "\"body\": \"0\"",
            "has no node as \"body\"",
        ),
        ("\"body\": \"22\"", "\"body\": \"19\"", "is part of a cycle"),
        (
            "\"data\": [21, 24]",
            "\"data\": [21, 20]",
            "is part of a cycle",
        ),
        (
            "\"data\": [21, 24]",
            "\"data\": [21, 27]",
            "no node 27 in a graph of 27 nodes",
        ),
        (
            "\"name_hint\": \"23\"",
            "\"name_hint\": \"12\"",
            "node 12 (IntImm) is not a name",
        ),
        (
            "\"shape\": \"11\"",
            "\"shape\": \"x\"",
            "has an invalid number as \"shape\"",
        ),
        (
            "\"params\": \"6\"",
            "\"params\": \"4\"",
            "has no array as \"params\"",
        ),
        (
            "\"root\": 1",
            "\"root\": 5",
            "the root of the graph is \"tir.PrimFunc\", expected a module",
        ),
    ] {
        assert!(OLDER.contains(old), "{old}");
        let reason = reason(&line(&OLDER.replace(old, new)));
        assert!(reason.contains(expected), "{reason}");
    }
    // A shape that contains itself is invalid.
    let cyclic = OLDER.replace("\"data\": [12, 12]", "\"data\": [11]");
    assert_eq!(workload(&cyclic).functions[0].parameters[0].shape, None);
}

#[test]
fn repeated_references_in_a_small_module_are_bounded() {
    let name = "x".repeat(100_000);
    let references = vec!["7"; 100_000].join(", ");
    let json = OLDER.replace("\"p0\"", &format!("\"{name}\""));
    let json = json.replace("\"data\": [7, 8]", &format!("\"data\": [{references}]"));
    let reason = reason(&line(&json));
    assert!(reason.contains("shares nodes too often"), "{reason}");
}

#[test]
fn other_formats_are_parsed_and_not_rebuilt() {
    let valid = line(OLDER);
    for unusual in [
        valid.replace("\",\"", "\", \""),
        valid.replace("[\"18", "[\"018"),
        format!("{valid} "),
    ] {
        let line = read_lines(unusual.as_bytes(), false).next().unwrap();
        assert!(line.workload.is_ok() && !line.is_rebuilt);
    }
    let crlf = format!("{valid}\r\n{valid}\n");
    let rebuilt =
        read_lines(crlf.as_bytes(), true).map(|line| (line.workload.is_ok(), line.is_rebuilt));
    assert_eq!(rebuilt.collect::<Vec<_>>(), [(true, true), (true, false)]);
}

#[test]
fn workloads_differ_from_other_json() {
    assert!(begins_workload(
        br#"["7523732197612418965","TIQAAAAAAAB7CiAg"#
    ));
    assert!(begins_workload(br#"[ "1" , "AgAAAAAAAAB7fQ=="]"#));
    for other in [
        &b"[0,[[[["[..],
        br#"["",""]"#,
        br#"["1","2"]"#,
        br#"["7523732197612418965","a name that is base64, too"]"#,
        br#"["7523732197612418965","TIQAAAAAAABbCiAg"]"#,
        br#"["mm", 8]"#,
        br#"["8", 8]"#,
        b"{",
        b"",
    ] {
        assert!(!begins_workload(other));
    }
}

/// Replaces numbers of a graph: invalid indices, cycles, other nodes.
#[test]
fn graphs_with_any_indices_are_parsed_or_rejected() {
    let (mut parsed, mut count) = (0, 0);
    for json in [OLDER, LATER] {
        let digits = json
            .char_indices()
            .filter(|(_, char)| char.is_ascii_digit());
        for (position, _) in digits {
            let (prefix, suffix) = (&json[..position], &json[position + 1..]);
            for other in ["0", "1", "2", "5", "9", "-1", "99", "null", ""] {
                let line = line(&format!("{prefix}{other}{suffix}"));
                let line = read_lines(line.as_bytes(), false).next().unwrap();
                assert_eq!(line.is_rebuilt, line.workload.is_ok());
                parsed += u32::from(line.is_rebuilt);
                count += 1;
            }
        }
    }
    assert!(parsed > 0 && parsed < count, "{parsed} of {count}");
}

//! Unsupported graphs have no form, and malformed graphs do not make a reader run forever.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::programs::{dense, load};
use super::written::E::{Axis, Call, Load, Whole};
use super::written::{TOOLS, Tool, computation_of, op};
use crate::tvm_json::TvmGraph;

/// Reason why a tool's graph of the program has no form after a text replacement.
fn rejection(tool: Tool, from: &str, to: &str) -> String {
    let json = dense().to_json(tool);
    assert!(json.contains(from), "{from}");
    computation_of(tool, &json.replacen(from, to, 1))
        .unwrap_err()
        .to_string()
}

#[test]
fn unsupported_constructs_are_reported() {
    for (body, wanted) in [
        (
            Call("call_extern", vec![load(2, &[0, 1])]),
            "a call of \"call_extern\"",
        ),
        (
            Load(2, vec![Axis(0), op("Mul", Axis(1), Axis(0))]),
            "a product of indexes",
        ),
        (
            Load(2, vec![Axis(0), op("FloorDiv", Axis(1), Whole(0))]),
            "FloorDiv of indexes",
        ),
        (
            Load(2, vec![Axis(0), load(0, &[0, 1])]),
            "an index that is computed from tensors",
        ),
        (load(2, &[0]), "an element that does not match its tensor"),
        (
            op("Mul", load(2, &[0, 1]), Axis(0)),
            "Mul of different types",
        ),
        (
            Load(2, vec![Axis(0), op("Mul", Axis(1), Whole(1 << 40))]),
            "beyond",
        ),
    ] {
        let mut program = dense();
        program.stages[1].body = body;
        for tool in TOOLS {
            let read = program.read(tool);
            if wanted == "beyond" && tool == Tool::Older {
                // Its indices have 64 bits.
                assert!(read.is_ok());
                continue;
            }
            let error = read.unwrap_err().to_string();
            assert!(error.contains(wanted), "{tool:?}: {error}");
        }
    }
}

#[test]
fn programs_other_than_stages_are_rejected() {
    for (from, to, wanted) in [
        ("\"kind\": \"0\"", "\"kind\": \"1\"", "is not a plain loop"),
        (
            "\"thread_binding\": \"0\"",
            "\"thread_binding\": \"2\"",
            "For with thread_binding",
        ),
        (
            "\"iter_type\": \"0\"",
            "\"iter_type\": \"1\"",
            "is not a supported axis",
        ),
        (
            "\"iter_type\": \"2\"",
            "\"iter_type\": \"0\"",
            "is not a statement that writes each element once",
        ),
        (
            "\"iter_type\": \"0\"",
            "\"iter_type\": \"2\"",
            "is not an axis over its whole dimension",
        ),
        (
            "tir.BufferStore",
            "tir.Evaluate",
            "is not a statement that writes an element",
        ),
        (
            "tir.SeqStmt",
            "tir.Allocate",
            "is not a block or a loop around one",
        ),
        (
            "tir.For",
            "tir.While",
            "is not a block or a loop around one",
        ),
        (
            "tir.PrimFunc",
            "relax.expr.Function",
            "is not a supported function",
        ),
        (
            "\"dtype\": \"float32\"",
            "\"dtype\": \"float32x4\"",
            "unsupported data type \"float32x4\"",
        ),
        ("tir.Mul", "tir.Let", "is not a supported expression"),
    ] {
        let error = rejection(Tool::Older, from, to);
        assert!(error.contains(wanted), "{from}: {error}");
    }
    for (from, to, wanted) in [
        ("PlaceholderOp", "ExternOp", "is not a supported operation"),
        ("ComputeOp", "ScanOp", "a tensor that is not computed yet"),
        (
            "\"value_index\": \"0\"",
            "\"value_index\": \"1\"",
            "several results",
        ),
        (
            "\"iter_type\": \"2\"",
            "\"iter_type\": \"0\"",
            "is not an axis of a reduction",
        ),
        ("\"value\": \"64\"", "\"value\": \"0\"", "elements"),
    ] {
        let error = rejection(Tool::Te, from, to);
        assert!(error.contains(wanted), "{from}: {error}");
    }
}

/// Replaces digits of a graph. The result is rejected, or differs, or the digit belonged to a name.
#[test]
fn digits_exchanged_give_another_form_or_none() {
    for tool in TOOLS {
        let json = dense().to_json(tool);
        let own = computation_of(tool, &json).unwrap();
        let digits = json
            .char_indices()
            .filter(|(_, c)| c.is_ascii_digit())
            .step_by(3);
        let (mut same, mut other, mut none) = (0, 0, 0);
        for (at, old) in digits {
            for digit in ["0", "7"] {
                let changed = format!("{}{digit}{}", &json[..at], &json[at + 1..]);
                if old.to_string() == digit || TvmGraph::read(changed.as_bytes()).is_err() {
                    continue;
                }
                match computation_of(tool, &changed) {
                    Ok(form) if form == own => same += 1,
                    Ok(_) => other += 1,
                    Err(_) => none += 1,
                }
            }
        }
        assert!(other > 0 && none > other, "{tool:?}: {same} {other} {none}");
    }
}

/// `x * x` of `x * x` of ...: each node doubles the text.
#[test]
fn what_doubles_again_and_again_is_bounded() {
    let mut program = dense();
    program.stages[1].body = op("Mul", load(2, &[0, 1]), load(2, &[0, 1]));
    let json = program.to_json(Tool::Older);
    let product = json.rfind("tir.Mul").unwrap();
    let (before, after) = json.split_at(product);
    let at = after.find("\"a\": \"").unwrap() + 6;
    let end = at + after[at..].find('"').unwrap();
    let mut chain = String::new();
    let first = json.matches("\n").count() + 1;
    let mut factor = after[at..end].to_owned();
    for place in first..first + 60 {
        write!(
            chain,
            ",\n{{\"type_key\": \"tir.Mul\", \"attrs\": {{\"a\": \"{factor}\", \"b\": \"{factor}\", \
             \"dtype\": \"float32\"}}}}"
        )
        .unwrap();
        factor = place.to_string();
    }
    let json = format!("{before}{}{factor}{}", &after[..at], &after[end..]);
    let json = json
        .strip_suffix("]}")
        .map(|json| format!("{json}{chain}]}}"));
    let error = computation_of(Tool::Older, &json.unwrap())
        .unwrap_err()
        .to_string();
    assert!(error.contains("the computation is too large"), "{error}");
}

/// A loop that is not an axis would accumulate repeatedly; an axis shorter than its dimension would leave elements out.
#[test]
fn loops_are_axes_and_axes_are_dimensions() {
    let json: Value = serde_json::from_str(&dense().to_json(Tool::Older)).unwrap();
    let nodes = json["nodes"].as_array().unwrap();
    let all = |kind: &str| -> Vec<usize> {
        let found = (0..nodes.len()).filter(|&at| nodes[at]["type_key"] == kind);
        found.collect()
    };
    let place = |at: usize, name: &str| -> usize {
        nodes[at]["attrs"][name].as_str().unwrap().parse().unwrap()
    };
    let refused = |json: &Value| {
        computation_of(Tool::Older, &json.to_string())
            .unwrap_err()
            .to_string()
    };
    let sequence = place(all("tir.SeqStmt")[0], "seq");
    for (extent, wanted) in [
        (1, None),
        (2, Some("is not a block that runs once per element")),
    ] {
        let mut json = json.clone();
        let added = json["nodes"].as_array_mut().unwrap();
        let nest = added[sequence]["data"][0].take();
        let mut around = nodes[all("tir.For")[0]].clone();
        let first = added.len();
        around["attrs"]["loop_var"] = first.to_string().into();
        around["attrs"]["extent"] = (first + 1).to_string().into();
        around["attrs"]["body"] = nest.to_string().into();
        added.push(nodes[all("tir.Var")[0]].clone());
        added.push(json!({"type_key": "IntImm", "attrs": {"value": extent.to_string()}}));
        added.push(around);
        added[sequence]["data"][0] = (first + 2).into();
        match wanted {
            None => assert_eq!(
                computation_of(Tool::Older, &json.to_string()),
                dense().read(Tool::Older)
            ),
            Some(wanted) => assert!(refused(&json).contains(wanted), "{}", refused(&json)),
        }
    }
    let mut larger = json.clone();
    let buffers = all("tir.Buffer");
    larger["nodes"][buffers[2]]["attrs"]["shape"] =
        json["nodes"][buffers[0]]["attrs"]["shape"].clone();
    let error = refused(&larger);
    assert!(
        error.contains("is not an axis over its whole dimension"),
        "{error}"
    );
    // Two buffers in the same memory are not two tensors.
    let mut shared = json.clone();
    shared["nodes"][buffers[2]]["attrs"]["data"] =
        json["nodes"][buffers[0]]["attrs"]["data"].clone();
    let error = refused(&shared);
    assert!(
        error.contains("is not a tensor with separate storage"),
        "{error}"
    );
}

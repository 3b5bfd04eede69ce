//! Unsupported graphs have no form, and malformed graphs do not make a reader run forever.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::programs::{dense, load};
use super::synthetic::E::{Axis, Call, Integer, Load};
use super::synthetic::{TOOLS, Tool, computation_of, op};
use crate::tvm_json::TvmGraph;

/// Reason why a tool's graph of the program has no form after a text replacement.
fn rejection(tool: Tool, old: &str, new: &str) -> String {
    let json = dense().to_json(tool);
    assert!(json.contains(old), "{old}");
    computation_of(tool, &json.replacen(old, new, 1))
        .unwrap_err()
        .to_string()
}

#[test]
fn unsupported_constructs_are_reported() {
    for (body, expected) in [
        (
            Call("call_extern", vec![load(2, &[0, 1])]),
            "a call of \"call_extern\"",
        ),
        (
            Load(2, vec![Axis(0), op("Mul", Axis(1), Axis(0))]),
            "a product of indexes",
        ),
        (
            Load(2, vec![Axis(0), op("FloorDiv", Axis(1), Integer(0))]),
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
            Load(2, vec![Axis(0), op("Mul", Axis(1), Integer(1 << 40))]),
            "beyond",
        ),
    ] {
        let mut program = dense();
        program.stages[1].body = body;
        for tool in TOOLS {
            let result = program.read(tool);
            if expected == "beyond" && tool == Tool::Older {
                // Its indices have 64 bits.
                assert!(result.is_ok());
                continue;
            }
            let error = result.unwrap_err().to_string();
            assert!(error.contains(expected), "{tool:?}: {error}");
        }
    }
}

#[test]
fn programs_other_than_stages_are_rejected() {
    for (old, new, expected) in [
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
        let error = rejection(Tool::Older, old, new);
        assert!(error.contains(expected), "{old}: {error}");
    }
    for (old, new, expected) in [
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
        let error = rejection(Tool::Te, old, new);
        assert!(error.contains(expected), "{old}: {error}");
    }
}

/// Replaces digits of a graph. The result is rejected, or differs, or the digit belonged to a name.
#[test]
fn changed_digits_give_another_form_or_none() {
    for tool in TOOLS {
        let json = dense().to_json(tool);
        let computation = computation_of(tool, &json).unwrap();
        let digits = json
            .char_indices()
            .filter(|(_, c)| c.is_ascii_digit())
            .step_by(3);
        let (mut same_count, mut other_count, mut rejected_count) = (0, 0, 0);
        for (position, old) in digits {
            for digit in ["0", "7"] {
                let changed = format!("{}{digit}{}", &json[..position], &json[position + 1..]);
                if old.to_string() == digit || TvmGraph::read(changed.as_bytes()).is_err() {
                    continue;
                }
                match computation_of(tool, &changed) {
                    Ok(form) if form == computation => same_count += 1,
                    Ok(_) => other_count += 1,
                    Err(_) => rejected_count += 1,
                }
            }
        }
        assert!(
            other_count > 0 && rejected_count > other_count,
            "{tool:?}: {same_count} {other_count} {rejected_count}"
        );
    }
}

/// `x * x` of `x * x` of ...: each node doubles the text.
#[test]
fn exponential_texts_are_bounded() {
    let mut program = dense();
    program.stages[1].body = op("Mul", load(2, &[0, 1]), load(2, &[0, 1]));
    let json = program.to_json(Tool::Older);
    let product = json.rfind("tir.Mul").unwrap();
    let (head, tail) = json.split_at(product);
    let start = tail.find("\"a\": \"").unwrap() + 6;
    let end = start + tail[start..].find('"').unwrap();
    let mut chain = String::new();
    let first = json.matches("\n").count() + 1;
    let mut factor = tail[start..end].to_owned();
    for index in first..first + 60 {
        write!(
            chain,
            ",\n{{\"type_key\": \"tir.Mul\", \"attrs\": {{\"a\": \"{factor}\", \"b\": \"{factor}\", \
             \"dtype\": \"float32\"}}}}"
        )
        .unwrap();
        factor = index.to_string();
    }
    let json = format!("{head}{}{factor}{}", &tail[..start], &tail[end..]);
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
    let nodes_of_type = |kind: &str| -> Vec<usize> {
        let indexes = (0..nodes.len()).filter(|&index| nodes[index]["type_key"] == kind);
        indexes.collect()
    };
    let attribute = |index: usize, name: &str| -> usize {
        nodes[index]["attrs"][name]
            .as_str()
            .unwrap()
            .parse()
            .unwrap()
    };
    let rejection_reason = |json: &Value| {
        computation_of(Tool::Older, &json.to_string())
            .unwrap_err()
            .to_string()
    };
    let sequence = attribute(nodes_of_type("tir.SeqStmt")[0], "seq");
    for (extent, expected) in [
        (1, None),
        (2, Some("is not a block that runs once per element")),
    ] {
        let mut json = json.clone();
        let new_nodes = json["nodes"].as_array_mut().unwrap();
        let nest = new_nodes[sequence]["data"][0].take();
        let mut outer_loop = nodes[nodes_of_type("tir.For")[0]].clone();
        let first = new_nodes.len();
        outer_loop["attrs"]["loop_var"] = first.to_string().into();
        outer_loop["attrs"]["extent"] = (first + 1).to_string().into();
        outer_loop["attrs"]["body"] = nest.to_string().into();
        new_nodes.push(nodes[nodes_of_type("tir.Var")[0]].clone());
        new_nodes.push(json!({"type_key": "IntImm", "attrs": {"value": extent.to_string()}}));
        new_nodes.push(outer_loop);
        new_nodes[sequence]["data"][0] = (first + 2).into();
        match expected {
            None => assert_eq!(
                computation_of(Tool::Older, &json.to_string()),
                dense().read(Tool::Older)
            ),
            Some(expected) => assert!(
                rejection_reason(&json).contains(expected),
                "{}",
                rejection_reason(&json)
            ),
        }
    }
    let mut larger = json.clone();
    let buffers = nodes_of_type("tir.Buffer");
    larger["nodes"][buffers[2]]["attrs"]["shape"] =
        json["nodes"][buffers[0]]["attrs"]["shape"].clone();
    let error = rejection_reason(&larger);
    assert!(
        error.contains("is not an axis over its whole dimension"),
        "{error}"
    );
    // Two buffers in the same memory are not two tensors.
    let mut shared = json.clone();
    shared["nodes"][buffers[2]]["attrs"]["data"] =
        json["nodes"][buffers[0]]["attrs"]["data"].clone();
    let error = rejection_reason(&shared);
    assert!(
        error.contains("is not a tensor with separate storage"),
        "{error}"
    );
}

//! Graphs in both formats, and invalid graphs.

use super::{Error, StepBudget, TvmGraph, decode, encode, post_order};

/// Array `[8, "cpu"]` and a map that contains it.
const OLDER: &str = r#"{"root": 1, "nodes": [{"type_key": ""},
    {"type_key": "Array", "data": [2, 3, 4]},
    {"type_key": "IntImm", "attrs": {"dtype": "int32", "span": "0", "value": "8", "host": "null"}},
    {"type_key": "runtime.String", "repr_str": "cpu"},
    {"type_key": "Map", "keys": ["a", "b"], "data": [2, 5]},
    {"type_key": "runtime.String"},
    {"type_key": "Map", "data": [3, 2]},
    {"type_key": "Op", "repr_b64": "dGlyLmV4cA=="}],
    "b64ndarrays": ["AA=="], "attrs": {"tvm_version": "0.8.dev0"}}"#;

/// The same in the format of TVM 0.27.
const LATER: &str = r#"{"root_index": 1, "nodes": [{"type": "None"},
    {"type": "ffi.Array", "data": [2, 3, 4]},
    {"type": "ir.IntImm", "data": {"span": 0, "ty": 0, "value": 8}},
    {"type": "ffi.String", "data": "cpu"},
    {"type": "ffi.Map", "data": [3, 2]},
    {"type": "int", "data": 7},
    {"type": "bool", "data": true}],
    "metadata": {"tvm_version": "0.27.0"}}"#;

#[test]
fn graphs_in_both_formats_are_parsed() {
    let graph = TvmGraph::read(OLDER.as_bytes()).unwrap();
    assert_eq!(graph.tvm_version.as_deref(), Some("0.8.dev0"));
    assert_eq!((graph.nodes().len(), graph.arrays.len()), (8, 1));
    let root = graph.root().unwrap();
    let [number, text, map] = root.elements().collect::<Vec<_>>().try_into().unwrap();
    assert_eq!(
        (root.type_key(), number.integer_attribute("value").unwrap()),
        ("Array", 8)
    );
    assert!(number.follow("span").unwrap().is_none() && number.follow("host").unwrap().is_none());
    assert_eq!(
        (number.text_attribute("dtype").unwrap(), text.text()),
        ("int32", Some("cpu"))
    );
    assert_eq!(
        map.entry("b").unwrap().text(),
        Some(""),
        "an empty text has no `repr_str`"
    );
    assert!(map.entry("c").is_none());
    let entries = graph.node(6).unwrap().entries();
    assert_eq!((entries[0].0, entries[0].1.index), ("cpu", 2));
    let pairs = graph.node(6).unwrap().pairs();
    let pairs = pairs.map(|(key, value)| (key.index, value.index));
    assert_eq!(pairs.collect::<Vec<_>>(), [(3, 2)]);
    assert_eq!((map.pairs().len(), root.pairs().len()), (0, 0));
    assert_eq!(graph.node(7).unwrap().text(), Some("tir.exp"));

    let graph = TvmGraph::read(LATER.as_bytes()).unwrap();
    assert_eq!(graph.tvm_version.as_deref(), Some("0.27.0"));
    let root = graph.root().unwrap();
    let [number, text, map] = root.elements().collect::<Vec<_>>().try_into().unwrap();
    assert_eq!(
        (number.integer_attribute("value").unwrap(), text.text()),
        (8, Some("cpu"))
    );
    assert_eq!(map.entry("cpu").unwrap().index, 2);
    assert_eq!(graph.node(5).unwrap().node.value, Some(7.into()));
}

#[test]
fn invalid_graphs_are_rejected() {
    for (json, reason) in [
        (
            "",
            "invalid TVM graph: EOF while parsing a value at line 1 column 0",
        ),
        ("[]", "invalid TVM graph: "),
        (r#"{"nodes": []}"#, "a graph without a root"),
        (
            r#"{"root": 0, "nodes": []}"#,
            "no node 0 in a graph of 0 nodes",
        ),
        (r#"{"root": -1, "nodes": []}"#, "invalid TVM graph: "),
        (
            r#"{"root": 0, "nodes": [{}]}"#,
            "invalid TVM graph: a node without a type at line 1",
        ),
        (
            r#"{"root": 0, "nodes": [{"type_key": "Array", "data": [1]}]}"#,
            "node 0: no node 1 in a graph of 1 nodes",
        ),
        (
            r#"{"root": 0, "nodes": [{"type_key": "Array", "data": [0.5]}]}"#,
            "invalid TVM graph: an element that is not a node index at line 1",
        ),
        (
            r#"{"root": 0, "nodes": [{"type_key": "Map", "data": [0]}]}"#,
            "invalid TVM graph: a map with different numbers of keys and values",
        ),
        (
            r#"{"root": 0, "nodes": [{"type_key": "Map", "keys": ["a"], "data": [0, 0]}]}"#,
            "invalid TVM graph: a map with different numbers of keys and values",
        ),
        (
            r#"{"root": 0, "nodes": [{"type_key": "Op", "repr_b64": "&"}]}"#,
            "invalid TVM graph: invalid base64: ",
        ),
    ] {
        let error = TvmGraph::read(json.as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with(reason), "{error}");
    }
    let deep = format!(
        "{}{}",
        r#"{"root": 0, "nodes": [{"type": "x", "data": "#,
        "[".repeat(1 << 20)
    );
    let error = TvmGraph::read(deep.as_bytes()).unwrap_err().to_string();
    assert!(error.contains("recursion limit"), "{error}");
}

#[test]
fn attributes_are_validated_when_they_are_followed() {
    let json = r#"{"root": 0, "nodes": [{"type_key": "T", "attrs":
        {"far": "9", "word": "x", "below": "-1", "nothing": "1", "self": "0"}}, {"type_key": ""}]}"#;
    let graph = TvmGraph::read(json.as_bytes()).unwrap();
    let root = graph.root().unwrap();
    let reason = |result: Result<super::NodeRef<'_>, Error>| result.unwrap_err().to_string();
    assert_eq!(
        reason(root.follow_required("far")),
        "no node 9 in a graph of 2 nodes"
    );
    assert_eq!(
        reason(root.follow_required("word")),
        "node 0 (T) has an invalid number as \"word\""
    );
    assert_eq!(
        reason(root.follow_required("below")),
        "node 0 (T) has an invalid number as \"below\""
    );
    assert_eq!(
        reason(root.follow_required("nothing")),
        "node 0 (T) has no node as \"nothing\""
    );
    assert_eq!(
        reason(root.follow_required("none")),
        "node 0 (T) has no \"none\""
    );
    assert!(
        root.follow_list("self")
            .unwrap_err()
            .to_string()
            .contains("has no array as \"self\"")
    );
    assert_eq!(root.elements().count(), 0);
}

#[test]
fn walks_are_bounded() {
    let arrays = |lists: &[Vec<usize>]| {
        let nodes: Vec<String> = lists
            .iter()
            .map(|list| format!(r#"{{"type_key": "Array", "data": {list:?}}}"#))
            .collect();
        let json = format!(r#"{{"root": 0, "nodes": [{}]}}"#, nodes.join(","));
        TvmGraph::read(json.as_bytes()).unwrap()
    };
    let walk = |graph: &TvmGraph, budget: &mut StepBudget| {
        let children = |index| {
            Ok(graph
                .node(index)?
                .elements()
                .map(|node| node.index)
                .collect())
        };
        post_order(&[0], children, budget)
    };
    // A node with several parents comes once, and before its parents.
    let graph = arrays(&[vec![1, 2, 1], vec![3], vec![3], vec![]]);
    assert_eq!(
        walk(&graph, &mut StepBudget::for_graph(&graph)).unwrap(),
        [3, 1, 2, 0]
    );
    let graph = arrays(&[vec![1], vec![2], vec![1]]);
    let error = walk(&graph, &mut StepBudget::for_graph(&graph)).unwrap_err();
    assert_eq!(error.to_string(), "node 1 is part of a cycle");
    // A chain of ten thousand nodes.
    let mut chain: Vec<Vec<usize>> = (1..10_000).map(|next| vec![next]).collect();
    chain.push(Vec::new());
    let graph = arrays(&chain);
    let mut budget = StepBudget::for_graph(&graph);
    assert_eq!(walk(&graph, &mut budget).unwrap().len(), 10_000);
    let error = (0..40)
        .find_map(|_| walk(&graph, &mut budget).err())
        .unwrap();
    assert!(error.to_string().contains("shares nodes too often"));
}

#[test]
fn invalid_base64_is_rejected() {
    assert_eq!(decode("AgAAAAAAAAB7fQ==").unwrap(), b"{}");
    assert_eq!(encode(b"{}"), "AgAAAAAAAAB7fQ==");
    for (encoded, reason) in [
        ("AgAAAAAAAAB7fQ", "invalid base64: "),
        ("Ag&=", "invalid base64: "),
        ("AgAA", "the length of the graph is missing"),
        ("AwAAAAAAAAB7fQ==", "the graph has 2 bytes, expected 3"),
        ("/////////////w==", "the graph has 2 bytes, expected"),
    ] {
        let error = decode(encoded).unwrap_err().to_string();
        assert!(error.starts_with(reason), "{error}");
    }
}

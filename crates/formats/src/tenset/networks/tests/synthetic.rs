//! Synthetic files.

use super::pickled::{file, graph, json, list, object, pickled_integer, text, tuple};
use crate::DocumentFormat as _;
use crate::tenset::networks::{
    Dag, NetworkContent, NetworkInfo, NetworkInput, Relay, TargetValue, Task, read,
};
use crate::tvm_json::{Error, TvmGraph};

/// Nodes of `B[i] = reduce over k < 3 of A[i, k] * A[i, k]` for 4 by 3 floats; `EXTRA` may contain more operations.
const NODES: &str = r#"
    {"type_key": "Array", "data": [2, 8]},
    {"type_key": "Tensor", "attrs": {"dtype": "float32", "op": "3", "shape": "4", "value_index": "0"}},
    {"type_key": "PlaceholderOp", "attrs": {"attrs": "7", "dtype": "float32", "name": "A", "shape": "4", "tag": ""}},
    {"type_key": "Array", "data": [5, 6]},
    {"type_key": "IntImm", "attrs": {"dtype": "int32", "span": "0", "value": "4"}},
    {"type_key": "IntImm", "attrs": {"dtype": "int32", "span": "0", "value": "3"}},
    {"type_key": "Map"},
    {"type_key": "Tensor", "attrs": {"dtype": "float32", "op": "9", "shape": "10", "value_index": "0"}},
    {"type_key": "ComputeOp", "attrs": {"attrs": "7", "axis": "11", "body": "19", "name": "B", "reduce_axis": "15", "tag": "mine"}},
    {"type_key": "Array", "data": [5]},
    {"type_key": "Array", "data": [12]},
    {"type_key": "tir.IterVar", "attrs": {"dom": "13", "var": "14"}},
    {"type_key": "Range", "attrs": {"extent": "5", "min": "18"}},
    {"type_key": "tir.Var", "attrs": {"dtype": "int32", "name": "0"}},
    {"type_key": "Array", "data": [16]},
    {"type_key": "tir.IterVar", "attrs": {"dom": "17", "var": "14"}},
    {"type_key": "Range", "attrs": {"extent": "6", "min": "18"}},
    {"type_key": "IntImm", "attrs": {"dtype": "int32", "span": "0", "value": "0"}},
    {"type_key": "Array", "data": [20]},
    {"type_key": "tir.Reduce", "attrs": {"axis": "15", "combiner": "21", "condition": "28", "dtype": "float32", "init": "29", "source": "24", "value_index": "0"}},
    {"type_key": "tir.CommReducer", "attrs": {"result": "22"}},
    {"type_key": "Array", "data": [23]},
    {"type_key": "tir.Add", "attrs": {"a": "14", "b": "14", "dtype": "float32"}},
    {"type_key": "Array", "data": [25]},
    {"type_key": "tir.Mul", "attrs": {"a": "26", "b": "26", "dtype": "float32"}},
    {"type_key": "tir.ProducerLoad", "attrs": {"dtype": "float32", "indices": "27", "producer": "2"}},
    {"type_key": "Array", "data": [14, 14]},
    {"type_key": "IntImm", "attrs": {"dtype": "bool", "span": "0", "value": "1"}},
    {"type_key": "Array"}"#;

fn dag(nodes: &str) -> Result<Dag, Error> {
    let graph = TvmGraph::read(json(nodes).as_bytes())?;
    Dag::read(&graph).map(|(_, dag)| dag)
}

/// DAG of the nodes after text replacements.
fn dag_with(changes: &[(&str, &str)]) -> Result<Dag, Error> {
    let nodes = changes.iter().fold(NODES.to_owned(), |nodes, (from, to)| {
        assert!(nodes.contains(from), "{from}");
        nodes.replace(from, to)
    });
    dag(&nodes)
}

fn flops(changes: &[(&str, &str)]) -> Option<f64> {
    dag_with(changes).unwrap().flop_count
}

const TARGET: &str = r#"{"type_key": "Target", "attrs": {"attrs": "6", "host": "7", "keys": "3", "kind": "2", "tag": "0"}},
    {"type_key": "TargetKind", "attrs": {"name": "4"}},
    {"type_key": "Array", "data": [4]},
    {"type_key": "runtime.String", "repr_str": "cuda"},
    {"type_key": "IntImm", "attrs": {"dtype": "bool", "value": "1"}},
    {"type_key": "Map", "keys": ["flag", "list"], "data": [5, 3]},
    {"type_key": "Target", "attrs": {"attrs": "0", "keys": "0", "kind": "2", "tag": "4"}}"#;

/// Task with overridable fields.
fn task(changes: &[(&str, Option<Vec<u8>>)]) -> Vec<u8> {
    let hardware = r#"{"type_key": "auto_scheduler.HardwareParams", "attrs": {"num_cores": "-1", "new": "2"}}"#;
    let names =
        r#"{"type_key": "Array", "data": [2]}, {"type_key": "runtime.String", "repr_str": "x"}"#;
    let computed = object("tvm.m", "ComputeDAG", &[("tensors", text(&json(NODES)))]);
    let key = text("[\"k\", 4]");
    let key = [
        b"ctvm.runtime.container\nString\n",
        key.as_slice(),
        b"\x85\x81",
    ];
    let mut fields = vec![
        ("compute_dag", computed),
        ("workload_key", key.concat()),
        ("target", graph("Target", TARGET)),
        ("target_host", b"N".to_vec()),
        ("hardware_params", graph("HardwareParams", hardware)),
        ("layout_rewrite_option", pickled_integer(2)),
        ("task_input_names", graph("Array", names)),
    ];
    for (name, value) in changes {
        fields.retain(|(field, _)| field != name);
        fields.extend(value.clone().map(|value| (*name, value)));
    }
    object("tvm.auto_scheduler.search_task", "SearchTask", &fields)
}

fn network(tasks: &[Vec<u8>], weights: &[i32]) -> Vec<u8> {
    let weights: Vec<Vec<u8>> = weights
        .iter()
        .map(|&weight| pickled_integer(weight))
        .collect();
    file(&tuple(&[list(tasks), list(&weights)]))
}

fn tasks(bytes: &[u8]) -> Vec<Task> {
    match read(bytes).unwrap() {
        NetworkContent::Network(tasks) | NetworkContent::AllTasks(tasks) => tasks,
        other @ NetworkContent::Relay(_) => panic!("{other:?}"),
    }
}

fn read_error(bytes: &[u8]) -> String {
    read(bytes).unwrap_err().to_string()
}

#[test]
fn a_task_has_all_its_parts() {
    let bytes = network(&[task(&[]), task(&[])], &[3, 1]);
    assert!(NetworkInfo.has_magic(&bytes));
    let [first, second] = tasks(&bytes).try_into().unwrap();
    assert_eq!((first.index, first.weight), (0, Some(3)));
    assert_eq!((second.index, second.weight), (1, Some(1)));
    assert_eq!(first.workload_key, "[\"k\", 4]");
    assert_eq!(first.workload_name().as_deref(), Some("k"));
    let target = &first.target;
    assert_eq!(target.text(), "cuda -keys=cuda -flag=1 -list=cuda");
    assert_eq!(target.attributes["flag"], TargetValue::Flag(true));
    let host = target.host.as_ref().unwrap();
    assert_eq!((host.text().as_str(), host.tag.as_str()), ("cuda ", "cuda"));
    assert_eq!(first.target_host, None);
    assert_eq!(
        (first.hardware.0["num_cores"], first.hardware.0["new"]),
        (-1, 2)
    );
    assert_eq!(first.hardware.record_parameters(), None);
    assert_eq!(
        (first.layout_rewrite_option, first.input_names.join(",")),
        (2, "x".to_owned())
    );
    let [input, output] = first.tensors.as_slice() else {
        panic!()
    };
    assert_eq!(
        (input.name.as_str(), input.op_type.as_str(), input.operation),
        ("A", "PlaceholderOp", 0)
    );
    assert_eq!(
        (input.shape.as_slice(), output.shape.as_slice()),
        (&[Some(4), Some(3)][..], &[Some(4)][..])
    );
    let [placeholder, computed] = first.dag.operations.as_slice() else {
        panic!()
    };
    assert_eq!(
        (placeholder.name.as_str(), placeholder.inputs.as_slice()),
        ("A", &[][..])
    );
    assert_eq!(
        (computed.name.as_str(), computed.tag.as_str()),
        ("B", "mine")
    );
    assert_eq!(
        (&computed.shape, computed.dtype.as_deref()),
        (&output.shape, Some("float32"))
    );
    assert_eq!(first.dag.edges().collect::<Vec<_>>(), [(0, 1)]);
    assert_eq!(first.dag.flop_count, Some(24.0));

    let all = file(&list(&[task(&[(
        "target_host",
        Some(graph("Target", TARGET)),
    )])]));
    assert!(NetworkInfo.has_magic(&all));
    let NetworkContent::AllTasks(tasks) = read(&all).unwrap() else {
        panic!()
    };
    assert_eq!((tasks.len(), tasks[0].weight), (1, None));
    assert_eq!(tasks[0].target_host, Some(tasks[0].target.clone()));
}

#[test]
fn a_network_may_have_no_tasks() {
    // pickle.dumps(([], []), 4)
    let bytes = b"\x80\x04\x95\x07\x00\x00\x00\x00\x00\x00\x00]\x94]\x94\x86\x94.";
    assert_eq!(bytes.len(), 18);
    assert!(NetworkInfo.has_magic(bytes));
    assert_eq!(read(bytes).unwrap(), NetworkContent::Network(Vec::new()));
}

#[test]
fn a_network_in_relay() {
    let inputs = list(&[tuple(&[
        text("data"),
        tuple(&[pickled_integer(100)]),
        text("float32"),
    ])]);
    let module = json(r#"{"type_key": "IRModule"}"#);
    let bytes = file(&tuple(&[text(&module), pickled_integer(12), inputs]));
    // A tuple of three is built without a mark: pickle.dumps(("{...}", 12, [("data", (100,), "float32")]))
    let without_mark = [&bytes[..2], &bytes[3..bytes.len() - 2], b"\x87."].concat();
    assert!(NetworkInfo.has_magic(&without_mark));
    let input = NetworkInput {
        name: "data".to_owned(),
        shape: vec![100],
        dtype: "float32".to_owned(),
    };
    let relay = Relay {
        module,
        parameter_bytes: 12,
        inputs: vec![input],
    };
    for bytes in [bytes, without_mark] {
        assert_eq!(read(&bytes).unwrap(), NetworkContent::Relay(relay.clone()));
    }
    for (parts, reason) in [
        (
            [text("{}"), pickled_integer(-1), list(&[])],
            "invalid Relay network: the parameters have -1 bytes, expected 0 or more",
        ),
        (
            [text("{}"), text(""), list(&[])],
            "invalid Relay network: the length of parameters is not an integer",
        ),
        (
            [text("{}"), pickled_integer(1), list(&[tuple(&[])])],
            "invalid Relay network: an input does not have three parts",
        ),
        (
            [text("x"), pickled_integer(1), list(&[])],
            "the pickle has neither search tasks nor a Relay network",
        ),
    ] {
        assert_eq!(read_error(&file(&tuple(&parts))), reason);
    }
}

#[test]
fn other_pickles_are_rejected() {
    for (bytes, reason) in [
        (
            b"\x80\x04N.".to_vec(),
            "the pickle has neither search tasks nor a Relay network",
        ),
        (
            file(&list(&[])),
            "the pickle has neither search tasks nor a Relay network",
        ),
        (
            file(b"cos\nsystem\n(X\x02\x00\x00\x00lstR"),
            "the pickle has neither search tasks nor a Relay network",
        ),
        (
            [file(&tuple(&[list(&[]), list(&[])])), b"x".to_vec()].concat(),
            "1 bytes follow the pickle",
        ),
        (
            b"\x80\x04".to_vec(),
            "invalid pickle: byte 2: the pickle is incomplete",
        ),
        (
            network(&[task(&[])], &[]),
            "1 tasks and 0 weights, expected equal numbers",
        ),
    ] {
        assert_eq!(read_error(&bytes), reason);
        assert!(!NetworkInfo.has_magic(&bytes[..bytes.len().min(8)]));
    }
    for (field, value, reason) in [
        ("target", None, "task 0: field `target` is missing"),
        (
            "target",
            Some(pickled_integer(1)),
            "task 0: the target is not a graph",
        ),
        (
            "target",
            Some(graph("Target", r#"{"type_key": "Target"}"#)),
            "task 0: target: node 1 (Target) has no \"kind\"",
        ),
        (
            "compute_dag",
            Some(object("tvm.m", "D", &[("tensors", text("{"))])),
            "task 0: computation: invalid TVM graph: EOF while parsing an object at line 1 column 1",
        ),
        (
            "workload_key",
            Some(pickled_integer(1)),
            "task 0: the workload key is not a string",
        ),
        (
            "layout_rewrite_option",
            Some(text("1")),
            "task 0: the layout option is not an integer",
        ),
        (
            "hardware_params",
            Some(graph("H", r#"{"type_key": "H", "attrs": {"a": "x"}}"#)),
            "task 0: hardware: node 1 (H) has an invalid number as \"a\"",
        ),
        (
            "task_input_names",
            Some(graph("A", r#"{"type_key": "Array", "data": [0]}"#)),
            "task 0: list of input names: node 0 () is not text",
        ),
    ] {
        assert_eq!(
            read_error(&network(&[task(&[(field, value)])], &[1])),
            reason
        );
    }
}

#[test]
fn flops_are_counted_like_tvms_estimator() {
    let choice =
        r#""tir.Select", "attrs": {"condition": "28", "true_value": "26", "false_value": "30", "#;
    let call =
        r#"{"type_key": "tir.Call", "attrs": {"args": "27", "dtype": "float32", "op": "0"}}"#;
    let with_node = |node: &str| format!("{{\"type_key\": \"Array\"}}, {node}");
    let product = r#"{"type_key": "tir.Mul", "attrs": {"a": "26", "b": "26", "dtype": "float32"}}"#;
    let square = r#""tir.Mul", "attrs": {"a": "26", "b": "26", "#;
    let empty = r#"{"type_key": "Array"}"#;
    for (changes, count) in [
        (vec![], Some(24.0)),
        // Another kind of type than the result's is not counted.
        (
            vec![(
                r#""b": "26", "dtype": "float32""#,
                r#""b": "26", "dtype": "int32""#,
            )],
            Some(12.0),
        ),
        (
            vec![(
                r#""b": "26", "dtype": "float32""#,
                r#""b": "26", "dtype": "float16""#,
            )],
            Some(24.0),
        ),
        // The more expensive side of a selection.
        (
            vec![(square, choice), (empty, &with_node(product))],
            Some(24.0),
        ),
        (
            vec![(square, choice), (empty, &with_node(call))],
            Some(12.0),
        ),
        // Unknown to the estimator.
        (vec![(r#""tir.Mul""#, r#""tir.Shuffle""#)], None),
        (
            vec![(
                r#"{"type_key": "Range", "attrs": {"extent": "5""#,
                r#"{"type_key": "Range", "attrs": {"extent": "14""#,
            )],
            None,
        ),
        (
            vec![(
                r#"{"type_key": "Range", "attrs": {"extent": "6""#,
                r#"{"type_key": "Range", "attrs": {"extent": "14""#,
            )],
            None,
        ),
        (vec![(r#""ComputeOp""#, r#""ExternOp""#)], None),
        // Stated by the author of the operation.
        (
            vec![(
                r#"{"type_key": "Map"}"#,
                r#"{"type_key": "Map", "keys": ["FLOP"], "data": [6]}"#,
            )],
            Some(3.0),
        ),
    ] {
        assert_eq!(flops(&changes), count, "{changes:?}");
    }
}

#[test]
fn cycles_and_shared_nodes_are_bounded() {
    let error = |changes: &[(&str, &str)]| dag_with(changes).unwrap_err().to_string();
    // An expression that is its own operand, and an operation that reads from itself.
    assert_eq!(
        error(&[(r#""a": "26", "b": "26""#, r#""a": "25", "b": "26""#)]),
        "node 25 is part of a cycle"
    );
    assert_eq!(
        error(&[(r#""producer": "2""#, r#""producer": "8""#)]),
        "node 9 is part of a cycle"
    );
    assert_eq!(
        error(&[(r#""producer": "2""#, r#""producer": "99""#)]),
        "no node 99 in a graph of 30 nodes"
    );
    // x + x of y + y of z + z: a walk that visits it as a tree would take exponential time.
    let first = 30;
    let sums = (0..2_000).map(|sum| {
        let next = if sum == 1_999 { 26 } else { first + sum + 1 };
        format!(r#", {{"type_key": "tir.Add", "attrs": {{"a": "{next}", "b": "{next}", "dtype": "float32"}}}}"#)
    });
    let nodes = NODES.replace(r#""a": "26", "b": "26""#, r#""a": "30", "b": "26""#);
    let nodes = format!("{nodes}{}", sums.collect::<String>());
    assert_eq!(
        dag(&nodes).unwrap().flop_count,
        None,
        "more than a double holds"
    );
    // Two thousand operations that share the same two thousand expressions.
    let operations = (0..2_000).map(|operation| {
        let (tensor, name) = (2_030 + 2 * operation, format!("o{operation}"));
        format!(
            r#", {{"type_key": "Tensor", "attrs": {{"dtype": "float32", "op": "{}", "shape": "10"}}}},
            {{"type_key": "ComputeOp", "attrs": {{"attrs": "7", "axis": "11", "body": "19", "name": "{name}", "tag": ""}}}}"#,
            tensor + 1
        )
    });
    let tensors: Vec<String> = (0..2_000)
        .map(|one| (2_030 + 2 * one).to_string())
        .collect();
    let nodes = nodes.replace(
        r#""data": [2, 8]"#,
        &format!(r#""data": [{}]"#, tensors.join(",")),
    );
    let nodes = format!("{nodes}{}", operations.collect::<String>());
    let error = dag(&nodes).unwrap_err().to_string();
    assert!(error.contains("shares nodes too often"), "{error}");
}

#[test]
fn repeated_references_to_one_task_are_rejected() {
    let task_bytes = task(&[]);
    let references = b"h\x00".repeat(100_000);
    let bytes = file(&[b"](".as_slice(), &task_bytes, b"q\x00", &references, b"e"].concat());
    assert!(read_error(&bytes).contains("refers to the same objects too often"));
}

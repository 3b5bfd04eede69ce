//! Rows of documents to Arrow columns.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, Float64Array, Int16Array, Int32Array, Int64Array, StringArray,
};
use tsql_codecs::graph::{Graph, NodeType, pack_edges, pack_numbers, pack_steps};
use tsql_formats::tpugraphs::NAME;

use super::super::tables::{Columns, repeated};
use super::group::Held;

/// Rows of `node_types` from `first` on.
pub(super) fn node_type_columns(first: i64, types: &[&NodeType]) -> Columns {
    let opcodes = types.iter().map(|node_type| node_type.opcode);
    let features = types.iter().map(|node_type| node_type.features.as_slice());
    let ids = (first..).take(types.len());
    BTreeMap::from([
        (
            "node_type_id",
            Arc::new(Int64Array::from_iter_values(ids)) as ArrayRef,
        ),
        ("opcode", Arc::new(Int16Array::from_iter_values(opcodes))),
        (
            "features",
            Arc::new(BinaryArray::from_iter_values(features)),
        ),
    ])
}

/// Rows of `graphs`: identifier, content hash, numbers of its node types, and the graph.
pub(super) fn graph_columns(graphs: &[(i64, &str, Vec<i64>, &Graph)]) -> Columns {
    let counts = |count: fn(&Graph) -> usize| -> ArrayRef {
        let counts = graphs.iter().map(|(_, _, _, graph)| count(graph));
        let counts = counts.map(|count| i64::try_from(count).unwrap_or(i64::MAX));
        Arc::new(Int64Array::from_iter_values(counts))
    };
    let packed = |pack: fn(&Graph) -> Vec<u8>| -> ArrayRef {
        let packed = graphs.iter().map(|(_, _, _, graph)| pack(graph));
        Arc::new(BinaryArray::from_iter_values(packed))
    };
    let ids = graphs.iter().map(|(id, ..)| *id);
    let keys = graphs.iter().map(|(_, key, ..)| *key);
    let kinds = graphs.iter().map(|(_, _, _, graph)| graph.kind.name());
    let types = graphs.iter().map(|(_, _, types, _)| pack_steps(types));
    BTreeMap::from([
        (
            "graph_id",
            Arc::new(Int64Array::from_iter_values(ids)) as ArrayRef,
        ),
        ("dataset", repeated(NAME, graphs.len())),
        (
            "workload_key",
            Arc::new(StringArray::from_iter_values(keys)),
        ),
        ("kind", Arc::new(StringArray::from_iter_values(kinds))),
        ("node_count", counts(|graph| graph.type_of_node.len())),
        ("edge_count", counts(|graph| graph.edges.len())),
        ("slot_count", counts(|graph| graph.slots.len())),
        ("types", Arc::new(BinaryArray::from_iter_values(types))),
        (
            "type_of_node",
            packed(|graph| pack_numbers(&graph.type_of_node)),
        ),
        (
            "edges",
            packed(|graph| pack_edges(&graph.edges, graph.type_of_node.len())),
        ),
        ("slots", packed(|graph| pack_steps(&graph.slots))),
        ("splits", packed(|graph| pack_steps(&graph.splits))),
    ])
}

/// The environment of all of TpuGraphs, which says nothing of its machines.
pub(super) fn environment_columns(id: i64) -> Columns {
    BTreeMap::from([
        (
            "environment_id",
            Arc::new(Int64Array::from(vec![id])) as ArrayRef,
        ),
        ("dataset", repeated(NAME, 1)),
        ("target", repeated(TARGET, 1)),
        ("log_version", repeated("npy", 1)),
        ("writer", repeated("numpy", 1)),
    ])
}

/// Compiler target of TpuGraphs.
pub(super) const TARGET: &str = "tpu";

/// Rows of `records` from one file, its configurations having these numbers.
pub(super) fn record_columns(held: &Held, environment_id: i64, numbers: Vec<i64>) -> Columns {
    let count = numbers.len();
    let runtimes: Vec<Option<f64>> = held.runtimes().collect();
    let counts = runtimes.iter().map(|runtime| i32::from(runtime.is_some()));
    let counts: Int32Array = counts.map(Some).collect();
    let text = |text: &Option<String>| -> ArrayRef {
        Arc::new(StringArray::from_iter(std::iter::repeat_n(
            text.as_deref(),
            count,
        )))
    };
    let same = |id: i64| -> ArrayRef { Arc::new(Int64Array::from(vec![id; count])) };
    BTreeMap::from([
        ("collection", text(&held.place.collection)),
        ("split", text(&held.place.split)),
        ("graph_id", same(held.graph_id)),
        ("config_id", Arc::new(Int64Array::from(numbers)) as ArrayRef),
        ("runtime_ns", Arc::new(Float64Array::from(runtimes))),
        ("repeat_count", Arc::new(counts)),
        ("error_no", Arc::new(Int16Array::from(vec![0; count]))),
        (
            "baseline_ns",
            Arc::new(held.baselines().collect::<Float64Array>()),
        ),
        ("environment_id", same(environment_id)),
        ("source_id", same(held.source_id)),
        (
            "line",
            Arc::new(Int64Array::from_iter_values((1..).take(count))),
        ),
    ])
}

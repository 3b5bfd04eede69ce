//! Converts documents to Arrow columns.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{
    Array as _, ArrayRef, BinaryArray, Float64Array, Int16Array, Int32Array, Int64Array,
    RecordBatch, StringArray,
};
use arrow::datatypes::Int16Type;
use tsql_codecs::graph::{Graph, NodeType, pack_edges, pack_numbers, pack_steps};
use tsql_error::Result;
use tsql_formats::tpugraphs::NAME;
use tsql_schema::column;
use tsql_schema::column::arrays::{Columns, int64_array, repeat_text, text_array};

use super::parsed::PendingDocument;
use crate::dedupe::NodeKey;

impl NodeKey for NodeType {
    const COLUMNS: &'static [&'static str] = &["opcode", "features"];

    fn read(batch: &RecordBatch) -> Result<Vec<Option<Self>>> {
        let opcodes = column::numbers::<Int16Type>(batch, "opcode")?;
        let features = column::bytes(batch, "features")?;
        let read = |row| {
            opcodes.is_valid(row).then(|| Self {
                opcode: opcodes.value(row),
                features: features.value(row).to_vec(),
            })
        };
        Ok((0..batch.num_rows()).map(read).collect())
    }
}

/// Rows of `node_types`: numbers and types.
pub(super) fn node_type_columns(types: &[(i64, &(NodeType, ()))]) -> Columns {
    let opcodes = types.iter().map(|(_, (one, ()))| one.opcode);
    let features = types.iter().map(|(_, (one, ()))| one.features.as_slice());
    let ids = types.iter().map(|(id, _)| *id);
    BTreeMap::from([
        ("node_type_id", int64_array(ids)),
        ("opcode", Arc::new(Int16Array::from_iter_values(opcodes))),
        (
            "features",
            Arc::new(BinaryArray::from_iter_values(features)),
        ),
    ])
}

/// Content hash, numbers of the node types, and the graph.
pub(super) type GraphRow<'a> = (&'a str, Vec<i64>, &'a Graph);

/// Rows of `graphs`.
pub(super) fn graph_columns(graphs: &[&(i64, GraphRow<'_>)]) -> Columns {
    let counts = |count: fn(&Graph) -> usize| -> ArrayRef {
        let counts = graphs.iter().map(|(_, (.., graph))| count(graph));
        int64_array(counts.map(|count| i64::try_from(count).unwrap_or(i64::MAX)))
    };
    let packed = |pack: fn(&Graph) -> Vec<u8>| -> ArrayRef {
        let packed = graphs.iter().map(|(_, (.., graph))| pack(graph));
        Arc::new(BinaryArray::from_iter_values(packed))
    };
    let ids = graphs.iter().map(|(id, ..)| *id);
    let keys = graphs.iter().map(|(_, (key, ..))| *key);
    let kinds = graphs.iter().map(|(_, (.., graph))| graph.kind.name());
    let types = graphs.iter().map(|(_, (_, types, _))| pack_steps(types));
    BTreeMap::from([
        ("graph_id", int64_array(ids)),
        ("dataset", repeat_text(NAME, graphs.len())),
        ("workload_key", text_array(keys)),
        ("kind", text_array(kinds)),
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

/// The single environment of TpuGraphs. The dataset does not describe its machines.
pub(super) fn environment_columns(id: i64) -> Columns {
    BTreeMap::from([
        ("environment_id", int64_array([id])),
        ("dataset", repeat_text(NAME, 1)),
        ("target", repeat_text(TARGET, 1)),
        ("log_version", repeat_text("npy", 1)),
        ("writer", repeat_text("numpy", 1)),
    ])
}

/// Compiler target of TpuGraphs.
pub(super) const TARGET: &str = "tpu";

/// Rows of `records` of one file, with these configuration numbers.
pub(super) fn record_columns(
    document: &PendingDocument,
    environment_id: i64,
    numbers: Vec<i64>,
) -> Columns {
    let count = numbers.len();
    let runtimes: Vec<Option<f64>> = document.runtimes().collect();
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
        ("collection", text(&document.place.collection)),
        ("split", text(&document.place.split)),
        ("graph_id", same(document.graph_id)),
        ("config_id", Arc::new(Int64Array::from(numbers)) as ArrayRef),
        ("runtime_ns", Arc::new(Float64Array::from(runtimes))),
        ("repeat_count", Arc::new(counts)),
        ("error_no", Arc::new(Int16Array::from(vec![0; count]))),
        (
            "baseline_ns",
            Arc::new(document.baselines().collect::<Float64Array>()),
        ),
        ("environment_id", same(environment_id)),
        ("source_id", same(document.source_id)),
        ("line", int64_array((1..).take(count))),
    ])
}

//! `unpack_nodes`, `unpack_edges`, `unpack_steps`: packed columns of a graph as lists, which the views `nodes` and
//! `edges` unnest.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array};
use arrow::datatypes::{DataType, Fields, Int64Type};
use datafusion::common::cast::{as_binary_view_array, as_primitive_array};
use datafusion::common::{Result, exec_datafusion_err, exec_err};
use tsql_codecs::graph::{unpack_edges, unpack_numbers, unpack_steps};

use super::function_docs::FunctionDocs;
use super::lists::{ListLengths, list_type, nullable_fields};
use super::scalar::{Scalar, argument};

/// `unpack_nodes`: the nodes of a graph.
pub(super) fn nodes_udf() -> Scalar {
    let about = FunctionDocs::new(
        "unpack_nodes",
        "Number and node type of each node of a graph",
        "SELECT unpack_nodes(types, type_of_node) FROM stored.graphs LIMIT 1",
    )
    .argument(
        "types",
        DataType::BinaryView,
        "packed distinct node types of the graph",
    )
    .argument(
        "type_of_node",
        DataType::BinaryView,
        "packed index of the type of each node",
    )
    .source("tsql: `graph` of the crate `tensorsql-codecs`");
    Scalar::new(&about, pairs_type("node", "type"), node_lists)
}

/// `unpack_edges`: the edges of a graph.
pub(super) fn edges_udf() -> Scalar {
    let about = FunctionDocs::new(
        "unpack_edges",
        "User and operand of each edge of a graph",
        "SELECT unpack_edges(edges, node_count) FROM stored.graphs LIMIT 1",
    )
    .argument("edges", DataType::BinaryView, "packed edges")
    .argument(
        "node_count",
        DataType::Int64,
        "number of nodes of the graph",
    )
    .source("tsql: `graph` of the crate `tensorsql-codecs`");
    Scalar::new(&about, pairs_type("user", "operand"), edge_lists)
}

/// `unpack_steps`: ascending numbers.
pub(super) fn steps_udf() -> Scalar {
    let about = FunctionDocs::new(
        "unpack_steps",
        "Numbers that are packed as differences from one to the next",
        "SELECT unpack_steps(slots) FROM stored.graphs LIMIT 1",
    )
    .argument("packed", DataType::BinaryView, "packed differences")
    .source("tsql: `graph` of the crate `tensorsql-codecs`");
    let list = DataType::new_list(DataType::Int64, true);
    Scalar::new(&about, list, step_lists)
}

fn pair_fields(first: &str, second: &str) -> Fields {
    nullable_fields([(first, DataType::Int64), (second, DataType::Int64)])
}

fn pairs_type(first: &str, second: &str) -> DataType {
    list_type(pair_fields(first, second))
}

fn int64_array(numbers: Vec<i64>) -> ArrayRef {
    Arc::new(Int64Array::from(numbers))
}

fn damaged_column(what: &str) -> datafusion::common::DataFusionError {
    exec_datafusion_err!("graphs: damaged {what}")
}

fn node_lists(args: &[ArrayRef]) -> Result<ArrayRef> {
    let types = as_binary_view_array(argument(args, 0)?)?;
    let places = as_binary_view_array(argument(args, 1)?)?;
    let mut lengths = ListLengths::default();
    let (mut numbers, mut ids) = (Vec::new(), Vec::new());
    for (types, places) in types.iter().zip(places.iter()) {
        let (Some(types), Some(places)) = (types, places) else {
            lengths.push(None);
            continue;
        };
        let types = unpack_steps(types).ok_or_else(|| damaged_column("node types"))?;
        let places = unpack_numbers(places).ok_or_else(|| damaged_column("nodes"))?;
        for (number, place) in (0..).zip(&places) {
            let Some(&id) = types.get(*place as usize) else {
                return exec_err!("graphs: the type of a node is not in the graph");
            };
            numbers.push(number);
            ids.push(id);
        }
        lengths.push(Some(places.len()));
    }
    lengths.into_struct_lists(
        pair_fields("node", "type"),
        vec![int64_array(numbers), int64_array(ids)],
    )
}

fn edge_lists(args: &[ArrayRef]) -> Result<ArrayRef> {
    let packed = as_binary_view_array(argument(args, 0)?)?;
    let counts = as_primitive_array::<Int64Type>(argument(args, 1)?)?;
    let mut lengths = ListLengths::default();
    let (mut users, mut operands) = (Vec::new(), Vec::new());
    for (packed, count) in packed.iter().zip(counts.iter()) {
        let (Some(packed), Some(count)) = (packed, count) else {
            lengths.push(None);
            continue;
        };
        let count = usize::try_from(count).map_err(|_| damaged_column("node count"))?;
        let edges = unpack_edges(packed, count).ok_or_else(|| damaged_column("edges"))?;
        for &(user, operand) in &edges {
            users.push(user.into());
            operands.push(operand.into());
        }
        lengths.push(Some(edges.len()));
    }
    let columns = vec![int64_array(users), int64_array(operands)];
    lengths.into_struct_lists(pair_fields("user", "operand"), columns)
}

fn step_lists(args: &[ArrayRef]) -> Result<ArrayRef> {
    let packed = as_binary_view_array(argument(args, 0)?)?;
    let mut lengths = ListLengths::default();
    let mut numbers = Vec::new();
    for packed in packed.iter() {
        let Some(packed) = packed else {
            lengths.push(None);
            continue;
        };
        let steps = unpack_steps(packed).ok_or_else(|| damaged_column("list of nodes"))?;
        lengths.push(Some(steps.len()));
        numbers.extend(steps);
    }
    lengths.into_lists(int64_array(numbers))
}

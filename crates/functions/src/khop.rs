//! `khop`: the k-hop neighbourhood of a graph's configurable nodes.

use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, Int64Array};
use arrow::datatypes::DataType;
use datafusion::common::cast::{as_binary_view_array, as_int64_array};
use datafusion::common::{Result, exec_datafusion_err};
use tsql_codecs::graph::unpack_steps;
use tsql_graphs::nodes_within;

use super::function_docs::FunctionDocs;
use super::graph_edges::{EDGES_DOC, GraphColumns, NODE_COUNT_DOC};
use super::lists::ListLengths;
use super::scalar::{Scalar, argument};

pub(super) fn function() -> Scalar {
    let about = FunctionDocs::new(
        "khop",
        "Nodes of a TpuGraphs graph within k edges of a configurable node, in any direction, including the \
         configurable nodes, in ascending order. A network of k layers needs only this part of the graph",
        "SELECT graph_id, khop(edges, node_count, slots, 2) FROM stored.graphs WHERE kind = 'layout'",
    )
    .argument("edges", DataType::BinaryView, EDGES_DOC)
    .argument("node_count", DataType::Int64, NODE_COUNT_DOC)
    .argument("slots", DataType::BinaryView, "packed configurable nodes, as in `stored.graphs.slots`")
    .argument("k", DataType::Int64, "number of edges, 0 or more")
    .source(
        "first place of Kaggle's \"Fast or Slow?\" (data_compression.py:20-44): edges that touch configurable nodes; \
         k: tsql",
    );
    let list = DataType::new_list(DataType::Int64, true);
    Scalar::new(&about, list, lists)
}

fn lists(args: &[ArrayRef]) -> Result<ArrayRef> {
    let graphs = GraphColumns::from_args(args, false)?;
    let slots = as_binary_view_array(argument(args, 2)?)?;
    let hops = as_int64_array(argument(args, 3)?)?;
    let (mut lengths, mut numbers) = (ListLengths::default(), Vec::new());
    for row in 0..graphs.len() {
        let neighbours = graphs.neighbours(row)?;
        let is_there = slots.is_valid(row) && hops.is_valid(row);
        let Some(neighbours) = neighbours.filter(|_| is_there) else {
            lengths.push(None);
            continue;
        };
        let hops = hops.value(row);
        let most = u32::try_from(hops)
            .map_err(|_| exec_datafusion_err!("khop: k is {hops}, expected 0 or more"))?;
        let damaged = || exec_datafusion_err!("graphs: damaged slots");
        let slots = unpack_steps(slots.value(row)).ok_or_else(damaged)?;
        let slots = slots.into_iter().map(u32::try_from);
        let slots: Vec<u32> = slots
            .collect::<std::result::Result<_, _>>()
            .map_err(|_| damaged())?;
        let nodes = nodes_within(&neighbours, &slots, most);
        lengths.push(Some(nodes.len()));
        numbers.extend(nodes.into_iter().map(i64::from));
    }
    lengths.into_lists(Arc::new(Int64Array::from(numbers)))
}

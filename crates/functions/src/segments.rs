//! `segments`: partitions a graph into segments with their halos, the nodes that message passing reads from.

use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, Int64Array};
use arrow::datatypes::{DataType, Fields};
use datafusion::common::cast::as_int64_array;
use datafusion::common::{DataFusionError, Result, exec_datafusion_err};
use tsql_graphs::split_into_segments;

use super::function_docs::FunctionDocs;
use super::graph_edges::{ARGUMENT_COUNT_DOC, EDGES_DOC, GraphColumns, NODE_COUNT_DOC};
use super::lists::{ListLengths, list_type, nullable_fields};
use super::scalar::{Scalar, argument};

fn member_fields() -> Fields {
    use DataType::Int64;
    nullable_fields([("segment", Int64), ("node", Int64), ("distance", Int64)])
}

pub(super) fn function() -> Scalar {
    let about = FunctionDocs::new(
        "segments",
        "Segments of a graph with a maximum number of consecutive nodes; their number is minimal and their sizes are \
         as equal as possible. Returns segment, node and distance of each node of a segment and of its halo. The halo \
         consists of the nodes within a number of edges of the segment (distance 1 or more). With a halo of k edges, \
         k layers of message passing give the nodes of a segment the same outputs as in the whole graph",
        "SELECT graph_id, unnest(segments(edges, node_count, argument_count, 5000, 2)) FROM stored.graphs",
    )
    .argument("edges", DataType::BinaryView, EDGES_DOC)
    .argument("node_count", DataType::Int64, NODE_COUNT_DOC)
    .argument("argument_count", DataType::Int64, ARGUMENT_COUNT_DOC)
    .argument("max_nodes", DataType::Int64, "maximum number of nodes of a segment, without its halo")
    .argument("halo", DataType::Int64, "width of the halo in edges; 0 for none")
    .source("GST (arXiv 2305.12322), `layout/data.py:137-163` of TpuGraphs; halo: tsql");
    Scalar::new(&about, list_type(member_fields()), lists)
}

fn parse_positive(name: &str, number: i64, least: i64) -> Result<u32, DataFusionError> {
    let wrong = || exec_datafusion_err!("segments: {name} is {number}, expected {least} or more");
    let found = u32::try_from(number).map_err(|_| wrong())?;
    if i64::from(found) < least {
        return Err(wrong());
    }
    Ok(found)
}

fn lists(args: &[ArrayRef]) -> Result<ArrayRef> {
    let graphs = GraphColumns::from_args(args, true)?;
    let most = as_int64_array(argument(args, 3)?)?;
    let halos = as_int64_array(argument(args, 4)?)?;
    let mut lengths = ListLengths::default();
    let (mut parts, mut nodes, mut distances) = (Vec::new(), Vec::new(), Vec::new());
    for row in 0..graphs.len() {
        let neighbours = graphs.neighbours(row)?;
        let is_there = most.is_valid(row) && halos.is_valid(row);
        let Some(neighbours) = neighbours.filter(|_| is_there) else {
            lengths.push(None);
            continue;
        };
        let most = parse_positive("max_nodes", most.value(row), 1)?;
        let halo = parse_positive("halo", halos.value(row), 0)?;
        let members = split_into_segments(&neighbours, most, halo);
        lengths.push(Some(members.len()));
        for member in members {
            parts.push(i64::from(member.segment));
            nodes.push(i64::from(member.node));
            distances.push(i64::from(member.distance));
        }
    }
    let columns = [parts, nodes, distances];
    let columns = columns.map(|numbers| Arc::new(Int64Array::from(numbers)) as ArrayRef);
    lengths.into_struct_lists(member_fields(), columns.into())
}

//! `repeated_blocks`, `repeated_block_nodes`, `node_kind`: repeated sequences of nodes of a graph.
//!
//! The views `blocks` and `block_members` unnest the first two. `node_kind` returns equal values for equivalent nodes.

use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, AsArray as _, Int64Array, StringViewArray};
use arrow::datatypes::{DataType, Fields, Int16Type, Int32Type, Int64Type};
use datafusion::common::cast::{
    as_binary_view_array, as_int64_array, as_primitive_array, as_string_view_array,
};
use datafusion::common::{Result, exec_datafusion_err, exec_err};
use tsql_codecs::graph::unpack_features;
use tsql_codecs::hlo::feature_index;
use tsql_graphs::{Block, find_blocks};
use twox_hash::XxHash3_64;

use super::function_docs::FunctionDocs;
use super::graph_edges::{ARGUMENT_COUNT_DOC, EDGES_DOC, GraphColumns, NODE_COUNT_DOC};
use super::lists::{ListLengths, list_type, nullable_fields};
use super::scalar::{Scalar, argument};

/// Features that distinguish otherwise equivalent nodes of TpuGraphs: the index of a program parameter, and whether the
/// node is the program's result.
const IDENTITY_FEATURES: [&str; 2] = ["is_root", "parameter_number"];

const SOURCE: &str = "proposed by the authors of TpuGraphs (arXiv 2308.13490); tsql: `blocks` of the crate \
    `tensorsql-graphs`";

/// `node_kind`: the equivalence class of each node.
pub(super) fn kind_udf() -> Scalar {
    let about = FunctionDocs::new(
        "node_kind",
        "Number of the kind of a node, equal for equivalent nodes in all stores. TpuGraphs: a hash of opcode and \
         features, except `is_root` and `parameter_number`. GraphNet: a hash of the call with its operands blanked",
        "SELECT node_kind(opcode, features, signature, output_count) FROM node_types LIMIT 3",
    )
    .argument("opcode", DataType::Int16, "`node_types.opcode`")
    .argument("features", DataType::BinaryView, "`node_types.features`")
    .argument("signature", DataType::Utf8View, "`node_types.signature`")
    .argument("output_count", DataType::Int32, "`node_types.output_count`")
    .source("tsql: `XXH3-64`");
    Scalar::new(&about, DataType::Int64, node_kinds)
}

fn node_kinds(args: &[ArrayRef]) -> Result<ArrayRef> {
    let opcodes = as_primitive_array::<Int16Type>(argument(args, 0)?)?;
    let features = as_binary_view_array(argument(args, 1)?)?;
    let signatures = as_string_view_array(argument(args, 2)?)?;
    let outputs = as_primitive_array::<Int32Type>(argument(args, 3)?)?;
    let own = IDENTITY_FEATURES.map(feature_index);
    let mut kinds = Vec::with_capacity(opcodes.len());
    for row in 0..opcodes.len() {
        let mut text = Vec::new();
        if opcodes.is_valid(row) && features.is_valid(row) {
            text.extend_from_slice(&opcodes.value(row).to_le_bytes());
            let row = unpack_features(features.value(row));
            let mut row =
                row.ok_or_else(|| exec_datafusion_err!("node_types: damaged features"))?;
            for place in own.into_iter().flatten() {
                if let Some(feature) = row.get_mut(place) {
                    *feature = 0;
                }
            }
            text.extend(row.iter().flat_map(|feature| feature.to_le_bytes()));
        } else if signatures.is_valid(row) {
            text.extend_from_slice(signatures.value(row).as_bytes());
            let count = if outputs.is_valid(row) {
                outputs.value(row)
            } else {
                1
            };
            text.extend_from_slice(&count.to_le_bytes());
        }
        let kind = XxHash3_64::oneshot(&text).cast_signed();
        kinds.push((!text.is_empty()).then_some(kind));
    }
    Ok(Arc::new(Int64Array::from(kinds)))
}

fn with_graph_arguments(
    name: &'static str,
    description: &'static str,
    example: &'static str,
) -> FunctionDocs {
    FunctionDocs::new(name, description, example)
        .argument("edges", DataType::BinaryView, EDGES_DOC)
        .argument("node_count", DataType::Int64, NODE_COUNT_DOC)
        .argument("argument_count", DataType::Int64, ARGUMENT_COUNT_DOC)
        .argument(
            "kinds",
            DataType::new_list(DataType::Int64, true),
            "kind of each node, in order (`node_kind`)",
        )
        .argument(
            "min_nodes",
            DataType::Int64,
            "minimum number of nodes of a run",
        )
        .source(SOURCE)
}

fn block_fields() -> Fields {
    nullable_fields([
        ("block", DataType::Int64),
        ("hash", DataType::Utf8View),
        ("node_count", DataType::Int64),
        ("occurrence_count", DataType::Int64),
        ("input_count", DataType::Int64),
        ("starts", DataType::new_list(DataType::Int64, true)),
    ])
}

/// `repeated_blocks`: the repeated sequences.
pub(super) fn runs_udf() -> Scalar {
    let about = with_graph_arguments(
        "repeated_blocks",
        "Runs of nodes that a graph repeats without overlap. The nodes of all occurrences have the same kinds and \
         consume the same values of each other. Returns number, hash, number of nodes, number of occurrences, number \
         of values from other nodes, and the first node of each occurrence. Runs that save most nodes if stored once \
         come first, and no node is in two runs",
        "SELECT graph_id, unnest(repeated_blocks(edges, node_count, argument_count, [1], 4)) FROM stored.graphs WHERE node_count = 1",
    );
    Scalar::new(&about, list_type(block_fields()), run_lists)
}

fn node_fields() -> Fields {
    nullable_fields([
        ("block", DataType::Int64),
        ("occurrence", DataType::Int64),
        ("position", DataType::Int64),
        ("node", DataType::Int64),
    ])
}

/// `repeated_block_nodes`: the nodes of the sequences.
pub(super) fn nodes_udf() -> Scalar {
    let about = with_graph_arguments(
        "repeated_block_nodes",
        "Nodes of the runs that `repeated_blocks` returns: number of the run, index of the occurrence, position in \
         it, node",
        "SELECT graph_id, unnest(repeated_block_nodes(edges, node_count, argument_count, [1], 4)) FROM stored.graphs WHERE node_count = 1",
    );
    Scalar::new(&about, list_type(node_fields()), node_lists)
}

/// Blocks of the graph in a row; `None` if the row has no graph.
fn blocks_of_row(
    args: &[ArrayRef],
    graphs: &GraphColumns<'_>,
    row: usize,
) -> Result<Option<Vec<Block>>> {
    let kinds = argument(args, 3)?.as_list::<i32>();
    let least = as_int64_array(argument(args, 4)?)?;
    let Some(uses) = graphs.node_uses(row)? else {
        return Ok(None);
    };
    if kinds.is_null(row) || least.is_null(row) {
        return Ok(None);
    }
    let of_nodes = kinds.value(row);
    let of_nodes = of_nodes.as_primitive::<Int64Type>().iter();
    let of_nodes: Vec<u64> = of_nodes
        .map(|kind| kind.unwrap_or_default().cast_unsigned())
        .collect();
    if of_nodes.len() != uses.len() {
        return exec_err!("{} kinds for {} nodes", of_nodes.len(), uses.len());
    }
    let number = least.value(row);
    let least = u32::try_from(number).ok().filter(|least| *least > 0);
    let Some(least) = least else {
        return exec_err!("min_nodes is {number}, expected 1 or more");
    };
    Ok(Some(find_blocks(&of_nodes, &uses, least)))
}

fn to_i64(number: impl TryInto<i64>) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}

fn run_lists(args: &[ArrayRef]) -> Result<ArrayRef> {
    let graphs = GraphColumns::from_args(args, true)?;
    let (mut lengths, mut starts) = (ListLengths::default(), ListLengths::default());
    let (mut numbers, mut hashes) = ([const { Vec::new() }; 4], Vec::new());
    let mut firsts = Vec::new();
    for row in 0..graphs.len() {
        let Some(blocks) = blocks_of_row(args, &graphs, row)? else {
            lengths.push(None);
            continue;
        };
        lengths.push(Some(blocks.len()));
        for (place, block) in (0..).zip(&blocks) {
            let own = [
                place,
                block.length.into(),
                to_i64(block.starts.len()),
                block.inputs.into(),
            ];
            for (column, number) in numbers.iter_mut().zip(own) {
                column.push(number);
            }
            hashes.push(format!("{:016x}", block.hash));
            starts.push(Some(block.starts.len()));
            firsts.extend(block.starts.iter().map(|&start| i64::from(start)));
        }
    }
    let [places, sizes, occurrences, inputs] =
        numbers.map(|numbers| Arc::new(Int64Array::from(numbers)) as ArrayRef);
    let columns = vec![
        places,
        Arc::new(StringViewArray::from_iter_values(hashes)),
        sizes,
        occurrences,
        inputs,
        starts.into_lists(Arc::new(Int64Array::from(firsts)))?,
    ];
    lengths.into_struct_lists(block_fields(), columns)
}

fn node_lists(args: &[ArrayRef]) -> Result<ArrayRef> {
    let graphs = GraphColumns::from_args(args, true)?;
    let mut lengths = ListLengths::default();
    let mut numbers = [const { Vec::new() }; 4];
    for row in 0..graphs.len() {
        let Some(blocks) = blocks_of_row(args, &graphs, row)? else {
            lengths.push(None);
            continue;
        };
        let mut all = 0;
        for (block, run) in (0..).zip(&blocks) {
            for (occurrence, &start) in (0..).zip(&run.starts) {
                for place in 0..i64::from(run.length) {
                    let own = [block, occurrence, place, i64::from(start) + place];
                    for (column, number) in numbers.iter_mut().zip(own) {
                        column.push(number);
                    }
                    all += 1;
                }
            }
        }
        lengths.push(Some(all));
    }
    let columns = numbers.map(|numbers| Arc::new(Int64Array::from(numbers)) as ArrayRef);
    lengths.into_struct_lists(node_fields(), columns.into())
}

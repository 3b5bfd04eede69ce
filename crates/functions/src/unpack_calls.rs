//! `unpack_uses`, `unpack_named_nodes`: packed columns of a captured graph as lists, which the views `edges` and
//! `sample_nodes` unnest.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, StringViewArray};
use arrow::datatypes::{DataType, Fields};
use datafusion::common::cast::{as_binary_view_array, as_string_view_array};
use datafusion::common::{DataFusionError, Result, exec_datafusion_err};
use tsql_codecs::graph::{unpack_numbers, unpack_steps};
use tsql_codecs::opgraph::{Operand, unpack_operands};

use super::function_docs::FunctionDocs;
use super::lists::{ListLengths, list_type, nullable_fields};
use super::scalar::{Scalar, argument};

fn use_fields() -> Fields {
    use DataType::Int64;
    nullable_fields([
        ("user", Int64),
        ("type", Int64),
        ("ordinal", Int64),
        ("operand", Int64),
        ("output", Int64),
        ("input", Int64),
    ])
}

/// `unpack_uses`: the edges of a captured graph.
pub(super) fn uses_udf() -> Scalar {
    let about = FunctionDocs::new(
        "unpack_uses",
        "Uses of values in a captured graph: node, type of the node, index of the operand, and the used value",
        "SELECT unpack_uses(types, type_of_node, edges) FROM stored.graphs WHERE dataset = 'graphnet' LIMIT 1",
    )
        .argument("types", DataType::BinaryView, TYPES)
        .argument("type_of_node", DataType::BinaryView, TYPE_OF_NODE)
        .argument(
            "edges",
            DataType::BinaryView,
            "packed operands of each node",
        ).source("tsql: `opgraph` of the crate `tensorsql-codecs`");
    Scalar::new(&about, list_type(use_fields()), use_lists)
}

const TYPES: &str = "packed distinct node types of the graph";

const TYPE_OF_NODE: &str = "packed index of the type of each node";

fn node_fields() -> Fields {
    nullable_fields([
        ("node", DataType::Int64),
        ("type", DataType::Int64),
        ("name", DataType::Utf8View),
        ("output_types", DataType::Utf8View),
    ])
}

/// `unpack_named_nodes`: the nodes of a captured graph.
pub(super) fn named_nodes_udf() -> Scalar {
    let about = FunctionDocs::new(
        "unpack_named_nodes",
        "Number, type, name and output types of each node of a captured graph",
        "SELECT unpack_named_nodes(types, type_of_node, NULL, output_types) FROM stored.graphs WHERE dataset = 'graphnet' LIMIT 1",
    )
        .argument("types", DataType::BinaryView, TYPES)
        .argument("type_of_node", DataType::BinaryView, TYPE_OF_NODE)
        .argument("names", DataType::Utf8View, "one line per node")
        .argument("output_types", DataType::Utf8View, "one line per node")
        .source("tsql: `graph` of the crate `tensorsql-codecs`");
    Scalar::new(&about, list_type(node_fields()), node_lists)
}

fn damaged_column(what: &str) -> DataFusionError {
    exec_datafusion_err!("graphs: damaged {what}")
}

/// Type of each node.
fn types_of_nodes(types: &[u8], places: &[u8]) -> Result<Vec<i64>> {
    let types = unpack_steps(types).ok_or_else(|| damaged_column("node types"))?;
    let places = unpack_numbers(places).ok_or_else(|| damaged_column("nodes"))?;
    let ids = places
        .iter()
        .map(|&place| types.get(place as usize).copied());
    let ids: Option<Vec<i64>> = ids.collect();
    ids.ok_or_else(|| damaged_column("nodes: a type is not in the graph"))
}

fn use_lists(args: &[ArrayRef]) -> Result<ArrayRef> {
    let bytes = |place| as_binary_view_array(argument(args, place)?);
    let (types, places, edges) = (bytes(0)?, bytes(1)?, bytes(2)?);
    let mut lengths = ListLengths::default();
    let (mut users, mut ids, mut ordinals) = (Vec::new(), Vec::new(), Vec::new());
    let (mut operands, mut outputs, mut inputs) = (Vec::new(), Vec::new(), Vec::new());
    for ((types, places), edges) in types.iter().zip(places).zip(edges) {
        let (Some(types), Some(places), Some(edges)) = (types, places, edges) else {
            lengths.push(None);
            continue;
        };
        let types = types_of_nodes(types, places)?;
        let all = unpack_operands(edges, types.len()).ok_or_else(|| damaged_column("edges"))?;
        let before = users.len();
        for ((user, id), own) in (0_i64..).zip(types).zip(all) {
            for (ordinal, operand) in (0_i64..).zip(own) {
                users.push(user);
                ids.push(id);
                ordinals.push(ordinal);
                let (operand, output, input) = match operand {
                    Operand::Argument(place) => (None, None, Some(i64::from(place))),
                    Operand::Node(node, output) => {
                        (Some(i64::from(node)), Some(i64::from(output)), None)
                    }
                };
                operands.push(operand);
                outputs.push(output);
                inputs.push(input);
            }
        }
        lengths.push(Some(users.len() - before));
    }
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from(users)),
        Arc::new(Int64Array::from(ids)),
        Arc::new(Int64Array::from(ordinals)),
        Arc::new(Int64Array::from(operands)),
        Arc::new(Int64Array::from(outputs)),
        Arc::new(Int64Array::from(inputs)),
    ];
    lengths.into_struct_lists(use_fields(), columns)
}

fn node_lists(args: &[ArrayRef]) -> Result<ArrayRef> {
    let types = as_binary_view_array(argument(args, 0)?)?;
    let places = as_binary_view_array(argument(args, 1)?)?;
    let names = as_string_view_array(argument(args, 2)?)?;
    let outputs = as_string_view_array(argument(args, 3)?)?;
    let mut lengths = ListLengths::default();
    let (mut numbers, mut ids) = (Vec::new(), Vec::new());
    let (mut texts, mut output_types) = (Vec::new(), Vec::new());
    for (((types, places), names), outputs) in types.iter().zip(places).zip(names).zip(outputs) {
        let (Some(types), Some(places)) = (types, places) else {
            lengths.push(None);
            continue;
        };
        let types = types_of_nodes(types, places)?;
        let mut names = names.unwrap_or_default().split('\n');
        let mut outputs = outputs.unwrap_or_default().split('\n');
        let said = |lines: &mut dyn Iterator<Item = &'_ str>| -> Option<String> {
            lines
                .next()
                .filter(|line| !line.is_empty())
                .map(str::to_owned)
        };
        lengths.push(Some(types.len()));
        for (number, id) in (0_i64..).zip(types) {
            numbers.push(number);
            ids.push(id);
            texts.push(said(&mut names));
            output_types.push(said(&mut outputs));
        }
    }
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from(numbers)),
        Arc::new(Int64Array::from(ids)),
        Arc::new(texts.into_iter().collect::<StringViewArray>()),
        Arc::new(output_types.into_iter().collect::<StringViewArray>()),
    ];
    lengths.into_struct_lists(node_fields(), columns)
}

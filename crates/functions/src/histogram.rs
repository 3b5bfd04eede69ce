//! Histograms of the operations of a graph, and of the tensors of a sample.

use arrow::array::{Array as _, ArrayRef, AsArray as _};
use arrow::datatypes::{DataType, Int16Type, Int64Type};
use datafusion::common::Result;
use datafusion::common::cast::{as_primitive_array, as_string_view_array};
use tsql_codecs::hlo::{OPCODE_COUNT, opcode_name};
use tsql_graphs::{OPERATIONS, operation_index};

use super::aggregate::Aggregate;
use super::elements::ElementNames;
use super::function_docs::FunctionDocs;
use super::scalar::argument;
use super::vectors::{AddRowsFn, Fold, Vector, VectorAggregate};

pub(super) fn all() -> [Aggregate; 3] {
    [opcodes(), operations(), tensors()]
}

fn histogram_aggregate(about: &FunctionDocs, width: usize, take: AddRowsFn) -> Aggregate {
    let fold = Fold::Sum;
    Aggregate::new(about, VectorAggregate { width, fold, take })
}

/// Operations of TpuGraphs graphs.
fn opcodes() -> Aggregate {
    let about = FunctionDocs::new(
        "op_histogram",
        "Number of nodes of a TpuGraphs graph with each of XLA's 121 opcodes, as a list of fixed size. NULL if no \
         node has an opcode",
        "SELECT graph_id, op_histogram(opcode) FROM nodes GROUP BY graph_id",
    )
    .argument("opcode", DataType::Int16, "`nodes.opcode`; opcodes outside of XLA's numbers count as 0, unknown")
    .with_elements(|| {
        let opcodes = (0..).map_while(opcode_name);
        ElementNames::unconditional(opcodes)
    })
    .source("opcodes: `HloOpcode` of XLA, as TpuGraphs (arXiv 2308.13490) numbers them");
    histogram_aggregate(&about, OPCODE_COUNT, |vector, columns| {
        let opcodes = as_primitive_array::<Int16Type>(argument(columns, 0)?)?;
        for opcode in opcodes.iter().flatten() {
            let place = usize::try_from(opcode)
                .ok()
                .filter(|place| *place < OPCODE_COUNT);
            vector.add(place.unwrap_or_default(), 1.0);
            vector.add_row();
        }
        Ok(())
    })
}

/// Operations of captured graphs.
fn operations() -> Aggregate {
    let about = FunctionDocs::new(
        "graphnet_op_histogram",
        "Number of nodes of a GraphNet graph with each of 292 operation names, as a list of fixed size. The last \
         element counts all other nodes. The names and their positions never change",
        "SELECT graph_id, graphnet_op_histogram(op) FROM nodes GROUP BY graph_id",
    )
    .argument("op", DataType::Utf8View, "`nodes.op`")
    .with_elements(|| ElementNames::unconditional(OPERATIONS.into_iter().chain(["other"])))
    .source("names: op_names.txt of GraphNet; selection: tsql");
    histogram_aggregate(&about, OPERATIONS.len() + 1, |vector, columns| {
        for op in as_string_view_array(argument(columns, 0)?)? {
            let place = op.and_then(operation_index);
            vector.add(place.unwrap_or(OPERATIONS.len()), 1.0);
            vector.add_row();
        }
        Ok(())
    })
}

/// Roles of tensors, as in `tensors.kind`.
const KINDS: [&str; 4] = ["parameter", "buffer", "input", "symint"];

/// Data types, without the framework prefix.
const DTYPES: [&str; 12] = [
    "float64",
    "float32",
    "float16",
    "bfloat16",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint8",
    "bool",
    "complex64",
    "other",
];

/// Number of distinguished ranks; higher ranks share one element.
const RANKS: usize = 8;

/// Offsets of the data types, the ranks and the element counts.
const DTYPE_OFFSET: usize = KINDS.len();
const RANK_OFFSET: usize = DTYPE_OFFSET + DTYPES.len();
const ELEMENTS_OFFSET: usize = RANK_OFFSET + RANKS + 1;

/// Tensors of GraphNet samples.
fn tensors() -> Aggregate {
    let about = FunctionDocs::new(
        "graphnet_tensor_histogram",
        "Number of weights and inputs of a GraphNet sample of each kind, data type and number of dimensions, as a \
         list of fixed size. The kinds are parameters, buffers, inputs and sizes. The last element is the number of \
         elements of the parameters",
        "SELECT path, graphnet_tensor_histogram(kind, dtype, shape) FROM tensors GROUP BY path",
    )
    .argument("kind", DataType::Utf8View, "`tensors.kind`")
    .argument("dtype", DataType::Utf8View, "`tensors.dtype`")
    .argument("shape", DataType::new_list(DataType::Int64, true), "`tensors.shape`")
    .with_elements(|| {
        let kinds = KINDS.map(|kind| format!("{kind}s"));
        let dtypes = DTYPES.map(|dtype| format!("dtype_{dtype}"));
        let ranks = (0..RANKS).map(|rank| format!("rank_{rank}"));
        let rest = [format!("rank_{RANKS}_or_more"), "parameter_elements".to_owned()];
        ElementNames::unconditional(kinds.into_iter().chain(dtypes).chain(ranks).chain(rest))
    })
    .source("`weight_meta.py` and `input_meta.py` of GraphNet; tsql");
    histogram_aggregate(&about, ELEMENTS_OFFSET + 1, add_tensors)
}

#[expect(clippy::cast_precision_loss, reason = "models read 32-bit floats")]
fn add_tensors(vector: &mut Vector, columns: &[ArrayRef]) -> Result<()> {
    let kinds = as_string_view_array(argument(columns, 0)?)?;
    let dtypes = as_string_view_array(argument(columns, 1)?)?;
    let shapes = argument(columns, 2)?.as_list::<i32>();
    for ((kind, dtype), shape) in kinds.iter().zip(dtypes).zip(shapes.iter()) {
        vector.add_row();
        let kind = KINDS.iter().position(|known| Some(*known) == kind);
        if let Some(place) = kind {
            vector.add(place, 1.0);
        }
        if let Some(dtype) = dtype {
            let own = dtype.rsplit('.').next();
            let place = DTYPES.iter().position(|known| Some(*known) == own);
            vector.add(DTYPE_OFFSET + place.unwrap_or(DTYPES.len() - 1), 1.0);
        }
        if let Some(shape) = shape {
            vector.add(RANK_OFFSET + shape.len().min(RANKS), 1.0);
            let sizes = shape.as_primitive::<Int64Type>().values();
            if kind == Some(0) {
                let elements: f64 = sizes.iter().map(|&size| size as f64).product();
                vector.add(ELEMENTS_OFFSET, elements);
            }
        }
    }
    Ok(())
}

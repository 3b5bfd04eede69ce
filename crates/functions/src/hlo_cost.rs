//! `hlo_flop_count` and `hlo_byte_count`: floating-point operations and output bytes of XLA operations.

use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, Int64Array};
use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::common::cast::{as_binary_view_array, as_int16_array, as_list_array};
use tsql_codecs::cost::{Features, byte_count, flop_count};

use super::function_docs::FunctionDocs;
use super::node_feature::{FEATURES_DOC, decode_features};
use super::scalar::{Scalar, argument};

const SOURCE: &str = "XLA's cost analysis (xla/service/hlo_cost_analysis.cc)";

pub(super) fn flop_count_udf() -> Scalar {
    let about = FunctionDocs::new(
        "hlo_flop_count",
        "Number of multiplications and additions of an operation of TpuGraphs: for `dot` and `convolution` (without \
         padding), 0 for all others. NULL if the operands do not fit. The contracted dimensions of a `dot` are \
         inferred from the sizes; if several assignments fit, the one with the fewest dimensions counts",
        "SELECT n.graph_id, n.node, n.op, hlo_flop_count(n.opcode, n.features, o.features) FROM nodes AS n \
         JOIN (SELECT e.graph_id, e.user, array_agg(o.features) AS features FROM edges AS e \
         JOIN nodes AS o ON o.graph_id = e.graph_id AND o.node = e.operand GROUP BY e.graph_id, e.user) AS o \
         ON o.graph_id = n.graph_id AND o.user = n.node WHERE n.op IN ('dot', 'convolution') LIMIT 3",
    )
    .argument("opcode", DataType::Int16, "`nodes.opcode`")
    .argument("features", DataType::BinaryView, FEATURES_DOC)
    .argument(
        "operands",
        DataType::new_list(DataType::BinaryView, true),
        "features of its operands, in any order",
    )
    .source(SOURCE);
    Scalar::new(&about, DataType::Int64, flop_counts)
}

pub(super) fn byte_count_udf() -> Scalar {
    let about = FunctionDocs::new(
        "hlo_byte_count",
        "Size of the output of an operation of TpuGraphs, in bytes. NULL for a tuple or a token",
        "SELECT graph_id, sum(hlo_byte_count(features)) FROM nodes WHERE op = 'parameter' GROUP BY graph_id",
    )
    .argument("features", DataType::BinaryView, FEATURES_DOC)
    .source(SOURCE);
    Scalar::new(&about, DataType::Int64, |args| {
        let features = as_binary_view_array(argument(args, 0)?)?;
        let one = |features: Option<&[u8]>| -> Result<Option<i64>> {
            let features = features.map(decode_features).transpose()?;
            Ok(features.as_ref().and_then(byte_count))
        };
        let counts = features.iter().map(one).collect::<Result<Int64Array>>()?;
        Ok(Arc::new(counts))
    })
}

fn flop_counts(args: &[ArrayRef]) -> Result<ArrayRef> {
    let opcodes = as_int16_array(argument(args, 0)?)?;
    let features = as_binary_view_array(argument(args, 1)?)?;
    let operands = as_list_array(argument(args, 2)?)?;
    let one = |row: usize| -> Result<Option<i64>> {
        if opcodes.is_null(row) || features.is_null(row) || operands.is_null(row) {
            return Ok(None);
        }
        let operands = operands.value(row);
        let operands = as_binary_view_array(&operands)?.iter().flatten();
        let operands = operands
            .map(decode_features)
            .collect::<Result<Vec<Features>>>()?;
        let opcode = i64::from(opcodes.value(row));
        Ok(flop_count(
            opcode,
            &decode_features(features.value(row))?,
            &operands,
        ))
    };
    let counts = (0..opcodes.len())
        .map(one)
        .collect::<Result<Int64Array>>()?;
    Ok(Arc::new(counts))
}

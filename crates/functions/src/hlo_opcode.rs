//! `hlo_opcode`: the XLA name of an opcode number.

use std::sync::Arc;

use arrow::array::{ArrayRef, StringViewArray};
use arrow::datatypes::{DataType, Int16Type};
use datafusion::common::Result;
use datafusion::common::cast::as_primitive_array;
use tsql_codecs::hlo::opcode_name;

use super::function_docs::FunctionDocs;
use super::scalar::{Scalar, argument};

pub(super) fn function() -> Scalar {
    let about = FunctionDocs::new(
        "hlo_opcode",
        "XLA's name of an opcode. NULL for a number without a name",
        "SELECT hlo_opcode(arrow_cast(2, 'Int16'))",
    )
    .argument("opcode", DataType::Int16, "number of the opcode")
    .source("TpuGraphs (arXiv 2308.13490); `HloOpcode` of XLA");
    Scalar::new(&about, DataType::Utf8View, opcode_names)
}

fn opcode_names(args: &[ArrayRef]) -> Result<ArrayRef> {
    let opcodes = as_primitive_array::<Int16Type>(argument(args, 0)?)?;
    let names = opcodes.iter();
    let names = names.map(|opcode| opcode.and_then(|opcode| opcode_name(opcode.into())));
    Ok(Arc::new(names.collect::<StringViewArray>()))
}

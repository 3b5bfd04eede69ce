//! `hlo_opcode`: XLA's name of an operation from its number.

use std::sync::Arc;

use arrow::array::{ArrayRef, StringViewArray};
use arrow::datatypes::{DataType, Int16Type};
use datafusion::common::Result;
use datafusion::common::cast::as_primitive_array;
use datafusion::logical_expr::ScalarUDF;
use tsql_codecs::hlo::opcode_name;

/// XLA's name of an operation from its number; NULL for a number that it did not have.
pub(super) fn udf() -> ScalarUDF {
    let types = vec![DataType::Int16];
    super::function("hlo_opcode", types, DataType::Utf8View, names)
}

fn names(args: &[ArrayRef]) -> Result<ArrayRef> {
    let opcodes = as_primitive_array::<Int16Type>(super::argument(args, 0)?)?;
    let names = opcodes.iter();
    let names = names.map(|opcode| opcode.and_then(|opcode| opcode_name(opcode.into())));
    Ok(Arc::new(names.collect::<StringViewArray>()))
}

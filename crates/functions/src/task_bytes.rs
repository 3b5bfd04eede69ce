//! `task_bytes`: the minimum number of bytes that a task moves.

use std::sync::Arc;

use arrow::array::Int64Array;
use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::common::cast::as_string_view_array;
use datafusion::common::exec_datafusion_err;
use serde::Deserialize;

use super::function_docs::FunctionDocs;
use super::scalar::{Scalar, argument};

/// A tensor in the format of `tasks.tensors`.
#[derive(Deserialize)]
struct Tensor {
    shape: Vec<Option<i64>>,
    dtype: Option<String>,
}

impl Tensor {
    /// Size in bytes; `None` for a dynamic shape and for a type of unknown width.
    fn bytes(&self) -> Option<i64> {
        let bits = self.dtype.as_deref().and_then(dtype_bits)?;
        let mut sizes = self.shape.iter();
        let count = sizes.try_fold(1_i64, |count, size| count.checked_mul((*size)?))?;
        count.checked_mul(bits).map(|bits| (bits + 7) / 8)
    }
}

/// Number of bits of a type, from the digits at the end of its name.
fn dtype_bits(dtype: &str) -> Option<i64> {
    if dtype == "bool" {
        return Some(8);
    }
    let name = dtype.trim_end_matches(|digit: char| digit.is_ascii_digit());
    let bits = dtype.strip_prefix(name)?.parse().ok()?;
    let known = ["float", "bfloat", "int", "uint"];
    known.contains(&name).then_some(bits)
}

pub(super) fn task_bytes_udf() -> Scalar {
    let about = FunctionDocs::new(
        "task_bytes",
        "Size of all inputs and outputs of a task in bytes, each counted once: the minimum memory traffic of any \
         schedule. NULL if a size is not constant",
        "SELECT op, flop_count, task_bytes(tensors), flop_count / task_bytes(tensors) AS flop_per_byte FROM tasks LIMIT 3",
    )
    .argument("tensors", DataType::Utf8View, "`tasks.tensors`")
    .source("Williams, Waterman and Patterson, \"Roofline\", CACM 52(4), 2009: compulsory traffic");
    Scalar::new(&about, DataType::Int64, |args| {
        let texts = as_string_view_array(argument(args, 0)?)?;
        let row = |text: Option<&str>| -> Result<Option<i64>> {
            let Some(text) = text else {
                return Ok(None);
            };
            let tensors: Vec<Tensor> = serde_json::from_str(text)
                .map_err(|error| exec_datafusion_err!("not a list of tensors: {error}"))?;
            let mut tensors = tensors.iter();
            Ok(tensors.try_fold(0_i64, |sum, one| sum.checked_add(one.bytes()?)))
        };
        let rows = texts.iter().map(row).collect::<Result<Int64Array>>()?;
        Ok(Arc::new(rows))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_those_of_the_names() {
        for (dtype, expected) in [
            ("float32", Some(32)),
            ("bfloat16", Some(16)),
            ("int8", Some(8)),
            ("uint1", Some(1)),
            ("bool", Some(8)),
            ("float", None),
            ("handle64", None),
            ("float32x4", None),
        ] {
            assert_eq!(dtype_bits(dtype), expected, "{dtype}");
        }
    }
}

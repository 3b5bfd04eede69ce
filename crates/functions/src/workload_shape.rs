//! `workload_shape`: the numbers in a workload key.

use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, FixedSizeListArray, Float32Array};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Field};
use datafusion::common::Result;
use datafusion::common::cast::as_string_view_array;
use serde_json::Value;

use super::elements::ElementNames;
use super::function_docs::FunctionDocs;
use super::scalar::{Scalar, argument};

/// Number of elements of the result.
const WIDTH: usize = 16;

const SIZE: i32 = 16;

pub(super) fn function() -> Scalar {
    let about = FunctionDocs::new(
        "workload_shape",
        "The first 16 numbers of a workload key after its first entry, as a list of fixed size. Lists are flattened, \
         true and false are 1 and 0, texts and nulls are ignored, and missing numbers are 0. NULL if the key is not a \
         JSON list",
        "SELECT workload_shape('[\"12b88b\", 1, 56, [3, 3], \"SAME\"]')",
    )
    .argument("workload_key", DataType::Utf8View, "key, as in `graphs.workload_key`")
    .with_elements(|| ElementNames::unconditional((0..WIDTH).map(|place| format!("number_{place}"))))
    .source("keys: TVM, `auto_scheduler.workload_registry`; 16: tsql");
    let list = DataType::new_fixed_size_list(DataType::Float32, SIZE, false);
    Scalar::new(&about, list, lists)
}

fn lists(args: &[ArrayRef]) -> Result<ArrayRef> {
    let keys = as_string_view_array(argument(args, 0)?)?;
    let mut numbers = Vec::with_capacity(keys.len() * WIDTH);
    let there = keys.iter().map(|key| {
        let before = numbers.len();
        let shape = key.and_then(workload_shape);
        let is_there = shape.is_some();
        numbers.extend(shape.into_iter().flatten().take(WIDTH));
        numbers.resize(before + WIDTH, 0.0);
        is_there
    });
    let there = there.collect::<NullBuffer>();
    let item = Arc::new(Field::new_list_field(DataType::Float32, false));
    let values = Arc::new(Float32Array::from(numbers));
    let there = Some(there).filter(|there| there.null_count() > 0);
    Ok(Arc::new(FixedSizeListArray::try_new(
        item, SIZE, values, there,
    )?))
}

fn workload_shape(key: &str) -> Option<Vec<f32>> {
    let Ok(Value::Array(entries)) = serde_json::from_str(key) else {
        return None;
    };
    let mut numbers = Vec::new();
    entries
        .iter()
        .skip(1)
        .for_each(|entry| flatten_entry(entry, &mut numbers));
    Some(numbers)
}

#[expect(clippy::cast_possible_truncation, reason = "models read 32-bit floats")]
fn flatten_entry(entry: &Value, numbers: &mut Vec<f32>) {
    match entry {
        Value::Array(entries) => entries
            .iter()
            .for_each(|entry| flatten_entry(entry, numbers)),
        Value::Bool(flag) => numbers.push(f32::from(*flag)),
        Value::Number(number) => numbers.push(number.as_f64().unwrap_or_default() as f32),
        Value::Null | Value::String(_) | Value::Object(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_in_the_order_of_the_key() {
        let key =
            r#"["conv2d", 1, [[7, 2.5], 3], "SAME", true, null, ["TENSOR", [1, 768], "float32"]]"#;
        assert_eq!(
            workload_shape(key).unwrap(),
            [1.0, 7.0, 2.5, 3.0, 1.0, 1.0, 768.0]
        );
        assert_eq!(workload_shape(r#"["x"]"#).unwrap(), [0.0; 0]);
        assert_eq!(
            (
                workload_shape("{}"),
                workload_shape("matmul"),
                workload_shape("")
            ),
            (None, None, None)
        );
    }
}

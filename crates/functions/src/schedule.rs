//! `schedule_numbers` and `tlp_tokens`: model inputs from the transform steps of a program.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, FixedSizeListArray, Float32Array, Int32Array, StringViewArray,
};
use arrow::buffer::NullBuffer;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field};
use datafusion::common::cast::as_string_view_array;
use datafusion::common::{Result, ScalarValue, exec_err, plan_err};
use tsql_codecs::schedule::{Target, WIDTH, number_names, numbers, token_names, tokens};

use super::elements::ElementNames;
use super::function_docs::FunctionDocs;
use super::scalar::{Scalar, argument};

const STEPS: &str = "transform steps of TVM's auto_scheduler as JSON: `configurations.steps`";

/// `schedule_numbers`: the 113 numbers.
pub(super) fn schedule_numbers() -> Scalar {
    let about = FunctionDocs::new(
        "schedule_numbers",
        "Feature vector of a schedule, computed from its transform steps only, as a list of fixed size with 113 \
         numbers. It contains the number of steps, also by kind; the number of loops with each annotation; the \
         maximum auto_unroll_max_step; for each of the first 12 splits extent, ceil(extent / product), the first 4 \
         lengths and the product of the lengths, or 0; and the sum of log2 of the products of all splits. NULL for \
         steps of other tuners",
        "SELECT schedule_numbers(steps) FROM configurations LIMIT 3",
    )
    .argument("steps", DataType::Utf8View, STEPS)
    .with_elements(|| ElementNames::unconditional(number_names()))
    .source("kinds and annotations: transform_step.h of TVM 0.8 to 0.14; numbers: tsql");
    let size = i32::try_from(WIDTH).unwrap_or(i32::MAX);
    let list = DataType::new_fixed_size_list(DataType::Float32, size, false);
    Scalar::new(&about, list, move |args| {
        let steps = as_string_view_array(argument(args, 0)?)?;
        let rows = fill_rows(steps, WIDTH, 0.0_f32, numbers);
        list_array(Arc::new(Float32Array::from(rows.0)), size, rows.1)
    })
}

/// `tlp_tokens`: the tokens of TLP.
pub(super) fn tlp_tokens() -> Scalar {
    let about = FunctionDocs::new(
        "tlp_tokens",
        "Input of TLP's model for a schedule, as a list of fixed size: 25 rows of 22 whole numbers for `llvm`, 40 \
         rows of 20 for `cuda`, row by row. A row is a step: a one-hot vector of its kind among 11, then its \
         arguments, padded with zeros or truncated. Unroll steps that upstream's table lacks (8, 128, 256) are 0. \
         NULL for steps of other tuners",
        "SELECT tlp_tokens(steps, 'llvm') FROM configurations LIMIT 3",
    )
    .argument("steps", DataType::Utf8View, STEPS)
    .argument("kind", DataType::Utf8View, "literal `llvm` or `cuda`")
    .with_elements(|| {
        let of = [("llvm", Target::Llvm), ("cuda", Target::Cuda)];
        of.map(|(name, target)| ElementNames::for_argument(name, token_names(target))).into()
    })
    .source("TLP (arXiv 2211.03578), tlp_make_dataset.py:37-74");
    let none = DataType::new_fixed_size_list(DataType::Int32, 0, false);
    Scalar::new(&about, none, token_lists).return_type_of_literals(|literals| {
        let kind = literals.get(1).copied().flatten();
        match kind.and_then(ScalarValue::try_as_str).flatten().and_then(Target::from_name) {
            Some(target) => {
                let (_, size) = width(target);
                Ok(DataType::new_fixed_size_list(DataType::Int32, size, false))
            }
            None => plan_err!("tlp_tokens(steps, kind): kind must be a literal 'llvm' or 'cuda', which sets the size \
                of the list"),
        }
    })
}

fn width(target: Target) -> (usize, i32) {
    let (steps, numbers) = target.shape();
    let width = steps * numbers;
    (width, i32::try_from(width).unwrap_or(i32::MAX))
}

fn token_lists(args: &[ArrayRef]) -> Result<ArrayRef> {
    let steps = as_string_view_array(argument(args, 0)?)?;
    let kinds = cast(argument(args, 1)?, &DataType::Utf8View)?;
    let kind = as_string_view_array(&kinds)?.iter().next().flatten();
    let Some(target) = kind.and_then(Target::from_name) else {
        return exec_err!("tlp_tokens: kind must be 'llvm' or 'cuda'");
    };
    let (width, size) = width(target);
    let rows = fill_rows(steps, width, 0_i32, |steps, row| tokens(steps, target, row));
    list_array(Arc::new(Int32Array::from(rows.0)), size, rows.1)
}

/// Concatenated rows of all steps, and their validity.
fn fill_rows<T: Copy>(
    steps: &StringViewArray,
    width: usize,
    zero: T,
    write: impl Fn(&str, &mut [T]) -> Option<()>,
) -> (Vec<T>, NullBuffer) {
    let mut all = vec![zero; steps.len() * width];
    let each = steps.iter().zip(all.chunks_exact_mut(width));
    let there = each.map(|(steps, row)| {
        let written = steps.and_then(|steps| write(steps, row));
        if written.is_none() {
            row.fill(zero);
        }
        written.is_some()
    });
    let there = there.collect::<NullBuffer>();
    (all, there)
}

fn list_array(values: ArrayRef, size: i32, there: NullBuffer) -> Result<ArrayRef> {
    let item = Arc::new(Field::new_list_field(values.data_type().clone(), false));
    let there = Some(there).filter(|there| there.null_count() > 0);
    let lists = FixedSizeListArray::try_new(item, size, values, there)?;
    Ok(Arc::new(lists))
}

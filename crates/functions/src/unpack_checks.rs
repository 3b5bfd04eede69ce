//! `unpack_checks`: the correctness checks of a benchmark run as a list, which the view `checks` unnests. `passes_at`:
//! whether all outputs are correct at a tolerance.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Float64Array, Int64Array, StringViewArray};
use arrow::datatypes::{DataType, Fields, Int32Type, Int64Type};
use datafusion::common::Result;
use datafusion::common::cast::{as_primitive_array, as_string_view_array};

use super::function_docs::FunctionDocs;
use super::lists::{ListLengths, list_type, nullable_fields};
use super::scalar::{Scalar, argument};

fn check_fields() -> Fields {
    use DataType::{Float64, Int64, Utf8View};
    nullable_fields([
        ("key", Utf8View),
        ("output", Int64),
        ("datatype", Utf8View),
        ("atol", Float64),
        ("rtol", Float64),
        ("value", Float64),
    ])
}

/// `unpack_checks`: the checks of a run.
pub(super) fn checks_udf() -> Scalar {
    let about = FunctionDocs::new(
        "unpack_checks",
        "Checks of a benchmark run: key, output, type, tolerances and value of each",
        "SELECT unpack_checks(check_keys, check_values, eager_datatypes) FROM stored.runs LIMIT 1",
    )
    .argument("keys", DataType::Utf8View, "one line per tolerance")
    .argument(
        "values",
        DataType::Utf8View,
        "one line of values per key, one value per output",
    )
    .argument("datatypes", DataType::Utf8View, "types of the outputs")
    .source("GraphNet's benchmark logs; tsql: `runs` in `schemas/runs.toml`");
    Scalar::new(&about, list_type(check_fields()), lists)
}

/// `passes_at`: whether a run passes.
pub(super) fn passes_at() -> Scalar {
    let about = FunctionDocs::new(
        "passes_at",
        "True if all outputs of a run are correct at tolerance t: bit t + 10",
        "SELECT passes_at(arrow_cast(1024, 'Int32'), 0)",
    )
    .argument("passes", DataType::Int32, "bits, as in `runs.passes`")
    .argument("t", DataType::Int64, "tolerance, from -10 to 5")
    .source("GraphNet publication, section on the speedup score");
    Scalar::new(&about, DataType::Boolean, pass_bits)
}

fn pass_bits(args: &[ArrayRef]) -> Result<ArrayRef> {
    let passes = as_primitive_array::<Int32Type>(argument(args, 0)?)?;
    let levels = as_primitive_array::<Int64Type>(argument(args, 1)?)?;
    let bit = |(passes, level): (Option<i32>, Option<i64>)| {
        let bit = u32::try_from(level?.checked_add(10)?).ok()?;
        Some(passes?.checked_shr(bit)? & 1 == 1)
    };
    let bits: BooleanArray = passes.iter().zip(levels).map(bit).collect();
    Ok(Arc::new(bits))
}

/// Tolerances from a key such as `all_close_atol_1.00E-05_rtol_1.30E-06`.
fn tolerances(key: &str) -> (Option<f64>, Option<f64>) {
    let parsed = key.strip_prefix("all_close_atol_").and_then(|rest| {
        let (atol, rtol) = rest.split_once("_rtol_")?;
        Some((atol.parse().ok()?, rtol.parse().ok()?))
    });
    parsed.unzip()
}

fn lists(args: &[ArrayRef]) -> Result<ArrayRef> {
    let keys = as_string_view_array(argument(args, 0)?)?;
    let values = as_string_view_array(argument(args, 1)?)?;
    let datatypes = as_string_view_array(argument(args, 2)?)?;
    let mut lengths = ListLengths::default();
    let (mut names, mut outputs, mut types) = (Vec::new(), Vec::new(), Vec::new());
    let (mut atols, mut rtols, mut found) = (Vec::new(), Vec::new(), Vec::new());
    for ((keys, values), datatypes) in keys.iter().zip(values).zip(datatypes) {
        let (Some(keys), Some(values)) = (keys, values) else {
            lengths.push(None);
            continue;
        };
        let before = names.len();
        for (key, values) in keys.lines().zip(values.split('\n')) {
            let (atol, rtol) = tolerances(key);
            let mut own = datatypes.unwrap_or_default().split_whitespace();
            for (output, value) in (0_i64..).zip(values.split_whitespace()) {
                names.push(Some(key));
                outputs.push(output);
                types.push(own.next());
                atols.push(atol);
                rtols.push(rtol);
                found.push(value.parse::<f64>().ok());
            }
        }
        lengths.push(Some(names.len() - before));
    }
    let columns: Vec<ArrayRef> = vec![
        Arc::new(names.into_iter().collect::<StringViewArray>()),
        Arc::new(Int64Array::from(outputs)),
        Arc::new(types.into_iter().collect::<StringViewArray>()),
        Arc::new(Float64Array::from(atols)),
        Arc::new(Float64Array::from(rtols)),
        Arc::new(Float64Array::from(found)),
    ];
    lengths.into_struct_lists(check_fields(), columns)
}

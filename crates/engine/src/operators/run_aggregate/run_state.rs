//! Aggregate states of runs of rows.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{
    Array as _, ArrayRef, ArrowPrimitiveType, AsArray as _, Int64Array, PrimitiveArray, UInt64Array,
};
use arrow::compute::{max, min, sum};
use arrow::datatypes::{DataType, Float64Type, Int16Type, Int32Type, Int64Type};
use tsql_functions::sums_fit;

/// Returns the state of the aggregate `name` for each run, in DataFusion's state columns. Returns `None` if the
/// accumulator must see the rows.
pub(super) fn run_states(
    name: &str,
    values: &[ArrayRef],
    runs: &[Range<usize>],
) -> Option<Vec<ArrayRef>> {
    let [values] = values else { return None };
    let there = |run: &Range<usize>| {
        let rows = values.slice(run.start, run.len());
        rows.len() - rows.logical_null_count()
    };
    let reduced = match (name, values.data_type()) {
        ("count", _) => {
            let counts = runs.iter().map(|run| i64::try_from(there(run)).ok());
            Arc::new(Int64Array::from(counts.collect::<Option<Vec<_>>>()?)) as ArrayRef
        }
        ("avg", DataType::Float64) => {
            let sums = reduce_runs::<Float64Type>(values, runs, sum);
            // The count of a run without values is NULL: its group may have none at all.
            let counts = runs.iter().map(|run| there(run) as u64);
            let counts = counts.map(|count| (count > 0).then_some(count));
            return Some(vec![Arc::new(counts.collect::<UInt64Array>()), sums]);
        }
        ("sum", DataType::Float64) => reduce_runs::<Float64Type>(values, runs, sum),
        ("sum", DataType::Int64) if sums_fit(values.as_primitive()) => {
            reduce_runs::<Int64Type>(values, runs, sum)
        }
        ("min", DataType::Float64) if has_no_nan(values) => {
            reduce_runs::<Float64Type>(values, runs, min)
        }
        ("max", DataType::Float64) if has_no_nan(values) => {
            reduce_runs::<Float64Type>(values, runs, max)
        }
        ("min", DataType::Int64) => reduce_runs::<Int64Type>(values, runs, min),
        ("max", DataType::Int64) => reduce_runs::<Int64Type>(values, runs, max),
        ("min", DataType::Int32) => reduce_runs::<Int32Type>(values, runs, min),
        ("max", DataType::Int32) => reduce_runs::<Int32Type>(values, runs, max),
        ("min", DataType::Int16) => reduce_runs::<Int16Type>(values, runs, min),
        ("max", DataType::Int16) => reduce_runs::<Int16Type>(values, runs, max),
        _ => return None,
    };
    Some(vec![reduced])
}

fn reduce_runs<T: ArrowPrimitiveType>(
    values: &ArrayRef,
    runs: &[Range<usize>],
    of: impl Fn(&PrimitiveArray<T>) -> Option<T::Native>,
) -> ArrayRef {
    let values = values.as_primitive::<T>();
    let reduced = runs
        .iter()
        .map(|run| of(&values.slice(run.start, run.len())));
    Arc::new(reduced.collect::<PrimitiveArray<T>>())
}

/// With NaN, DataFusion's minimum and maximum are computed row by row.
fn has_no_nan(values: &ArrayRef) -> bool {
    let values = values.as_primitive::<Float64Type>().values();
    !values.iter().any(|value| value.is_nan())
}

#[cfg(test)]
mod tests {
    use arrow::array::{Float64Array, StringArray};

    use super::*;

    #[test]
    fn runs_of_values_are_what_groups_would_have_of_them() {
        let nan = f64::NAN;
        let numbers = [Some(1.5), None, Some(-2.0), None, None, Some(7.0)];
        let numbers: ArrayRef = Arc::new(Float64Array::from(numbers.to_vec()));
        let runs = [0..3, 3..5, 5..6];
        let of = |name: &str, values: &ArrayRef| run_states(name, &[Arc::clone(values)], &runs);
        let floats = |values: [Option<f64>; 3]| Arc::new(Float64Array::from(values.to_vec())) as _;
        let whole = |values: &[i64]| Arc::new(Int64Array::from(values.to_vec())) as ArrayRef;
        let sums: ArrayRef = floats([Some(-0.5), None, Some(7.0)]);
        assert_eq!(of("sum", &numbers), Some(vec![Arc::clone(&sums)]));
        let counts = UInt64Array::from(vec![Some(2), None, Some(1)]);
        assert_eq!(of("avg", &numbers), Some(vec![Arc::new(counts), sums]));
        assert_eq!(of("count", &numbers), Some(vec![whole(&[2, 0, 1])]));
        let least = floats([Some(-2.0), None, Some(7.0)]);
        assert_eq!(of("min", &numbers), Some(vec![least]));
        let greatest = floats([Some(1.5), None, Some(7.0)]);
        assert_eq!(of("max", &numbers), Some(vec![greatest]));
        let numbers = whole(&[i64::MAX, 1, 0, 4, 5, 6]);
        // A sum that may be out of range is left to the accumulator.
        assert_eq!(of("sum", &numbers), None);
        assert_eq!(of("max", &numbers), Some(vec![whole(&[i64::MAX, 5, 6])]));
        let numbers = whole(&[i64::MIN / 8, 1, 0, 4, 5, 6]);
        let sums = whole(&[i64::MIN / 8 + 1, 9, 6]);
        assert_eq!(of("sum", &numbers), Some(vec![sums]));
        let numbers: ArrayRef = Arc::new(Float64Array::from(vec![1.0, nan, 0.0, 1.0, 1.0, 1.0]));
        assert_eq!(of("min", &numbers), None);
        assert!(of("sum", &numbers).is_some());
        assert_eq!(of("corr", &numbers), None);
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["a"; 6]));
        assert_eq!(of("max", &texts), None);
        assert_eq!(of("count", &texts), Some(vec![whole(&[3, 2, 1])]));
    }
}

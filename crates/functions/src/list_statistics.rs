//! Statistics of a list of numbers: `list_median(repeats_ns)` and related functions.
//!
//! NULLs in a list are ignored, as in aggregates. The result is NULL if the list is NULL or has no numbers. NaN is
//! greater than any number.

use std::sync::Arc;

use arrow::array::{
    Array as _, ArrayRef, AsArray as _, BooleanArray, Float64Array, ListArray, StructArray,
};
use arrow::datatypes::{DataType, Float64Type};
use datafusion::common::cast::{as_float64_array, as_list_array};
use tsql_metrics::change::{MINIMAL_CHANGE, RepeatPair, Verdict};
use tsql_metrics::median::median_interval;
use tsql_metrics::stats;

use super::function_docs::FunctionDocs;
use super::lists::nullable_fields;
use super::scalar::{Scalar, argument, number_list};

/// All functions of this module.
pub(super) fn all() -> [Scalar; 6] {
    [
        list_statistic(
            "list_median",
            "Median of the numbers of a list: the middle one, or the mean of the two in the middle",
            "SELECT list_median(repeats_ns) FROM records LIMIT 3",
            "David and Nagaraja, Order Statistics, section 1.1",
            |values| stats::quantile_unsorted(values, 0.5),
        ),
        list_statistic(
            "list_std",
            "Sample standard deviation (n - 1) of the numbers of a list. NULL for fewer than two",
            "SELECT list_std(repeats_ns) FROM records LIMIT 3",
            "Welford, Technometrics 4, 1962",
            |values| stats::sample_deviation(values),
        ),
        list_statistic(
            "list_mad",
            "Median absolute deviation of the numbers of a list: the median of their distances from their median, not \
             scaled",
            "SELECT list_mad(repeats_ns) FROM records LIMIT 3",
            "Hampel, Journal of the American Statistical Association 69, 1974",
            |values| stats::median_absolute_deviation(values),
        ),
        quantile(),
        median_ci(),
        is_faster(),
    ]
}

/// A statistic of one list.
fn list_statistic(
    name: &'static str,
    description: &'static str,
    example: &'static str,
    source: &'static str,
    of: fn(&mut Vec<f64>) -> Option<f64>,
) -> Scalar {
    let about = FunctionDocs::new(name, description, example)
        .argument("list", number_list(), "numbers")
        .source(source);
    Scalar::new(&about, DataType::Float64, move |args| {
        let lists = as_list_array(argument(args, 0)?)?;
        let found = (0..lists.len()).map(|row| of(&mut list_values(lists, row)?));
        Ok(Arc::new(found.collect::<Float64Array>()))
    })
    .coerce_numbers()
}

fn quantile() -> Scalar {
    let about = FunctionDocs::new(
        "list_quantile",
        "Quantile of the numbers of a list, with linear interpolation between two of them",
        "SELECT list_quantile(repeats_ns, 0.9) FROM records LIMIT 3",
    )
    .argument("list", number_list(), "numbers")
    .argument(
        "share",
        DataType::Float64,
        "from 0 to 1; the result is NULL for other numbers",
    )
    .source("SQL:2003, percentile_cont; NumPy's default quantile");
    Scalar::new(&about, DataType::Float64, |args| {
        let lists = as_list_array(argument(args, 0)?)?;
        let shares = as_float64_array(argument(args, 1)?)?;
        let found = (0..lists.len()).map(|row| {
            let share = value_at(shares, row).filter(|share| (0.0..=1.0).contains(share))?;
            stats::quantile_unsorted(&mut list_values(lists, row)?, share)
        });
        Ok(Arc::new(found.collect::<Float64Array>()))
    })
    .coerce_numbers()
}

fn median_ci() -> Scalar {
    let ends = nullable_fields([("low", DataType::Float64), ("high", DataType::Float64)]);
    let about = FunctionDocs::new(
        "median_ci",
        "Confidence interval of the median, for any distribution: two of the sorted numbers. NULL for too few numbers \
         (fewer than six for 0.95)",
        "SELECT median_ci(repeats_ns, 0.75) FROM records LIMIT 3",
    )
    .argument("list", number_list(), "numbers")
    .argument("confidence", DataType::Float64, "above 0 and below 1 (default 0.95)")
    .optional()
    .source("Hahn and Meeker, Statistical Intervals, section 5.2; as in `tsql measure`");
    Scalar::new(&about, DataType::Struct(ends.clone()), move |args| {
        let lists = as_list_array(argument(args, 0)?)?;
        let found = (0..lists.len()).map(|row| {
            let confidence = match args.get(1) {
                Some(given) => value_at(as_float64_array(given).ok()?, row)?,
                None => 0.95,
            };
            median_interval(&list_values(lists, row)?, confidence)
        });
        let found: Vec<Option<(f64, f64)>> = found.collect();
        let low: Float64Array = found.iter().map(|one| one.map(|(low, _)| low)).collect();
        let high: Float64Array = found.iter().map(|one| one.map(|(_, high)| high)).collect();
        let there = found.iter().map(Option::is_some).collect();
        let columns: Vec<ArrayRef> = vec![Arc::new(low), Arc::new(high)];
        Ok(Arc::new(StructArray::try_new(
            ends.clone(),
            columns,
            Some(there),
        )?))
    })
    .coerce_numbers()
}

fn is_faster() -> Scalar {
    let about = FunctionDocs::new(
        "is_faster",
        "True if a takes significantly less time than b: by Mann-Whitney's test, and at least 2 % by the median of \
         the ratios and by the fastest repeats. False if it takes significantly more time or the same. NULL if the \
         test is inconclusive: too few or too noisy repeats, or a number that is not a time",
        "SELECT is_faster(repeats_ns, [1e6, 1.1e6, 1.2e6]) FROM records LIMIT 3",
    )
    .argument("a", number_list(), "repeats of a")
    .argument("b", number_list(), "repeats of b, in the same unit")
    .argument(
        "alpha",
        DataType::Float64,
        "significance level (default 0.05)",
    )
    .optional()
    .source("Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 4.1; as `tsql compare`, for one pair");
    Scalar::new(&about, DataType::Boolean, |args| {
        let a = as_list_array(argument(args, 0)?)?;
        let b = as_list_array(argument(args, 1)?)?;
        let found = (0..a.len()).map(|row| {
            let alpha = match args.get(2) {
                Some(given) => value_at(as_float64_array(given).ok()?, row)?,
                None => 0.05,
            };
            let compared = RepeatPair::new(&list_values(b, row)?, &list_values(a, row)?)?.compare();
            match compared.verdict_with(MINIMAL_CHANGE, alpha) {
                Verdict::Faster => Some(true),
                Verdict::Slower | Verdict::Same => Some(false),
                Verdict::Unclear => None,
            }
        });
        Ok(Arc::new(found.collect::<BooleanArray>()))
    })
    .coerce_numbers()
}

/// The numbers of a list.
fn list_values(lists: &ListArray, row: usize) -> Option<Vec<f64>> {
    if lists.is_null(row) {
        return None;
    }
    let list = lists.value(row);
    let numbers = list.as_primitive_opt::<Float64Type>()?;
    Some(numbers.iter().flatten().collect())
}

fn value_at(numbers: &Float64Array, row: usize) -> Option<f64> {
    numbers.is_valid(row).then(|| numbers.value(row))
}

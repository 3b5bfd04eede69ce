//! Summaries of one column of numbers: geometric mean and spread.

use crate::geometric_mean::GeometricMean;
use crate::metric::{Argument, Evaluation, Metric, RowGroup, ValueKind};
use crate::stats::median_absolute_deviation;

/// Metrics of one column of numbers. NULLs are ignored.
pub(crate) const METRICS: &[Metric] = &[
    Metric {
        name: "geomean",
        description: "Geometric mean of ratios, such as speedups. 0 if a number is 0, NaN if one is below 0",
        arguments: &[Argument::per_row(
            "value",
            ValueKind::Number,
            "a number from 0 up",
        )],
        example: "SELECT geomean(baseline_ns / runtime_ns) FROM records",
        source: "Fleming and Wallace, Communications of the ACM 29, 1986",
        gives: Evaluation::Number(geomean),
    },
    Metric {
        name: "mad",
        description: "Median of the distances from the median, not scaled",
        arguments: &[Argument::per_row("value", ValueKind::Number, "a number")],
        example: "SELECT platform, mad(runtime_ns) FROM records GROUP BY platform",
        source: "Hampel, Journal of the American Statistical Association 69, 1974",
        gives: Evaluation::Number(mad),
    },
];

fn geomean(rows: &RowGroup) -> Result<Option<f64>, String> {
    let values = || rows.numbers("value").iter().flatten().copied();
    // Undefined for negative values and NaN.
    if values().any(|value| value.is_nan() || value < 0.0) {
        return Ok(Some(f64::NAN));
    }
    if values().any(|value| value == 0.0) {
        let is_undefined = values().any(f64::is_infinite);
        return Ok(Some(if is_undefined { f64::NAN } else { 0.0 }));
    }
    if values().any(f64::is_infinite) {
        return Ok(Some(f64::INFINITY));
    }
    Ok(values().collect::<GeometricMean>().value())
}

fn mad(rows: &RowGroup) -> Result<Option<f64>, String> {
    let mut values: Vec<f64> = rows.numbers("value").iter().flatten().copied().collect();
    Ok(median_absolute_deviation(&mut values))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evaluate(metric: &Metric, values: &[Option<f64>]) -> Option<f64> {
        let mut group = RowGroup::new(metric.arguments);
        group.add_numbers(0, values.iter().copied());
        match metric.gives {
            Evaluation::Number(function) => function(&group).unwrap(),
            Evaluation::Numbers(..) => panic!("one number"),
        }
    }

    #[test]
    fn geometric_mean_of_zeros_infinities_and_invalid_numbers() {
        let geomean = &METRICS[0];
        let close = |values: &[Option<f64>], expected: f64| {
            let actual = evaluate(geomean, values).unwrap();
            assert!((actual / expected - 1.0).abs() < 1e-12, "{actual}");
        };
        close(&[Some(1.0), None, Some(4.0)], 2.0);
        close(&[Some(7.0)], 7.0);
        assert_eq!(evaluate(geomean, &[Some(0.0), Some(4.0)]), Some(0.0));
        assert_eq!(
            evaluate(geomean, &[Some(f64::INFINITY), Some(4.0)]),
            Some(f64::INFINITY)
        );
        for odd in [-1.0, f64::NAN] {
            assert!(evaluate(geomean, &[Some(odd), Some(4.0)]).unwrap().is_nan());
        }
        assert!(
            evaluate(geomean, &[Some(0.0), Some(f64::INFINITY)])
                .unwrap()
                .is_nan()
        );
        assert_eq!(evaluate(geomean, &[None]), None);
    }

    #[test]
    fn distances_are_from_the_median() {
        let mad = &METRICS[1];
        let values = [9.0, 1.0, 2.0, 4.0, 4.5].map(Some);
        assert_eq!(evaluate(mad, &values), Some(2.0));
        assert_eq!(evaluate(mad, &[Some(3.0), None]), Some(0.0));
        assert_eq!(evaluate(mad, &[]), None);
    }
}

//! What many numbers come to: their geometric mean, and how far they spread.

use crate::geometric_mean::GeometricMean;
use crate::metric::{Argument, Gives, Group, Kind, Metric};
use crate::stats::median_distance;

/// Those of one column of numbers. NULLs do not count.
pub(crate) const METRICS: &[Metric] = &[
    Metric {
        name: "geomean",
        description: "The geometric mean: of ratios, such as speedups. 0 where one is 0, NaN where one is below",
        arguments: &[Argument::of_row(
            "value",
            Kind::Number,
            "a number from 0 up",
        )],
        example: "SELECT geomean(baseline_ns / runtime_ns) FROM records",
        source: "Fleming and Wallace, Communications of the ACM 29, 1986",
        gives: Gives::Number(geomean),
    },
    Metric {
        name: "mad",
        description: "Median of the distances from the median, not scaled",
        arguments: &[Argument::of_row("value", Kind::Number, "a number")],
        example: "SELECT platform, mad(runtime_ns) FROM records GROUP BY platform",
        source: "Hampel, Journal of the American Statistical Association 69, 1974",
        gives: Gives::Number(mad),
    },
];

fn geomean(rows: &Group) -> Result<Option<f64>, String> {
    let values = || rows.numbers("value").iter().flatten().copied();
    // Not above 0, and NaN among them.
    if values().any(|value| value.is_nan() || value < 0.0) {
        return Ok(Some(f64::NAN));
    }
    if values().any(|value| value == 0.0) {
        let unknown = values().any(f64::is_infinite);
        return Ok(Some(if unknown { f64::NAN } else { 0.0 }));
    }
    if values().any(f64::is_infinite) {
        return Ok(Some(f64::INFINITY));
    }
    Ok(values().collect::<GeometricMean>().value())
}

fn mad(rows: &Group) -> Result<Option<f64>, String> {
    let mut values: Vec<f64> = rows.numbers("value").iter().flatten().copied().collect();
    Ok(median_distance(&mut values))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(metric: &Metric, values: &[Option<f64>]) -> Option<f64> {
        let mut group = Group::new(metric.arguments);
        group.add_numbers(0, values.iter().copied());
        match metric.gives {
            Gives::Number(of) => of(&group).unwrap(),
            Gives::Numbers(..) => panic!("one number"),
        }
    }

    #[test]
    fn odd_numbers_have_a_geometric_mean_or_none() {
        let geomean = &METRICS[0];
        let close = |values: &[Option<f64>], wanted: f64| {
            let found = of(geomean, values).unwrap();
            assert!((found / wanted - 1.0).abs() < 1e-12, "{found}");
        };
        close(&[Some(1.0), None, Some(4.0)], 2.0);
        close(&[Some(7.0)], 7.0);
        assert_eq!(of(geomean, &[Some(0.0), Some(4.0)]), Some(0.0));
        assert_eq!(
            of(geomean, &[Some(f64::INFINITY), Some(4.0)]),
            Some(f64::INFINITY)
        );
        for odd in [-1.0, f64::NAN] {
            assert!(of(geomean, &[Some(odd), Some(4.0)]).unwrap().is_nan());
        }
        assert!(
            of(geomean, &[Some(0.0), Some(f64::INFINITY)])
                .unwrap()
                .is_nan()
        );
        assert_eq!(of(geomean, &[None]), None);
    }

    #[test]
    fn distances_are_from_the_median() {
        let mad = &METRICS[1];
        let values = [9.0, 1.0, 2.0, 4.0, 4.5].map(Some);
        assert_eq!(of(mad, &values), Some(2.0));
        assert_eq!(of(mad, &[Some(3.0), None]), Some(0.0));
        assert_eq!(of(mad, &[]), None);
    }
}

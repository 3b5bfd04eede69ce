//! Best time so far as a function of draws or seconds, with a band over seeds.

use serde::Serialize;
use tsql_metrics::random_search::{draws_to_find, expected_minimum, minimum_quantile};

use super::trials::SearchTrace;

/// Probabilities of the lower and the upper end of a band.
const BAND: [f64; 2] = [0.05, 0.95];

/// Ratio between two points of a curve.
const STEP: f64 = 1.2;

/// Maximum number of points of a curve against seconds.
const MAX_POINTS: usize = 80;

/// Best time of a search after some draws or seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct CurvePoint {
    /// Number of draws, or seconds.
    pub at: f64,
    /// Mean of the best time over the searches that have one, in nanoseconds. `None` if no search has one.
    pub best_ns: Option<f64>,
    /// 5 % quantile of the best time. A search without a time counts as infinitely slow.
    pub low_ns: Option<f64>,
    /// 95 % quantile of the best time; `None` if more than 5 % of the searches have none.
    pub high_ns: Option<f64>,
}

/// Converts a number of trials.
#[allow(
    clippy::cast_precision_loss,
    reason = "numbers of trials are below 2^53"
)]
pub(super) fn float(count: usize) -> f64 {
    count as f64
}

/// Returns the numbers of draws at which a curve has points: powers of a ratio, and all of `wanted`.
pub(super) fn draw_points(total: usize, wanted: &[usize]) -> Vec<usize> {
    let grid = std::iter::successors(Some(1_usize), |draws| {
        Some((draws + draws / 5).max(draws + 1))
    });
    let mut points: Vec<usize> = grid.take_while(|draws| *draws < total).collect();
    points.push(total);
    points.extend(wanted.iter().filter(|draws| **draws < total));
    points.sort_unstable();
    points.dedup();
    points
}

/// Returns the seconds at which a curve has points: powers of a ratio up to the cost of all trials.
pub(super) fn second_points(total_s: f64) -> Vec<f64> {
    let grid = std::iter::successors(Some(total_s), |seconds| Some(seconds / STEP));
    let mut points: Vec<f64> = grid.take(MAX_POINTS).filter(|point| *point > 0.0).collect();
    points.reverse();
    points
}

/// Returns the smallest value that at least a fraction of all values does not exceed.
pub(super) fn sample_quantile(values: &mut [f64], fraction: f64) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let wanted = fraction * float(values.len()) * (1.0 - 1e-12);
    let found = values.iter().enumerate();
    let mut found = found.skip_while(|(place, _)| float(place + 1) < wanted);
    found.next().map(|(_, value)| *value)
}

/// Returns a point of a curve from the best times of all searches.
pub(super) fn point(at: f64, mut best: Vec<f64>) -> CurvePoint {
    let [low_ns, high_ns] = BAND.map(|fraction| {
        let quantile = sample_quantile(&mut best, fraction);
        quantile.filter(|quantile| quantile.is_finite())
    });
    best.retain(|best| best.is_finite());
    // The mean of equal times is that time, without a rounding error.
    let minimum = best.iter().copied().fold(f64::INFINITY, f64::min);
    let above: f64 = best.iter().map(|best| best - minimum).sum();
    CurvePoint {
        at,
        best_ns: (!best.is_empty()).then(|| minimum + above / float(best.len())),
        low_ns,
        high_ns,
    }
}

/// Returns the point of random search after some draws, in closed form.
pub(super) fn random_point(total: usize, sorted_ns: &[f64], draws: usize) -> CurvePoint {
    let at = float(draws);
    let [low_ns, high_ns] = BAND.map(|fraction| minimum_quantile(total, sorted_ns, at, fraction));
    CurvePoint {
        at,
        best_ns: expected_minimum(total, sorted_ns, at),
        low_ns,
        high_ns,
    }
}

/// Returns the number of draws after which random search has a time up to a limit with a probability.
pub(super) fn random_draws(
    total: usize,
    sorted_ns: &[f64],
    limit_ns: f64,
    probability: f64,
) -> usize {
    let near = sorted_ns.partition_point(|time| *time <= limit_ns);
    draws_to_find(total, near, probability)
}

/// Returns the draws and the seconds after which a fraction of the searches has a time up to a limit.
pub(super) fn reach(
    traces: &[SearchTrace],
    limit_ns: f64,
    probability: f64,
) -> (Option<f64>, Option<f64>) {
    let quantile = |number: fn(&SearchTrace, f64) -> f64| {
        let mut reached: Vec<f64> = traces.iter().map(|trace| number(trace, limit_ns)).collect();
        let quantile = sample_quantile(&mut reached, probability);
        quantile.filter(|quantile| quantile.is_finite())
    };
    let draws = quantile(|trace, limit| {
        let step = trace.reach(limit);
        step.map_or(f64::INFINITY, |step| float(step.draws))
    });
    let seconds = quantile(|trace, limit| {
        let step = trace.reach(limit);
        step.map_or(f64::INFINITY, |step| step.seconds)
    });
    (draws, seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::policy::Policy;
    use crate::replay::trials::{Trial, search};

    #[test]
    fn curves_have_all_requested_points() {
        let points = draw_points(1000, &[1, 7, 77, 1000, 5000]);
        assert_eq!(points.first().zip(points.last()), Some((&1, &1000)));
        assert!([7, 77].iter().all(|draws| points.contains(draws)));
        assert!(points.is_sorted() && points.len() < 60, "{points:?}");
        assert_eq!(draw_points(1, &[1, 10]), [1]);
        let seconds = second_points(100.0);
        assert!(seconds.is_sorted() && seconds.last() == Some(&100.0));
        assert!(second_points(0.0).is_empty());
    }

    #[test]
    fn searches_without_a_time_widen_the_band() {
        let all = point(3.0, vec![1.0, 2.0, 3.0, f64::INFINITY]);
        assert_eq!(
            (all.best_ns, all.low_ns, all.high_ns),
            (Some(2.0), Some(1.0), None)
        );
        let none = point(1.0, vec![f64::INFINITY; 2]);
        assert_eq!((none.best_ns, none.low_ns), (None, None));
    }

    /// The closed forms agree with 20,000 simulated searches.
    #[test]
    fn closed_forms_agree_with_simulated_searches() {
        let trials: Vec<Trial> = (0..40_u32)
            .map(|number| Trial {
                time_ns: (number % 5 != 0).then(|| 100.0 + f64::from(number * number % 97)),
                cost_s: Some(1.0),
                prediction: None,
            })
            .collect();
        let mut sorted: Vec<f64> = trials.iter().filter_map(|trial| trial.time_ns).collect();
        sorted.sort_by(f64::total_cmp);
        let mut random = fastrand::Rng::with_seed(5);
        let traces: Vec<SearchTrace> = (0..20_000)
            .map(|_| {
                let order = Policy::Random.order(&trials, 0.0, &mut random);
                let mut trace = SearchTrace::default();
                search(&trials, &order).for_each(|step| trace.push(step));
                trace
            })
            .collect();
        for draws in [1, 2, 5, 10, 20, 39, 40] {
            let exact = random_point(40, &sorted, draws);
            let best = traces.iter().map(|trace| trace.best_after_draws(draws));
            let simulated = point(float(draws), best.collect());
            let (exact_ns, simulated_ns) = (exact.best_ns.unwrap(), simulated.best_ns.unwrap());
            assert!(
                (exact_ns / simulated_ns - 1.0).abs() < 0.005,
                "{exact:?} {simulated:?}"
            );
            // Quantiles of a sample deviate by up to 0.6 % in probability.
            for (probability, simulated) in [(0.05, simulated.low_ns), (0.95, simulated.high_ns)] {
                let exact = [-0.006, 0.006].map(|shift| {
                    let quantile = minimum_quantile(40, &sorted, float(draws), probability + shift);
                    quantile.unwrap_or(f64::INFINITY)
                });
                let simulated = simulated.unwrap_or(f64::INFINITY);
                assert!(
                    exact[0] <= simulated && simulated <= exact[1],
                    "{draws} draws: {simulated}, expected {exact:?}"
                );
            }
            // A draw takes one second.
            let best = traces
                .iter()
                .map(|trace| trace.best_after_seconds(float(draws)));
            assert_eq!(point(float(draws), best.collect()), simulated);
        }
        for limit in [101.0, 105.0, 120.0] {
            for probability in [0.5, 0.95] {
                let (draws, seconds) = reach(&traces, limit, probability);
                let exact = float(random_draws(40, &sorted, limit, probability));
                assert!((draws.unwrap() - exact).abs() <= 1.0, "{draws:?} {exact}");
                assert_eq!(draws, seconds);
            }
        }
    }

    /// Values of `formats/autotuners.md`, section 18, in a task of two good times among five trials.
    #[test]
    fn a_small_task_has_its_known_values() {
        let sorted = [1.0, 1.03, 4.0, 8.0];
        assert_eq!(random_draws(5, &sorted, 1.05, 0.9), 3);
        assert_eq!(random_draws(5, &sorted, 1.05, 0.95), 4);
        let one = random_point(5, &sorted, 1);
        assert!((one.best_ns.unwrap() - 3.5075).abs() < 1e-12);
        // One of five draws fails, so that 5 % of the searches have no time.
        assert_eq!((one.low_ns, one.high_ns), (Some(1.0), None));
        assert_eq!(random_point(5, &sorted, 2).high_ns, Some(8.0));
    }
}

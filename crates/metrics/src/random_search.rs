//! Random search without repetition over the trials of one task, in closed form.
//!
//! A row is a trial; one without a finite time failed. A failed trial counts as drawn and has no time. Ties are counted
//! one by one.

use crate::metric::{Argument, Evaluation, Metric, RowGroup, ValueKind};

/// Metrics of random search. They hold if the rows are all points of the search space: see `search_spaces()`.
pub(crate) const METRICS: &[Metric] = &[
    Metric {
        name: "expected_best",
        description: "Expected best time after a number of random trials without repetition, if at least one of them has \
                      a time. NULL, NaN and infinite times are failed trials",
        arguments: &[
            Argument::per_row("time", ValueKind::Number, "time of a trial"),
            Argument::per_group("draws", ValueKind::Whole, "number of trials, from 1 up"),
        ],
        example: "SELECT graph_id, expected_best(runtime_ns, 10) FROM records GROUP BY graph_id",
        source: "mean of the minimum of a sample without replacement",
        gives: Evaluation::Number(expected_best),
    },
    Metric {
        name: "draws_to_reach",
        description: "Number of random trials without repetition until a time within some percent of the best is drawn \
                      with some probability. NULL, NaN and infinite times are failed trials",
        arguments: &[
            Argument::per_row("time", ValueKind::Number, "time of a trial"),
            Argument::per_group(
                "percent",
                ValueKind::Number,
                "distance from the best, from 0 up",
            ),
            Argument::per_group(
                "probability",
                ValueKind::Number,
                "above 0 and at most 1; default 0.95",
            )
            .optional(),
        ],
        example: "SELECT graph_id, draws_to_reach(runtime_ns, 5) FROM records GROUP BY graph_id",
        source: "hypergeometric distribution, probability of no success",
        gives: Evaluation::Number(draws_to_reach),
    },
];

/// Number of trials, and the finite times in order.
fn trials(rows: &RowGroup) -> (usize, Vec<f64>) {
    let all = rows.numbers("time");
    let times = all.iter().flatten().copied();
    let mut times: Vec<f64> = times.filter(|time| time.is_finite()).collect();
    times.sort_by(f64::total_cmp);
    (all.len(), times)
}

#[allow(
    clippy::cast_precision_loss,
    reason = "numbers of trials are below 2^53"
)]
fn count(rows: usize) -> f64 {
    rows as f64
}

fn expected_best(rows: &RowGroup) -> Result<Option<f64>, String> {
    let (total, times) = trials(rows);
    let Some(draws) = rows.number("draws") else {
        return Ok(None);
    };
    if draws < 1.0 {
        return Err(format!("draws is {draws}, expected a number from 1 up"));
    }
    Ok(expected_minimum(total, &times, draws))
}

/// Returns the mean of the minimum of `draws` of `total` trials, if at least one of them has a time. The times are those
/// of the trials that have one, in ascending order. More draws than trials are all trials.
///
/// The i-th time is the minimum with probability `C(N-i, n-1) / C(N, n)`.
#[must_use]
pub fn expected_minimum(total: usize, sorted: &[f64], draws: f64) -> Option<f64> {
    let total = count(total);
    let draws = draws.min(total);
    let (mut chance, mut found, mut sum) = (draws / total, 0.0, 0.0);
    let mut larger = total;
    for time in sorted {
        found += chance;
        sum += chance * time;
        larger -= 1.0;
        // No trial follows the last one.
        let ratio = if larger > 0.0 {
            (larger - draws + 1.0) / larger
        } else {
            0.0
        };
        chance *= ratio;
    }
    (found > 0.0).then(|| sum / found)
}

/// Returns the smallest time that the minimum of `draws` of `total` trials reaches with a probability. `None` if all
/// drawn trials fail with more than the remaining probability. The times are as in [`expected_minimum`].
///
/// The minimum is at most the i-th time with probability `1 - C(N-i, n) / C(N, n)`.
#[must_use]
pub fn minimum_quantile(total: usize, sorted: &[f64], draws: f64, probability: f64) -> Option<f64> {
    let total = count(total);
    let draws = draws.min(total);
    let (mut missed, mut larger) = (1.0, total);
    let mut times = sorted.iter();
    times
        .find(|_| {
            missed *= (larger - draws).max(0.0) / larger;
            larger -= 1.0;
            missed <= (1.0 - probability) * (1.0 + TOLERANCE)
        })
        .copied()
}

fn draws_to_reach(rows: &RowGroup) -> Result<Option<f64>, String> {
    let (total, times) = trials(rows);
    let probability = rows.number("probability").unwrap_or(0.95);
    let (Some(best), Some(percent)) = (times.first(), rows.number("percent")) else {
        return Ok(None);
    };
    if percent.is_nan() || percent < 0.0 {
        return Err(format!("percent is {percent}, expected a number from 0 up"));
    }
    if !(probability > 0.0 && probability <= 1.0) {
        let hint = "expected a number above 0 and at most 1";
        return Err(format!("probability is {probability}, {hint}"));
    }
    let limit = best * (1.0 + percent / 100.0);
    let near = times.iter().take_while(|time| **time <= limit).count();
    Ok(Some(count(draws_to_find(total, near, probability))))
}

/// Relative rounding error of a product of as many factors as there are trials.
const TOLERANCE: f64 = 1e-11;

/// Returns the smallest `n` for which one of `near` trials is among `n` of `total` trials with a probability:
/// `1 - C(N-g, n) / C(N, n)` reaches it.
#[must_use]
pub fn draws_to_find(total: usize, near: usize, probability: f64) -> usize {
    let (mut missed, mut draws) = (1.0, 0);
    while missed > (1.0 - probability) * (1.0 + TOLERANCE) && draws < total {
        missed *= (count(total) - count(near) - count(draws)).max(0.0) / count(total - draws);
        draws += 1;
    }
    draws
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evaluate(
        metric: &Metric,
        times: &[Option<f64>],
        settings: &[f64],
    ) -> Result<Option<f64>, String> {
        let mut group = RowGroup::new(metric.arguments);
        group.add_numbers(0, times.iter().copied());
        for (place, setting) in settings.iter().enumerate() {
            group.add_numbers(place + 1, [Some(*setting)]);
        }
        match metric.gives {
            Evaluation::Number(function) => function(&group),
            Evaluation::Numbers(..) => panic!("one number"),
        }
    }

    /// Mean of the best over all samples of `draws` trials that have a time, and for each the best.
    fn samples(times: &[Option<f64>], draws: u32) -> Vec<Option<f64>> {
        let masks = 0_u32..1 << times.len();
        let masks = masks.filter(|mask| mask.count_ones() == draws);
        let best = |mask: u32| {
            let drawn = times
                .iter()
                .enumerate()
                .filter(|(place, _)| mask >> place & 1 == 1);
            drawn.filter_map(|(_, time)| *time).reduce(f64::min)
        };
        masks.map(best).collect()
    }

    const TIMES: [Option<f64>; 9] = [
        Some(3.0),
        None,
        Some(1.0),
        Some(1.04),
        Some(7.5),
        None,
        Some(3.0),
        Some(f64::NAN),
        Some(2.0),
    ];

    #[test]
    fn expectations_equal_those_of_all_samples() {
        let valid: Vec<_> = TIMES
            .iter()
            .map(|time| time.filter(|time| !time.is_nan()))
            .collect();
        for draws in 1..=9_u32 {
            let best: Vec<f64> = samples(&valid, draws).into_iter().flatten().collect();
            let expected = best.iter().sum::<f64>() / count(best.len());
            let actual = evaluate(&METRICS[0], &TIMES, &[f64::from(draws)])
                .unwrap()
                .unwrap();
            assert!(
                (actual / expected - 1.0).abs() < 1e-12,
                "{draws}: {actual}, {expected}"
            );
        }
        assert_eq!(evaluate(&METRICS[0], &TIMES, &[99.0]), Ok(Some(1.0)));
        assert_eq!(evaluate(&METRICS[0], &[None, None], &[1.0]), Ok(None));
        assert_eq!(evaluate(&METRICS[0], &[Some(2.0)], &[1.0]), Ok(Some(2.0)));
        assert!(evaluate(&METRICS[0], &TIMES, &[0.0]).is_err());
    }

    #[test]
    fn draws_reach_the_probability_of_all_samples() {
        let valid: Vec<_> = TIMES
            .iter()
            .map(|time| time.filter(|time| !time.is_nan()))
            .collect();
        for probability in [0.1, 0.5, 0.8, 0.95, 1.0] {
            let reached = |draws: &u32| {
                let drawn = samples(&valid, *draws);
                let near = drawn
                    .iter()
                    .filter(|best| best.is_some_and(|best| best <= 1.05));
                count(near.count()) / count(drawn.len()) >= probability - 1e-12
            };
            let expected = (1..=9).find(reached).map(f64::from);
            let actual = evaluate(&METRICS[1], &TIMES, &[5.0, probability]);
            assert_eq!(actual, Ok(expected), "{probability}");
        }
        let by_default = evaluate(&METRICS[1], &TIMES, &[5.0]);
        assert_eq!(by_default, evaluate(&METRICS[1], &TIMES, &[5.0, 0.95]));
        assert_eq!(evaluate(&METRICS[1], &[None], &[5.0]), Ok(None));
        for settings in [[-1.0, 0.5], [5.0, 0.0], [5.0, 1.5], [f64::NAN, 0.5]] {
            assert!(
                evaluate(&METRICS[1], &TIMES, &settings).is_err(),
                "{settings:?}"
            );
        }
    }

    #[test]
    fn quantiles_equal_those_of_all_samples() {
        let valid: Vec<_> = TIMES
            .iter()
            .map(|time| time.filter(|time| !time.is_nan()))
            .collect();
        let mut sorted: Vec<f64> = valid.iter().flatten().copied().collect();
        sorted.sort_by(f64::total_cmp);
        for draws in 1..=9_u32 {
            let mut best: Vec<f64> = samples(&valid, draws)
                .into_iter()
                .map(|best| best.unwrap_or(f64::INFINITY))
                .collect();
            best.sort_by(f64::total_cmp);
            for probability in [0.05, 0.5, 0.95, 1.0] {
                let enough =
                    |place: &usize| count(*place) >= probability * count(best.len()) - 1e-9;
                let place = (1..=best.len()).find(enough).unwrap();
                let expected = Some(best[place - 1]).filter(|best| best.is_finite());
                let actual = minimum_quantile(9, &sorted, f64::from(draws), probability);
                assert_eq!(actual, expected, "{draws} draws, {probability}");
            }
        }
    }
}

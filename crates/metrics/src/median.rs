//! Median of timings with a distribution-free confidence interval.

/// A median and half the width of its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Median {
    /// Median, in the unit of the values.
    pub value: f64,
    /// `None` for fewer than six values, whose extremes contain the median with less than 95 % confidence.
    pub half_width: Option<f64>,
}

/// Returns the median of `values`; `None` without values.
///
/// The interval is between two order statistics: the number of values below the median is binomial (n, 1/2) for any
/// distribution (David and Nagaraja, Order Statistics, section 7.1).
pub fn median(values: &[f64]) -> Option<Median> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let count = sorted.len();
    let half_width = lower_rank(count, 0.025).and_then(|rank| {
        let low = sorted.get(rank)?;
        let high = sorted.get(count - 1 - rank)?;
        Some((high - low) / 2.0)
    });
    let value = median_of_sorted(&sorted)?;
    Some(Median { value, half_width })
}

/// Confidence interval of the median of the population that `values` are drawn from. `confidence` is between 0 and 1.
///
/// Both bounds are values; with 0.95 they are those of [`median`]. Returns `None` for too few values or an invalid
/// confidence.
pub fn median_interval(values: &[f64], confidence: f64) -> Option<(f64, f64)> {
    if !(confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let rank = lower_rank(sorted.len(), (1.0 - confidence) / 2.0)?;
    let high = sorted.len().checked_sub(1 + rank)?;
    Some((*sorted.get(rank)?, *sorted.get(high)?))
}

/// Median of sorted values: the middle one, or the mean of the two in the middle; `None` without values.
pub(crate) fn median_of_sorted(sorted: &[f64]) -> Option<f64> {
    let below = *sorted.get(sorted.len().checked_sub(1)? / 2)?;
    let above = *sorted.get(sorted.len() / 2)?;
    Some(f64::midpoint(below, above))
}

/// Index of the lower bound: the largest `k` for which at most `k` of `count` values are below the median with a
/// probability of at most `tail`.
fn lower_rank(count: usize, tail: f64) -> Option<usize> {
    // Above this the first term is a subnormal number. Nobody repeats that often.
    let size = u16::try_from(count).ok().filter(|size| *size <= 1000)?;
    let mut term = 0.5_f64.powi(i32::from(size));
    let mut sum = term;
    let mut rank = None;
    for k in 0..size {
        if sum > tail {
            break;
        }
        rank = Some(usize::from(k));
        term *= f64::from(size - k) / f64::from(k + 1);
        sum += term;
    }
    rank
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_is_the_middle_of_the_sorted_values() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]).unwrap().value, 3.0);
        assert_eq!(median(&[9.0, 1.0, 2.0]).unwrap().value, 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 9.0]).unwrap().value, 3.0);
    }

    /// Ranks from published tables of the sign test (two-sided, 95 %), here counted from 0.
    #[test]
    fn interval_ends_are_those_of_the_sign_test() {
        assert_eq!(lower_rank(5, 0.025), None);
        assert_eq!(lower_rank(6, 0.025), Some(0));
        assert_eq!(lower_rank(8, 0.025), Some(0));
        assert_eq!(lower_rank(9, 0.025), Some(1));
        assert_eq!(lower_rank(10, 0.025), Some(1));
        assert_eq!(lower_rank(20, 0.025), Some(5));
        assert_eq!(lower_rank(100, 0.025), Some(39));
    }

    /// Coverage of (x_(k), x_(n+1-k)) from tables of the binomial distribution: 0.9375 and 0.9688 for the extremes of
    /// five and six values, 0.9785 and 0.8906 for the first and second of ten.
    #[test]
    fn intervals_cover_the_median_with_the_given_confidence() {
        let values = |count: u32| (1..=count).map(f64::from).collect::<Vec<_>>();
        assert_eq!(median_interval(&values(5), 0.93), Some((1.0, 5.0)));
        assert_eq!(median_interval(&values(5), 0.94), None);
        assert_eq!(median_interval(&values(6), 0.95), Some((1.0, 6.0)));
        assert_eq!(median_interval(&values(10), 0.95), Some((2.0, 9.0)));
        assert_eq!(median_interval(&values(10), 0.97), Some((2.0, 9.0)));
        assert_eq!(median_interval(&values(10), 0.98), Some((1.0, 10.0)));
        for bad in [0.0, 1.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(median_interval(&values(10), bad), None, "{bad}");
        }
        assert_eq!(median_interval(&[], 0.5), None);
    }

    #[test]
    fn half_width_is_half_of_the_distance_of_the_ends() {
        let values: Vec<f64> = (0..10).map(f64::from).collect();
        // Ranks 1 and 8.
        assert_eq!(median(&values).unwrap().half_width, Some(3.5));
    }
}

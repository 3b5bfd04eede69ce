//! Test of two neighbouring segments.

use tsql_metrics::student;

use crate::moments::{float, mean, squares};

/// Rules that differ between implementations of the algorithm.
pub(super) trait SegmentRules {
    /// Variance that both segments share, from the sums of squares and the numbers of values of both.
    fn variance(squares: [f64; 2], counts: [f64; 2]) -> f64;

    /// Indices of the points whose figures change after the point at `dropped` was removed.
    fn changed_neighbours(dropped: usize) -> [Option<usize>; 2];
}

/// The unbiased variance, and the two neighbours of a dropped point.
pub(super) struct Unbiased;

impl SegmentRules for Unbiased {
    fn variance(squares: [f64; 2], counts: [f64; 2]) -> f64 {
        squares.iter().sum::<f64>() / (counts.iter().sum::<f64>() - 2.0)
    }

    fn changed_neighbours(dropped: usize) -> [Option<usize>; 2] {
        [dropped.checked_sub(1), Some(dropped)]
    }
}

/// Two-sided p-value of Student's t-test with a common variance. Two values have p = 1. Without scatter p is 0 if the
/// means differ, else 1.
pub(super) fn segment_p<R: SegmentRules>(left: &[f64], right: &[f64]) -> f64 {
    let (n, m) = (float(left.len()), float(right.len()));
    if left.len() + right.len() <= 2 || left.is_empty() || right.is_empty() {
        return 1.0;
    }
    let difference = mean(left) - mean(right);
    let variance = R::variance([squares(left), squares(right)], [n, m]);
    let se = (variance * (1.0 / n + 1.0 / m)).sqrt();
    if se > 0.0 {
        student::two_sided_p(difference / se, n + m - 2.0)
    } else if difference == 0.0 {
        1.0
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SciPy: `ttest_ind`.
    #[test]
    fn segments_are_tested_by_student() {
        let p = segment_p::<Unbiased>(&[1.0, 1.1, 0.9], &[1.3, 1.2, 1.4, 1.3]);
        assert!((p - 0.007_077_597_925_498).abs() < 1e-12, "{p}");
        let p = segment_p::<Unbiased>;
        assert!((p(&[1.0], &[2.0]) - 1.0).abs() < 1e-12);
        assert!((p(&[1.0, 1.0], &[1.0]) - 1.0).abs() < 1e-12);
        assert!(p(&[1.0, 1.0], &[2.0]).abs() < 1e-12);
        assert!((p(&[], &[2.0, 3.0, 4.0]) - 1.0).abs() < 1e-12);
    }
}

//! All pairs together: the mean change with the variance that pairs share.
//!
//! Pairs of one comparison ran in the same runs on the same days: they share clock, temperature and neighbours. The mean
//! of a thousand pairs is as uncertain as these. The share is unknown, so that the interval assumes the worst case, a
//! correlation of 1: the standard error of the mean is not below the mean of the standard errors. The scatter between
//! the programs adds to it.

use tsql_metrics::student;

use crate::run_test::{ALPHA, RunTest};

/// Streaming mean of changes. Logarithms: 0.01 is 1 %.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OverallChange {
    count: f64,
    mean: f64,
    squares: f64,
    /// Sum of the standard errors of pairs with a test.
    se_sum: f64,
    tested: f64,
    /// Sum of the degrees of freedom of pairs with a test.
    df_sum: f64,
}

impl OverallChange {
    /// Adds a pair: its change, and its test if there is one.
    pub fn add(&mut self, change: f64, test: Option<&RunTest>) {
        self.merge(&Self {
            count: 1.0,
            mean: change,
            squares: 0.0,
            se_sum: test.map_or(0.0, |test| test.se),
            tested: test.map_or(0.0, |_| 1.0),
            df_sum: test.map_or(0.0, |test| test.df),
        });
    }

    /// Adds all pairs of another mean (Chan, Golub and LeVeque, The American Statistician 37, 1983).
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0.0 {
            return;
        }
        let count = self.count + other.count;
        let delta = other.mean - self.mean;
        self.mean += delta * other.count / count;
        self.squares += other.squares + delta * delta * self.count * other.count / count;
        self.count = count;
        self.se_sum += other.se_sum;
        self.tested += other.tested;
        self.df_sum += other.df_sum;
    }

    /// Mean change as a logarithm; `None` without pairs.
    pub fn change(&self) -> Option<f64> {
        (self.count > 0.0).then_some(self.mean)
    }

    /// 95 % interval of the mean, as logarithms; `None` where fewer than half of the pairs have a test, because the
    /// noise of the others is unknown.
    pub fn interval(&self) -> Option<(f64, f64)> {
        if self.tested == 0.0 || 2.0 * self.tested < self.count {
            return None;
        }
        let shared = self.se_sum / self.tested;
        let scatter = if self.count > 1.0 {
            self.squares / (self.count - 1.0) / self.count
        } else {
            0.0
        };
        let df = (self.df_sum / self.tested).max(1.0);
        let half = student::quantile(1.0 - ALPHA / 2.0, df) * (shared.powi(2) + scatter).sqrt();
        Some((self.mean - half, self.mean + half))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_pairs_are_as_uncertain_as_the_run_they_share() {
        let test = RunTest::new(0.02, 0.015, 30.0);
        let mut all = OverallChange::default();
        for _ in 0..1000 {
            all.add(0.02, Some(&test));
        }
        let (low, high) = all.interval().unwrap();
        let (one_low, one_high) = test.interval();
        assert!((low - one_low).abs() < 1e-9 && (high - one_high).abs() < 1e-9);
    }

    #[test]
    fn the_scatter_between_programs_adds() {
        let test = RunTest::new(0.0, 0.03, 1e3);
        let mut all = OverallChange::default();
        all.add(-0.05, Some(&test));
        all.add(0.05, Some(&test));
        let (low, high) = all.interval().unwrap();
        let expected = student::quantile(0.975, 1e3) * (0.0009_f64 + 0.005 / 2.0).sqrt();
        assert!((high - expected).abs() < 1e-12 && (low + expected).abs() < 1e-12);
    }

    #[test]
    fn pairs_without_a_test_have_no_interval() {
        let mut all = OverallChange::default();
        assert_eq!((all.change(), all.interval()), (None, None));
        all.add(0.1, None);
        assert_eq!((all.change(), all.interval()), (Some(0.1), None));
        all.add(0.1, Some(&RunTest::new(0.1, 0.01, 9.0)));
        assert!(all.interval().is_some());
        all.add(0.1, None);
        assert_eq!(all.interval(), None);
    }
}

//! Test of two sides of runs.

use tsql_metrics::student;

use crate::floor::Floor;
use crate::moments::{float, mean, squares};

/// Probability of a false alarm.
pub const ALPHA: f64 = 0.05;

/// Probability with which a detectable change is found.
const POWER: f64 = 0.8;

/// Degrees of freedom from which on the runs of a configuration may show less scatter than the floor. With fewer runs,
/// all may have had the same clock by chance.
const TRUSTED_FREEDOM: usize = 8;

/// Minimum number of runs on each side for a test without a floor.
pub const MIN_RUNS_WITHOUT_FLOOR: usize = 3;

/// Variance between days, if the sides did not run on the same days.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnsharedDays {
    /// Standard deviation of a day, as a logarithm.
    pub day_sigma: f64,
    /// Number of days of both sides, at least 1 each.
    pub days: [usize; 2],
}

/// Result of a test. Changes are logarithms: 0.01 is 1 % slower.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunTest {
    /// Mean level of the second side minus that of the first.
    pub change: f64,
    /// Standard error of the change.
    pub se: f64,
    /// Degrees of freedom.
    pub df: f64,
    /// Two-sided p-value of no change.
    pub p: f64,
}

impl RunTest {
    /// Returns the test of `change` with a standard error.
    pub fn new(change: f64, se: f64, df: f64) -> Self {
        let p = if se > 0.0 {
            student::two_sided_p(change / se, df)
        } else if change == 0.0 {
            1.0
        } else {
            0.0
        };
        Self { change, se, df, p }
    }

    /// 95 % confidence interval of the change, as logarithms.
    pub fn interval(&self) -> (f64, f64) {
        let half = student::quantile(1.0 - ALPHA / 2.0, self.df) * self.se;
        (self.change - half, self.change + half)
    }
}

/// Tests two sides; each has one level for each run (the natural logarithm of the run's median).
///
/// The variance of a run is that of the floor and that of the runs themselves, weighted by their degrees of freedom.
/// For fewer than 8 degrees of freedom it is at least the mean square of the floor. Days add their variance where the
/// sides were not measured on the same days. Without a floor, both sides need [`MIN_RUNS_WITHOUT_FLOOR`] runs; returns
/// `None` for fewer.
///
/// Source: Student's t-test with a prior for the variance (as in limma: Smyth, Statistical Applications in Genetics and
/// Molecular Biology 3, 2004).
pub fn run_test(
    a: &[f64],
    b: &[f64],
    floor: Option<&Floor>,
    days: Option<UnsharedDays>,
) -> Option<RunTest> {
    let (runs_a, runs_b) = (a.len(), b.len());
    let own = squares(a) + squares(b);
    let free = (runs_a + runs_b).checked_sub(2)?;
    if runs_a == 0 || runs_b == 0 {
        return None;
    }
    let (variance, df) = if let Some(floor) = floor {
        let df = floor.nu + float(free);
        let pooled = (floor.nu * floor.sigma.powi(2) + own) / df;
        if (1..TRUSTED_FREEDOM).contains(&free) {
            (pooled.max(floor.spread.powi(2)), df)
        } else {
            (pooled, df)
        }
    } else {
        if runs_a.min(runs_b) < MIN_RUNS_WITHOUT_FLOOR {
            return None;
        }
        (own / float(free), float(free))
    };
    let per_run = 1.0 / float(runs_a) + 1.0 / float(runs_b);
    let between_days = days.map_or(0.0, |unshared| {
        let per_day: f64 = unshared.days.iter().map(|days| 1.0 / float(*days)).sum();
        unshared.day_sigma.powi(2) * per_day
    });
    let se = (variance * per_run + between_days).sqrt();
    Some(RunTest::new(mean(b) - mean(a), se, df))
}

/// The change that the test finds with a probability of 80 %, as a fraction: 0.03 is 3 %.
pub fn detectable_change(test: &RunTest) -> f64 {
    let quantiles =
        student::quantile(1.0 - ALPHA / 2.0, test.df) + student::quantile(POWER, test.df);
    (quantiles * test.se).exp_m1()
}

/// Number of runs on each side that find `change` (a fraction, above 0) with a probability of 80 %; at least 2.
///
/// n = 2 ((1.96 + 0.84) sigma / ln(1 + change))^2. `sigma` is the standard deviation of a run, as a logarithm. The
/// number saturates at `u32::MAX`.
pub fn runs_needed(sigma: f64, change: f64) -> u32 {
    let runs = 2.0 * ((1.96 + 0.84) * sigma / change.ln_1p()).powi(2);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "saturates"
    )]
    let runs = runs.ceil() as u32;
    runs.max(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOOR: Floor = Floor {
        sigma: 0.01,
        nu: 8.0,
        spread: 0.012,
        pairs: 50,
    };

    /// SciPy: `ttest_ind([1, 1.1, 0.9], [1.3, 1.2, 1.4, 1.3])`.
    #[test]
    fn without_a_floor_it_is_students_test() {
        let test = run_test(&[1.0, 1.1, 0.9], &[1.3, 1.2, 1.4, 1.3], None, None).unwrap();
        assert!((test.p - 0.007_077_597_925_498).abs() < 1e-12, "{test:?}");
        assert_eq!(run_test(&[1.0, 1.1], &[1.3, 1.2, 1.4], None, None), None);
        assert_eq!(run_test(&[], &[1.0], Some(&FLOOR), None), None);
        assert_eq!(run_test(&[], &[], Some(&FLOOR), None), None);
    }

    #[test]
    fn few_equal_runs_do_not_beat_the_floor() {
        let test = run_test(&[1.0; 3], &[1.01; 3], Some(&FLOOR), None).unwrap();
        assert!((test.se - 0.012 * (2.0_f64 / 3.0).sqrt()).abs() < 1e-12);
        // Five runs on each side have eight degrees of freedom.
        let test = run_test(&[1.0; 5], &[1.01; 5], Some(&FLOOR), None).unwrap();
        assert!((test.se - (0.01 * 0.01 * 8.0 / 16.0 * 0.4_f64).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn other_days_add_their_variance() {
        let days = |day_sigma| {
            Some(UnsharedDays {
                day_sigma,
                days: [1, 2],
            })
        };
        let near = run_test(&[1.0], &[1.1], Some(&FLOOR), days(0.0)).unwrap();
        let far = run_test(&[1.0], &[1.1], Some(&FLOOR), days(0.02)).unwrap();
        assert!((far.se.powi(2) - near.se.powi(2) - 0.0004 * 1.5).abs() < 1e-12);
        assert!(far.p > near.p && detectable_change(&far) > detectable_change(&near));
        let (low, high) = near.interval();
        assert!((f64::midpoint(low, high) - 0.1).abs() < 1e-12);
    }

    /// By hand: 2 (2.8 x 0.013 / ln 1.03)^2 = 3.03; nothing is found by one run.
    #[test]
    fn runs_needed_follow_the_scatter() {
        assert_eq!(runs_needed(0.013, 0.03), 4);
        assert_eq!(runs_needed(1e-6, 0.03), 2);
        assert_eq!(runs_needed(0.1, 1e-9), u32::MAX);
    }

    #[test]
    fn runs_without_scatter_differ_or_not() {
        let floor = Floor {
            sigma: 0.0,
            spread: 0.0,
            ..FLOOR
        };
        let test = |b| run_test(&[1.0], &[b], Some(&floor), None).unwrap().p;
        assert!((test(1.0) - 1.0).abs() < 1e-12 && test(1.5).abs() < 1e-12);
    }
}

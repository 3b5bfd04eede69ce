//! Scatter of one run about the level of its program, from pairs of runs in which nothing changed.

use serde::{Deserialize, Serialize};
use tsql_metrics::stats::quantile;
use tsql_metrics::student;

use crate::moments::float;

/// Minimum number of pairs for a floor.
pub const MIN_PAIRS: usize = 20;

/// Range of the degrees of freedom. Below 2 there is no variance, above 100 the distribution is normal.
const MIN_NU: f64 = 2.0;
const MAX_NU: f64 = 100.0;

/// Scatter of one run. Logarithms: 0.01 is 1 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Floor {
    /// Scale of Student's t-distribution that the differences follow.
    pub sigma: f64,
    /// Its degrees of freedom, 2 to 100: a small number means heavy tails.
    pub nu: f64,
    /// Root mean square of the differences. Sizes above their 99 % quantile count as that quantile.
    pub spread: f64,
    /// Number of pairs of runs.
    pub pairs: usize,
}

/// Fits a floor to differences of pairs of runs: the logarithm of the ratio over the square root of 2.
///
/// The sizes are taken as sigma times Student's t with nu degrees of freedom. Their median and 95 % quantile determine
/// both: t(0.975, nu) / t(0.75, nu) = q95 / q50. Returns `None` for fewer than [`MIN_PAIRS`] finite differences.
///
/// Source: quantile matching of a scaled t-distribution; nu is rounded to two decimals.
pub fn fit_floor(differences: &[f64]) -> Option<Floor> {
    let sizes = differences.iter().map(|difference| difference.abs());
    let mut sizes: Vec<f64> = sizes.filter(|size| size.is_finite()).collect();
    if sizes.len() < MIN_PAIRS {
        return None;
    }
    sizes.sort_unstable_by(f64::total_cmp);
    let [half, high, cap] = [0.5, 0.95, 0.99].map(|fraction| quantile(&sizes, fraction));
    let capped: f64 = sizes.iter().map(|size| size.min(cap).powi(2)).sum();
    let spread = (capped / float(sizes.len())).sqrt();
    let pairs = sizes.len();
    if high <= 0.0 {
        return Some(Floor {
            sigma: 0.0,
            nu: MAX_NU,
            spread,
            pairs,
        });
    }
    let nu = degrees_of_freedom(high / half);
    let sigma = (half / student::quantile(0.75, nu)).max(high / student::quantile(0.975, nu));
    Some(Floor {
        sigma,
        nu,
        spread,
        pairs,
    })
}

/// Solves t(0.975, nu) / t(0.75, nu) = `ratio` by bisection on the logarithm of nu. An infinite ratio has nu = 2.
fn degrees_of_freedom(ratio: f64) -> f64 {
    let ratio_at = |nu| student::quantile(0.975, nu) / student::quantile(0.75, nu);
    if ratio >= ratio_at(MIN_NU) {
        return MIN_NU;
    }
    if ratio <= ratio_at(MAX_NU) {
        return MAX_NU;
    }
    let (mut low, mut high) = (MIN_NU, MAX_NU);
    for _ in 0..30 {
        let middle = (low * high).sqrt();
        if ratio_at(middle) > ratio {
            low = middle;
        } else {
            high = middle;
        }
    }
    ((low * high).sqrt() * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_pairs_have_no_floor() {
        assert_eq!(fit_floor(&[0.01; 19]), None);
        let mut with_infinite = vec![0.01; 19];
        with_infinite.push(f64::INFINITY);
        assert_eq!(fit_floor(&with_infinite), None);
        assert_eq!(fit_floor(&[0.01; 20]).unwrap().pairs, 20);
    }

    #[test]
    fn equal_runs_have_a_floor_of_zero() {
        let floor = fit_floor(&[0.0; 30]).unwrap();
        assert!(floor.sigma.abs() < 1e-300 && floor.spread.abs() < 1e-300);
        // Most runs are equal, some are not: the heaviest tails.
        let mut some = vec![0.0; 27];
        some.extend([0.02; 3]);
        let floor = fit_floor(&some).unwrap();
        assert!(
            (floor.nu - 2.0).abs() < 1e-12 && floor.sigma > 0.004,
            "{floor:?}"
        );
    }

    /// By hand: equal sizes have a ratio of 1, below that of nu = 100; the larger of both scales counts.
    #[test]
    fn equal_sizes_are_normal() {
        let floor = fit_floor(&[0.01, -0.01].repeat(10)).unwrap();
        assert!((floor.nu - 100.0).abs() < 1e-12);
        assert!((floor.spread - 0.01).abs() < 1e-12);
        let expected = 0.01 / student::quantile(0.75, 100.0);
        assert!((floor.sigma - expected).abs() < 1e-12);
    }
}

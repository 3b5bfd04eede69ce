//! Student's t-distribution: p-values and quantiles for any degrees of freedom, whole or not.
//!
//! Source: regularized incomplete beta function by Lentz's continued fraction (Press and others, *Numerical Recipes*, 3rd
//! ed., 6.4).

/// Maximum degrees of freedom for the finite sums.
const MAX_SUMMED_FREEDOM: u32 = 200;

/// Two-sided p-value: the probability of a value as far from 0 as `t` or farther, for `freedom` degrees of freedom
/// (above 0).
///
/// It is 1 for NaN, where nothing is known, and 0 for an infinite `t`.
pub fn two_sided_p(t: f64, freedom: f64) -> f64 {
    if t.is_nan() {
        return 1.0;
    }
    if t.is_infinite() {
        return 0.0;
    }
    incomplete_beta(freedom / 2.0, 0.5, freedom / (freedom + t * t))
}

/// The quantile at `probability`, for `freedom` degrees of freedom (above 0).
///
/// It inverts [`two_sided_p`] by Newton's method inside a bracket. The relative error is below 1e-9 for 1 to 10,000
/// degrees of freedom. Returns NaN unless `probability` is between 0 and 1.
pub fn quantile(probability: f64, freedom: f64) -> f64 {
    if !(probability > 0.0 && probability < 1.0 && freedom > 0.0) {
        return f64::NAN;
    }
    if probability < 0.5 {
        return -quantile(1.0 - probability, freedom);
    }
    let tails = 2.0 * (1.0 - probability);
    let (mut low, mut high) = (0.0, 1.0);
    while two_sided_p(high, freedom) > tails && high < 1e150 {
        low = high;
        high *= 2.0;
    }
    let mut t = f64::midpoint(low, high);
    for _ in 0..100 {
        let excess = two_sided_p(t, freedom) - tails;
        if excess > 0.0 {
            low = t;
        } else {
            high = t;
        }
        let next = t + excess / (2.0 * density(t, freedom));
        let next = if next > low && next < high {
            next
        } else {
            f64::midpoint(low, high)
        };
        let step = (next - t).abs();
        t = next;
        if step <= 1e-14 * t {
            break;
        }
    }
    t
}

/// Probability density at `t`.
fn density(t: f64, freedom: f64) -> f64 {
    let half = f64::midpoint(freedom, 1.0);
    let scale = libm::lgamma(half)
        - libm::lgamma(freedom / 2.0)
        - 0.5 * (freedom * std::f64::consts::PI).ln();
    (scale - half * (t * t / freedom).ln_1p()).exp()
}

/// Regularized incomplete beta function.
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let logarithm =
        libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b) + a * x.ln() + b * (-x).ln_1p();
    let front = logarithm.exp();
    if x < (a + 1.0) / (a + b + 2.0) {
        front * beta_fraction(a, b, x) / a
    } else {
        1.0 - front * beta_fraction(b, a, 1.0 - x) / b
    }
}

/// Continued fraction of the incomplete beta function (Lentz's method).
fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let bounded = |value: f64| if value.abs() > TINY { value } else { TINY };
    let (mut c, mut d) = (1.0, 1.0 / bounded(1.0 - (a + b) * x / (a + 1.0)));
    let mut product = d;
    for term in 1..500_u32 {
        let m = f64::from(term);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        for numerator in [even, odd] {
            d = 1.0 / bounded(1.0 + numerator * d);
            c = bounded(1.0 + numerator / c);
            product *= c * d;
        }
        if (c * d - 1.0).abs() < 1e-15 {
            break;
        }
    }
    product
}

/// The 97.5 % quantile for `freedom` degrees of freedom, at least one.
///
/// Up to [`MAX_SUMMED_FREEDOM`] it uses the finite sums for integer degrees of freedom (Abramowitz and Stegun, 26.7.3
/// and 26.7.4), inverted by bisection. Above that it uses the expansion about the normal quantile (26.7.5), whose error
/// is below 1e-9 there.
pub(crate) fn quantile_975(freedom: u64) -> f64 {
    let small_freedom = u32::try_from(freedom)
        .ok()
        .filter(|small_freedom| *small_freedom <= MAX_SUMMED_FREEDOM);
    let Some(small_freedom) = small_freedom else {
        return quantile_expansion(freedom);
    };
    let small_freedom = small_freedom.max(1);
    let (mut low, mut high) = (0.0, 13.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if central_probability(middle, small_freedom) < 0.95 {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// Probability of a value between -t and t.
fn central_probability(t: f64, freedom: u32) -> f64 {
    let angle = (t / f64::from(freedom).sqrt()).atan();
    let (sine, square) = (angle.sin(), angle.cos().powi(2));
    let is_odd = freedom % 2 == 1;
    let mut term = if is_odd { angle.cos() } else { 1.0 };
    let mut sum = 0.0;
    let first = if is_odd { 1 } else { 0 };
    for step in (first..freedom.saturating_sub(1)).step_by(2) {
        sum += term;
        term *= f64::from(step + 1) / f64::from(step + 2) * square;
    }
    if is_odd {
        (angle + sine * sum) * std::f64::consts::FRAC_2_PI
    } else {
        sine * sum
    }
}

fn quantile_expansion(freedom: u64) -> f64 {
    let x = super::change::NORMAL_QUANTILE;
    #[expect(clippy::cast_precision_loss, reason = "a number of values")]
    let n = freedom as f64;
    let square = x * x;
    let first = x * (square + 1.0) / 4.0;
    let second = x * ((5.0 * square + 16.0) * square + 3.0) / 96.0;
    let third = x * (((3.0 * square + 19.0) * square + 17.0) * square - 15.0) / 384.0;
    let fourth = x
        * ((((79.0 * square + 776.0) * square + 1482.0) * square - 1920.0) * square - 945.0)
        / 92160.0;
    x + (first + (second + (third + fourth / n) / n) / n) / n
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SciPy: `scipy.stats.t.ppf(0.975, n)`.
    #[test]
    fn quantiles_are_scipys() {
        for (freedom, expected) in EXPECTED {
            let actual = quantile_975(freedom);
            assert!(
                (actual / expected - 1.0).abs() < 1e-9,
                "{freedom}: {actual} is not {expected}"
            );
        }
    }

    /// SciPy: `scipy.stats.t.ppf`.
    #[test]
    fn quantiles_of_any_degrees_of_freedom_are_exact() {
        for (freedom, expected) in EXPECTED.into_iter().take(8) {
            #[expect(clippy::cast_precision_loss, reason = "small")]
            let found = quantile(0.975, freedom as f64);
            assert!((found / expected - 1.0).abs() < 1e-9, "{freedom}: {found}");
        }
        for (p, freedom, expected) in [
            (0.75, 2.0, 0.816_496_580_927_726),
            (0.95, 12.5, 1.776_366_221_247_031_7),
            (0.8, 100.0, 0.845_230_424_491_047_3),
            (0.975, 2.01, 4.282_204_280_297_216),
            (0.9, 3.59, 1.567_710_491_822_899_2),
            (0.975, 93.6, 1.985_634_067_978_681_8),
        ] {
            let found = quantile(p, freedom);
            assert!(
                (found / expected - 1.0).abs() < 1e-9,
                "{p} {freedom}: {found}"
            );
            assert!((quantile(1.0 - p, freedom) + found).abs() < 1e-9);
        }
        assert!(quantile(1.0, 5.0).is_nan() && quantile(0.0, 5.0).is_nan());
        assert!(quantile(0.5, 5.0).abs() < 1e-9);
    }

    /// The p-value of a quantile is twice its tail, for fractional degrees of freedom, too.
    #[test]
    fn p_values_invert_quantiles() {
        for freedom in [
            1.0, 2.0, 2.01, 3.59, 7.03, 19.86, 93.6, 100.0, 1234.5, 10_000.0,
        ] {
            for p in [0.55, 0.75, 0.9, 0.975, 0.9999] {
                let found = two_sided_p(quantile(p, freedom), freedom);
                assert!(
                    (found / (2.0 * (1.0 - p)) - 1.0).abs() < 1e-8,
                    "{p} {freedom}: {found}"
                );
            }
        }
        assert!((two_sided_p(f64::NAN, 3.0) - 1.0).abs() < 1e-12);
        assert!(two_sided_p(f64::INFINITY, 3.0).abs() < 1e-12);
        assert!((two_sided_p(0.0, 3.0) - 1.0).abs() < 1e-12);
    }

    const EXPECTED: [(u64, f64); 11] = [
        (1, 12.706_204_736_174_694),
        (2, 4.302_652_729_749_462),
        (3, 3.182_446_305_283_707_8),
        (4, 2.776_445_105_197_793_4),
        (5, 2.570_581_835_636_314_6),
        (10, 2.228_138_851_986_274),
        (99, 1.984_216_951_586_417_4),
        (200, 1.971_896_223_633_908_8),
        (201, 1.971_836_506_779_859),
        (1000, 1.962_339_080_826_408_3),
        (10_000_000, 1.959_964_221_767_205),
    ];
}

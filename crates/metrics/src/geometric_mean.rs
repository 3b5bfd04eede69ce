//! Geometric mean of ratios, with its confidence interval.

use crate::student::quantile_975;

/// Streaming geometric mean of ratios, in constant memory.
///
/// Logarithms are accumulated with Welford's algorithm, and partial means are merged after Chan, Golub and LeVeque (The
/// American Statistician 37, 1983).
///
/// ```
/// use tsql_metrics::geometric_mean::GeometricMean;
///
/// let mean: GeometricMean = [1.0, 2.0, 4.0].into_iter().collect();
/// assert!((mean.value().unwrap() - 2.0).abs() < 1e-12);
/// let (low, high) = mean.interval().unwrap();
/// assert!(low < 0.5 && high > 8.0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GeometricMean {
    count: u64,
    /// Mean of the logarithms.
    mean: f64,
    /// Sum of the squared distances from the mean.
    squares: f64,
}

impl GeometricMean {
    /// Adds a ratio, which must be above 0.
    pub fn add(&mut self, ratio: f64) {
        self.count += 1;
        let logarithm = ratio.ln();
        let delta = logarithm - self.mean;
        self.mean += delta / float(self.count);
        self.squares += delta * (logarithm - self.mean);
    }

    /// Adds all ratios of another mean.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        let count = self.count + other.count;
        let (count_a, count_b) = (float(self.count), float(other.count));
        let delta = other.mean - self.mean;
        self.mean += delta * count_b / float(count);
        self.squares += other.squares + delta * delta * count_a * count_b / float(count);
        self.count = count;
    }

    /// Number of ratios.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The mean; `None` without ratios.
    pub fn value(&self) -> Option<f64> {
        (self.count > 0).then(|| self.mean.exp())
    }

    /// 95 % confidence interval; `None` for fewer than two ratios.
    ///
    /// Student's t on the logarithms: exp(mean ± t s / sqrt(n)). It assumes that the ratios are independent.
    pub fn interval(&self) -> Option<(f64, f64)> {
        let freedom = self.count.checked_sub(1).filter(|freedom| *freedom > 0)?;
        let deviation = (self.squares / float(freedom)).sqrt();
        let half = quantile_975(freedom) * deviation / float(self.count).sqrt();
        Some(((self.mean - half).exp(), (self.mean + half).exp()))
    }
}

impl FromIterator<f64> for GeometricMean {
    fn from_iter<T: IntoIterator<Item = f64>>(ratios: T) -> Self {
        let mut mean = Self::default();
        ratios.into_iter().for_each(|ratio| mean.add(ratio));
        mean
    }
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATIOS: [f64; 7] = [1.1, 0.93, 2.4, 1.0, 0.5, 1.31, 1.07];

    fn close(actual: f64, expected: f64) {
        assert!(
            (actual / expected - 1.0).abs() < 1e-9,
            "{actual} is not {expected}"
        );
    }

    /// SciPy: `gmean`, and `t.interval(0.95, 6, mean, sem)` of the logarithms.
    #[test]
    fn means_and_intervals_are_scipys() {
        let mean: GeometricMean = RATIOS.into_iter().collect();
        close(mean.value().unwrap(), 1.080_620_335_918_697_4);
        let (low, high) = mean.interval().unwrap();
        close(low, 0.702_996_382_738_016_3);
        close(high, 1.661_090_069_699_856_5);
    }

    #[test]
    fn merged_parts_equal_the_mean_of_all() {
        let all: GeometricMean = RATIOS.into_iter().collect();
        for middle in 0..=RATIOS.len() {
            let (first, rest) = RATIOS.split_at(middle);
            let mut joined: GeometricMean = first.iter().copied().collect();
            joined.merge(&rest.iter().copied().collect());
            assert_eq!(joined.count(), 7);
            close(joined.value().unwrap(), all.value().unwrap());
            close(joined.interval().unwrap().0, all.interval().unwrap().0);
        }
    }

    #[test]
    fn few_ratios_have_wide_intervals() {
        let none = GeometricMean::default();
        assert_eq!((none.value(), none.interval()), (None, None));
        let one: GeometricMean = [2.0].into_iter().collect();
        close(one.value().unwrap(), 2.0);
        assert_eq!(one.interval(), None);
        let same: GeometricMean = [2.0, 2.0].into_iter().collect();
        let (low, high) = same.interval().unwrap();
        close(low, 2.0);
        close(high, 2.0);
    }
}

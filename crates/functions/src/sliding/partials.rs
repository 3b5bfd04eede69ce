//! Partial aggregates of consecutive rows: totals, spreads and pairs.

use std::fmt::Debug;

use arrow::array::ArrayRef;
use datafusion::common::cast::as_float64_array;
use datafusion::common::{Result, internal_err};

/// A partial aggregate of consecutive rows of a frame. The default value is that of zero rows.
pub(super) trait Partial: Copy + Debug + Default + Send + Sync + 'static {
    /// Partial aggregates of single rows, for those rows in which no argument is NULL.
    fn from_rows(arguments: &[ArrayRef]) -> Result<impl Iterator<Item = Self>>;

    /// Merges with the partial aggregate of the rows that follow.
    fn merge(self, later: Self) -> Self;
}

/// Count and sum of values.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Total {
    pub(super) count: u64,
    pub(super) sum: f64,
}

impl Partial for Total {
    fn from_rows(arguments: &[ArrayRef]) -> Result<impl Iterator<Item = Self>> {
        let [values] = floats(arguments)?;
        let values = values.iter().flatten();
        Ok(values.map(|sum| Self { count: 1, sum }))
    }

    fn merge(self, later: Self) -> Self {
        Self {
            count: self.count + later.count,
            sum: self.sum + later.sum,
        }
    }
}

/// Count, mean and sum of squared deviations of values.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spread {
    pub(super) count: u64,
    pub(super) mean: f64,
    pub(super) squares: f64,
}

impl Spread {
    fn from_value(mean: f64) -> Self {
        let (count, squares) = (1, self_distance(mean));
        Self {
            count,
            mean,
            squares,
        }
    }

    /// Variance with `lost` degrees of freedom subtracted.
    pub(super) fn variance(self, lost: u64) -> Option<f64> {
        (self.count > lost).then(|| self.squares / count_as_f64(self.count - lost))
    }
}

impl Partial for Spread {
    fn from_rows(arguments: &[ArrayRef]) -> Result<impl Iterator<Item = Self>> {
        let [values] = floats(arguments)?;
        Ok(values.iter().flatten().map(Self::from_value))
    }

    /// Chan, Golub and LeVeque, Updating formulae and a pairwise algorithm for computing sample variances, 1979.
    fn merge(self, later: Self) -> Self {
        if self.count == 0 || later.count == 0 {
            return if self.count == 0 { later } else { self };
        }
        let count = self.count + later.count;
        let fraction = count_as_f64(later.count) / count_as_f64(count);
        let distance = later.mean - self.mean;
        let mean = if distance.is_finite() {
            self.mean + distance * fraction
        } else {
            // The weighted sum keeps infinities, and does not overflow for means that are far apart.
            self.mean * (1.0 - fraction) + later.mean * fraction
        };
        let between = distance * distance * count_as_f64(self.count) * fraction;
        Self {
            count,
            mean,
            squares: self.squares + later.squares + between,
        }
    }
}

/// Pairs of values: the spread of each, and the sum of the products of their deviations.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pairs {
    pub(super) first: Spread,
    pub(super) second: Spread,
    pub(super) products: f64,
}

impl Pairs {
    pub(super) fn non_empty(self) -> Option<Self> {
        (self.first.count > 0).then_some(self)
    }

    /// Covariance with `lost` degrees of freedom subtracted.
    pub(super) fn covariance(self, lost: u64) -> Option<f64> {
        let count = self.first.count;
        (count > lost).then(|| self.products / count_as_f64(count - lost))
    }

    /// Regression slope of the first value by the second; `None` if all second values are equal.
    pub(super) fn slope(self) -> Option<f64> {
        let Spread { count, squares, .. } = self.second;
        (count > 1 && squares != 0.0).then(|| self.products / squares)
    }

    /// Correlation as in DataFusion: NaN if both variances are NaN, NULL if one is.
    pub(super) fn correlation(self) -> Option<f64> {
        let means = (self.first.mean, self.second.mean);
        if means.0.is_nan() && means.1.is_nan() {
            return Some(f64::NAN);
        }
        let deviations = (
            self.first.variance(0)?.sqrt(),
            self.second.variance(0)?.sqrt(),
        );
        let is_one = means.0.is_nan() || means.1.is_nan() || self.first.count < 2;
        let is_flat = deviations.0 == 0.0 || deviations.1 == 0.0;
        let covariance = self.covariance(0)?;
        (!is_one && !is_flat).then(|| covariance / deviations.0 / deviations.1)
    }
}

impl Partial for Pairs {
    fn from_rows(arguments: &[ArrayRef]) -> Result<impl Iterator<Item = Self>> {
        let [first, second] = floats(arguments)?;
        let pairs = first.iter().zip(second);
        let pairs = pairs.filter_map(|(first, second)| first.zip(second));
        Ok(pairs.map(|(first, second)| Self {
            first: Spread::from_value(first),
            second: Spread::from_value(second),
            products: self_distance(first) * self_distance(second),
        }))
    }

    fn merge(self, later: Self) -> Self {
        let (here, there) = (self.first.count, later.first.count);
        let between = if here == 0 || there == 0 {
            0.0
        } else {
            let first = later.first.mean - self.first.mean;
            let second = later.second.mean - self.second.mean;
            first * second * count_as_f64(here) * (count_as_f64(there) / count_as_f64(here + there))
        };
        Self {
            first: self.first.merge(later.first),
            second: self.second.merge(later.second),
            products: self.products + later.products + between,
        }
    }
}

/// Deviation of a value from itself: 0, or NaN for values that are not finite.
fn self_distance(value: f64) -> f64 {
    if value.is_finite() { 0.0 } else { f64::NAN }
}

#[expect(clippy::cast_precision_loss, reason = "a number of rows")]
pub(super) fn count_as_f64(count: u64) -> f64 {
    count as f64
}

fn floats<const N: usize>(arguments: &[ArrayRef]) -> Result<[&arrow::array::Float64Array; N]> {
    let arrays = arguments.iter().map(|values| as_float64_array(values));
    let arrays = arrays.collect::<Result<Vec<_>>>()?;
    match <[_; N]>::try_from(arrays) {
        Ok(arrays) => Ok(arrays),
        Err(arrays) => internal_err!("expected {N} arguments, got {}", arrays.len()),
    }
}

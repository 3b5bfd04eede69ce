//! Partial aggregates of consecutive rows: totals, spreads and pairs.

use std::fmt::Debug;

use arrow::array::ArrayRef;
use datafusion::common::cast::as_float64_array;
use datafusion::common::{Result, internal_err};

/// A partial aggregate of consecutive rows of a frame. The default is that of no rows.
pub(super) trait Partial: Copy + Debug + Default + Send + Sync + 'static {
    /// One for each row in which no argument is NULL.
    fn of_rows(arguments: &[ArrayRef]) -> Result<impl Iterator<Item = Self>>;

    /// The partial aggregate of these rows and of those that follow.
    fn and(self, later: Self) -> Self;
}

/// How many values, and their sum.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Total {
    pub(super) count: u64,
    pub(super) sum: f64,
}

impl Partial for Total {
    fn of_rows(arguments: &[ArrayRef]) -> Result<impl Iterator<Item = Self>> {
        let [values] = floats(arguments)?;
        let values = values.iter().flatten();
        Ok(values.map(|sum| Self { count: 1, sum }))
    }

    fn and(self, later: Self) -> Self {
        Self {
            count: self.count + later.count,
            sum: self.sum + later.sum,
        }
    }
}

/// How many values, their mean, and the sum of squared distances from it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spread {
    pub(super) count: u64,
    pub(super) mean: f64,
    pub(super) squares: f64,
}

impl Spread {
    fn of_value(mean: f64) -> Self {
        let (count, squares) = (1, zero_of(mean));
        Self {
            count,
            mean,
            squares,
        }
    }

    /// The variance, where `lost` degrees of freedom are lost.
    pub(super) fn variance(self, lost: u64) -> Option<f64> {
        (self.count > lost).then(|| self.squares / number(self.count - lost))
    }
}

impl Partial for Spread {
    fn of_rows(arguments: &[ArrayRef]) -> Result<impl Iterator<Item = Self>> {
        let [values] = floats(arguments)?;
        Ok(values.iter().flatten().map(Self::of_value))
    }

    /// Chan, Golub and LeVeque, Updating formulae and a pairwise algorithm for computing sample variances, 1979.
    fn and(self, later: Self) -> Self {
        if self.count == 0 || later.count == 0 {
            return if self.count == 0 { later } else { self };
        }
        let count = self.count + later.count;
        let fraction = number(later.count) / number(count);
        let distance = later.mean - self.mean;
        let mean = if distance.is_finite() {
            self.mean + distance * fraction
        } else {
            // An infinity stays one, and means that are far apart do not become one.
            self.mean * (1.0 - fraction) + later.mean * fraction
        };
        let between = distance * distance * number(self.count) * fraction;
        Self {
            count,
            mean,
            squares: self.squares + later.squares + between,
        }
    }
}

/// Pairs of values: how each spreads, and the sum of products of their distances from the means.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pairs {
    pub(super) first: Spread,
    pub(super) second: Spread,
    pub(super) products: f64,
}

impl Pairs {
    pub(super) fn any(self) -> Option<Self> {
        (self.first.count > 0).then_some(self)
    }

    /// The covariance, where `lost` degrees of freedom are lost.
    pub(super) fn covariance(self, lost: u64) -> Option<f64> {
        let count = self.first.count;
        (count > lost).then(|| self.products / number(count - lost))
    }

    /// The slope of the first by the second; `None` where all of the second are equal.
    pub(super) fn slope(self) -> Option<f64> {
        let Spread { count, squares, .. } = self.second;
        (count > 1 && squares != 0.0).then(|| self.products / squares)
    }

    /// As DataFusion has it: NaN where both have NaN, NULL where one has.
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
    fn of_rows(arguments: &[ArrayRef]) -> Result<impl Iterator<Item = Self>> {
        let [first, second] = floats(arguments)?;
        let pairs = first.iter().zip(second);
        let pairs = pairs.filter_map(|(first, second)| first.zip(second));
        Ok(pairs.map(|(first, second)| Self {
            first: Spread::of_value(first),
            second: Spread::of_value(second),
            products: zero_of(first) * zero_of(second),
        }))
    }

    fn and(self, later: Self) -> Self {
        let (here, there) = (self.first.count, later.first.count);
        let between = if here == 0 || there == 0 {
            0.0
        } else {
            let first = later.first.mean - self.first.mean;
            let second = later.second.mean - self.second.mean;
            first * second * number(here) * (number(there) / number(here + there))
        };
        Self {
            first: self.first.and(later.first),
            second: self.second.and(later.second),
            products: self.products + later.products + between,
        }
    }
}

/// The distance of a value from itself: 0, and NaN where it is not finite.
fn zero_of(value: f64) -> f64 {
    if value.is_finite() { 0.0 } else { f64::NAN }
}

#[expect(clippy::cast_precision_loss, reason = "a count of rows")]
pub(super) fn number(count: u64) -> f64 {
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

//! Options of change points.

/// Scale of the values of a series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Durations or rates: a change is a ratio of means.
    #[default]
    Linear,
    /// Natural logarithms: a change is a difference of means.
    Logarithmic,
}

/// Options of [`change_points`](super::change_points).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangePointOptions {
    /// Number of values of a window, at least 2. Default: 50.
    pub window: usize,
    /// Largest p-value of a point. Default: 0.001.
    pub p: f64,
    /// Minimum change between the means of two segments, as a fraction. Default: 0.02, which is 2 %.
    pub minimum_change: f64,
    /// Minimum number of values on both sides of a point, at least 1. Default: 3.
    pub min_segment: usize,
    /// Scale of the values. Default: durations.
    pub scale: Scale,
}

impl Default for ChangePointOptions {
    fn default() -> Self {
        Self {
            window: 50,
            p: 0.001,
            minimum_change: 0.02,
            min_segment: 3,
            scale: Scale::Linear,
        }
    }
}

//! Input of the speedup plot.

/// Speedups, above 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Speedups {
    /// Distribution, in ascending order.
    pub bins: Vec<SpeedupBin>,
    /// Minimum change that is significant, as a fraction: 0.02 for 2 %.
    pub noise: f64,
    /// Means of all speedups, then of groups.
    pub rows: Vec<SpeedupRow>,
}

/// Counts of similar speedups by verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SpeedupBin {
    /// Lower bound.
    pub from: f64,
    /// Upper bound, where the next bin begins.
    pub to: f64,
    /// Number of slower, unclear, same and faster pairs.
    pub counts: [u64; 4],
}

/// Mean of a group of speedups.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SpeedupRow {
    /// Name of the group.
    pub name: String,
    /// Section of the row: 0 all, 1 operators, 2 networks.
    pub group: usize,
    /// Number of pairs.
    pub pairs: u64,
    /// Geometric mean.
    pub speedup: f64,
    /// Confidence interval.
    pub interval: Option<(f64, f64)>,
}

/// Band of insignificant changes, from the minimum change to its inverse, as logarithms.
pub(super) fn noise_band(noise: f64) -> (f64, f64) {
    let edge = (1.0 + noise.max(0.0)).log2();
    (-edge, edge)
}

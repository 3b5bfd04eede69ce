//! Speedups, as they are given.

/// What is drawn: speedups, above 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Speedups {
    /// Their distribution, in rising order.
    pub bins: Vec<SpeedupBin>,
    /// The smallest change that is called one, as a share: 0.02 for 2 %.
    pub noise: f64,
    /// Means of all of them, then of parts.
    pub rows: Vec<SpeedupRow>,
}

/// Speedups that are alike, by what is said of them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SpeedupBin {
    /// The least of them.
    pub from: f64,
    /// Where the next bin begins.
    pub to: f64,
    /// How many are slower, unclear, the same, faster.
    pub counts: [u64; 4],
}

/// The mean of some speedups.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SpeedupRow {
    /// What they have in common.
    pub name: String,
    /// Rows of one number stand together: 0 all, 1 operators, 2 networks.
    pub group: usize,
    /// How many they are.
    pub pairs: u64,
    /// Their geometric mean.
    pub speedup: f64,
    /// Its confidence interval.
    pub interval: Option<(f64, f64)>,
}

/// From the smallest change to its inverse, as logarithms.
pub(super) fn band(noise: f64) -> (f64, f64) {
    let edge = (1.0 + noise.max(0.0)).log2();
    (-edge, edge)
}

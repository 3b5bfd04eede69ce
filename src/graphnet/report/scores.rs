//! The numbers of a report.

use serde::Serialize;

/// What a report found.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// One for each curve: its name and its points.
    pub curves: Vec<Curve>,
    /// Speedups by category, each with its sample.
    pub categories: Vec<(String, Vec<(String, f64)>)>,
}

/// A curve of a report.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Curve {
    /// What its runs have in common.
    pub name: String,
    /// Runs.
    pub runs: usize,
    /// Weighted mean of log10 ES(t).
    pub aggregate: f64,
    /// Its points, by t.
    pub points: Vec<Point>,
}

/// A point of a curve. Source of the numbers: GraphNet paper, Appendices B and C.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Point {
    /// Tolerance.
    pub t: i32,
    /// S(t).
    pub s: f64,
    /// ES(t).
    pub es: f64,
    /// Geometric mean of the speedups of correct runs.
    pub alpha: f64,
    /// Geometric mean of those below 1.
    pub beta: f64,
    /// Share of correct runs.
    pub lambda: f64,
    /// Share of slowdowns among them.
    pub eta: f64,
    /// Mean penalty of an error.
    pub gamma: f64,
}

//! Numbers of a report.

use serde::Serialize;

/// Result of a report.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// Curves with their names and points.
    pub curves: Vec<Curve>,
    /// Speedups by category, each with its sample.
    pub categories: Vec<(String, Vec<(String, f64)>)>,
}

/// A curve of a report.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Curve {
    /// Common name of its runs.
    pub name: String,
    /// Number of runs.
    pub runs: usize,
    /// Weighted mean of log10 ES(t).
    pub aggregate: f64,
    /// Points, by t.
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
    /// Geometric mean of the speedups below 1 of correct runs.
    pub beta: f64,
    /// Fraction of correct runs.
    pub lambda: f64,
    /// Fraction of slowdowns among the correct runs.
    pub eta: f64,
    /// Mean penalty of an error.
    pub gamma: f64,
}

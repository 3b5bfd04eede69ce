//! Result of a trend.

use serde::Serialize;

use super::order::TrendOrder;
use crate::compare::as_text;

/// Changes of the level of programs.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Trend {
    /// Version of this document.
    pub version: u32,
    /// The places: `commit` or the key of another label, `day`, or `source`.
    pub order: TrendOrder,
    /// Number of places, over all platforms.
    pub places: usize,
    /// Number of programs that were searched.
    pub series: usize,
    /// Number of programs with fewer than [`MIN_VALUES`](super::MIN_VALUES) values, which were not searched.
    pub short_series: usize,
    /// Changes, newest first; at one place the largest first.
    pub changes: Vec<ProgramChange>,
    /// Places where programs changed, newest first.
    pub events: Vec<TrendEvent>,
    /// Series of the largest changes, for a plot.
    #[serde(skip)]
    #[cfg_attr(
        not(feature = "plot"),
        expect(dead_code, reason = "only plots read it")
    )]
    pub(super) largest: Vec<PlottedSeries>,
}

/// A change of the level of a program.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ProgramChange {
    /// Platform.
    pub platform: String,
    /// `step`, or `trend` if the level drifts over several places.
    pub kind: &'static str,
    /// Last place before the change.
    pub previous: String,
    /// First place after the change; of a trend, the last place where it rises or falls.
    pub place: String,
    /// Time before, in nanoseconds.
    pub before_ns: f64,
    /// Time after, in nanoseconds.
    pub after_ns: f64,
    /// Time after over time before, minus 1: 0.03 is 3 % slower.
    pub change: f64,
    /// p-value of the test of both segments; of a trend, the largest.
    pub p: f64,
    /// Whether more than half of the programs of the platform changed at this place: an event of the machine.
    pub is_machine: bool,
    /// Number of values of the program.
    pub values: usize,
    /// `graphs.workload_key`.
    pub workload_key: String,
    /// `configurations.steps`.
    pub steps: Option<String>,
    /// `records.graph_id`.
    #[serde(serialize_with = "as_text")]
    pub graph_id: i64,
    /// `records.config_id`.
    #[serde(serialize_with = "as_text")]
    pub config_id: i64,
    /// Position of the place, which orders changes of different platforms.
    #[serde(skip)]
    pub(super) place_index: usize,
}

/// Changes of several programs at one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TrendEvent {
    /// Platform.
    pub platform: String,
    /// First place after the change.
    pub place: String,
    /// Number of programs that changed.
    pub changed: usize,
    /// Number of programs that were searched.
    pub series: usize,
    /// Whether more than half of the programs changed, and at least two: an event of the machine.
    pub is_machine: bool,
}

/// A series with its levels.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PlottedSeries {
    pub platform: String,
    pub graph_id: i64,
    pub config_id: i64,
    /// Index of the place of each value.
    pub places: Vec<usize>,
    pub values_ns: Vec<f64>,
    /// Mean of the segment of each value.
    pub levels_ns: Vec<f64>,
    /// Largest change of the series.
    pub largest: f64,
}

impl Trend {
    /// Returns the changes at which only programs changed, not the machine.
    pub fn program_changes(&self) -> impl Iterator<Item = &ProgramChange> {
        self.changes.iter().filter(|change| !change.is_machine)
    }
}

//! Change points of a series: where the level of a program changed.
//!
//! E-divisive means with windows and merging, as in Hunter. There is no random number, so that equal series have equal
//! points. The default needs three values on both sides of a point and a change of 2 %; a newer change is a matter of a
//! comparison, not of the series.
//!
//! The test assumes independent values. Runs of neighbouring nights are not: of 40 series without a change and with an
//! autocorrelation of 0.6 the default finds 6 points.
//!
//! Sources: Matteson and James, Journal of the American Statistical Association 109, 2014; Fleming and others, *Hunter*,
//! ICPE 2023.

mod divergence;
mod dividing;
mod events;
mod merging;
mod options;
mod segment_test;
mod trend;

#[cfg(test)]
mod series_tests;

pub use events::{ChangeEvent, group_events};
pub use merging::ChangePoint;
pub use options::{ChangePointOptions, Scale};
pub use trend::{SeriesChange, summarize};

use segment_test::{SegmentRules, Unbiased};

/// Returns the change points of a series, oldest value first, in ascending order. All values must be finite.
///
/// Time is O(length x window) for a small number of points.
pub fn change_points(values: &[f64], options: &ChangePointOptions) -> Vec<ChangePoint> {
    change_points_with::<Unbiased>(values, options)
}

fn change_points_with<R: SegmentRules>(
    values: &[f64],
    options: &ChangePointOptions,
) -> Vec<ChangePoint> {
    let candidates = dividing::weak_points::<R>(values, options);
    merging::merge::<R>(values, candidates, options)
}

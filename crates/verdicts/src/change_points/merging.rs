//! Merging of segments that do not differ enough.

use serde::{Deserialize, Serialize};

use super::options::{ChangePointOptions, Scale};
use super::segment_test::{SegmentRules, segment_p};
use crate::moments::mean;

/// A change point with its two segments.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChangePoint {
    /// Index of the first value after the change.
    pub index: usize,
    /// Mean of the segment before, in the unit of the values.
    pub before: f64,
    /// Mean of the segment after.
    pub after: f64,
    /// Change as a fraction: 0.03 is 3 % more. Infinite if the mean before is 0.
    pub change: f64,
    /// p-value of the test of both segments.
    pub p: f64,
}

impl ChangePoint {
    /// Size in the direction in which it is larger: max(after / before, before / after) - 1.
    fn magnitude(&self, scale: Scale) -> f64 {
        if scale == Scale::Logarithmic {
            return (self.after - self.before).abs().exp_m1();
        }
        let ratio = |above: f64, below: f64| {
            if below == 0.0 {
                0.0
            } else {
                (above / below - 1.0).abs()
            }
        };
        ratio(self.after, self.before).max(ratio(self.before, self.after))
    }
}

/// Drops candidates until all others are significant and large enough: first the largest p-value, then the smallest
/// change.
pub(super) fn merge<R: SegmentRules>(
    values: &[f64],
    mut points: Vec<usize>,
    options: &ChangePointOptions,
) -> Vec<ChangePoint> {
    let scale = options.scale;
    let mut found: Vec<ChangePoint> = (0..points.len())
        .filter_map(|place| describe::<R>(values, &points, place, scale))
        .collect();
    while !found.is_empty() {
        let mut drop = first_largest(&found, |point| point.p);
        if found.get(drop).is_some_and(|point| point.p < options.p) {
            drop = first_largest(&found, |point| -point.magnitude(scale));
            let smallest = found.get(drop).map(|point| point.magnitude(scale));
            if smallest.is_none_or(|size| size > options.minimum_change) {
                break;
            }
        }
        points.remove(drop);
        found.remove(drop);
        for place in R::changed_neighbours(drop).into_iter().flatten() {
            let changed = describe::<R>(values, &points, place, scale);
            if let (Some(known), Some(changed)) = (found.get_mut(place), changed) {
                *known = changed;
            }
        }
    }
    found
}

/// Returns the index of the first of the largest; 0 without points.
fn first_largest(found: &[ChangePoint], size: impl Fn(&ChangePoint) -> f64) -> usize {
    let mut largest = (0, f64::NEG_INFINITY);
    for (place, point) in found.iter().enumerate() {
        let size = size(point);
        if size > largest.1 {
            largest = (place, size);
        }
    }
    largest.0
}

/// Returns the point at `place` of `points`, between its two neighbours.
fn describe<R: SegmentRules>(
    values: &[f64],
    points: &[usize],
    place: usize,
    scale: Scale,
) -> Option<ChangePoint> {
    let index = *points.get(place)?;
    let start = place.checked_sub(1).and_then(|place| points.get(place));
    let end = points.get(place + 1).copied().unwrap_or(values.len());
    let left = values.get(start.copied().unwrap_or(0)..index)?;
    let right = values.get(index..end)?;
    let (before, after) = (mean(left), mean(right));
    let change = match scale {
        Scale::Linear => after / before - 1.0,
        Scale::Logarithmic => (after - before).exp_m1(),
    };
    Some(ChangePoint {
        index,
        before,
        after,
        change,
        p: segment_p::<R>(left, right),
    })
}

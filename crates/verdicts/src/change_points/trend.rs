//! Trends: a slope looks like a staircase of change points.

use serde::{Deserialize, Serialize};

use super::merging::ChangePoint;

/// Minimum number of points in a row with one sign that are a trend.
const MIN_TREND_POINTS: usize = 3;

/// A change of a series for people.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SeriesChange {
    /// The level changed at one place.
    Step(ChangePoint),
    /// The level drifts in one direction.
    Trend {
        /// The points of the staircase.
        points: Vec<ChangePoint>,
        /// Change from the segment before the first point to the segment after the last, as a fraction.
        change: f64,
    },
}

/// Summarizes change points: three or more in a row with one sign become one trend.
pub fn summarize(points: &[ChangePoint]) -> Vec<SeriesChange> {
    let same_sign =
        |one: &ChangePoint, other: &ChangePoint| (one.change > 0.0) == (other.change > 0.0);
    let mut changes = Vec::new();
    for group in points.chunk_by(same_sign) {
        if group.len() < MIN_TREND_POINTS {
            changes.extend(group.iter().copied().map(SeriesChange::Step));
            continue;
        }
        let factor: f64 = group.iter().map(|point| 1.0 + point.change).product();
        changes.push(SeriesChange::Trend {
            points: group.to_vec(),
            change: factor - 1.0,
        });
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(index: usize, change: f64) -> ChangePoint {
        ChangePoint {
            index,
            before: 1.0,
            after: 1.0 + change,
            change,
            p: 0.0,
        }
    }

    #[test]
    fn a_staircase_is_one_trend() {
        let points = [
            point(5, -0.1),
            point(10, 0.1),
            point(20, 0.1),
            point(30, 0.1),
            point(40, -0.2),
            point(50, -0.2),
        ];
        let found = summarize(&points);
        assert_eq!(found.len(), 4, "{found:?}");
        assert_eq!(found[0], SeriesChange::Step(points[0]));
        let SeriesChange::Trend { points, change } = &found[1] else {
            panic!("{found:?}");
        };
        assert_eq!(points.len(), 3);
        assert!((change - 0.331).abs() < 1e-12);
        assert_eq!(summarize(&[]), []);
    }
}

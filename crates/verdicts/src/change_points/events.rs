//! Events: change points of several series at one place.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// Change points of series of one platform at one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeEvent {
    /// Place in the history that the series share: the number of a commit or of a day.
    pub place: usize,
    /// Indices of the series with a point there, in ascending order.
    pub series: Vec<usize>,
    /// Whether more than half of all series changed: an event of the machine, not of a program.
    pub is_machine: bool,
}

/// Groups the change points of all series of a platform by place, in ascending order.
///
/// `points` are the places of each series. Points up to `tolerance` places from the most frequent place belong to it,
/// because noise moves a point by a value or two. One series alone is never a machine event.
pub fn group_events(points: &[Vec<usize>], tolerance: usize) -> Vec<ChangeEvent> {
    let mut left: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for (series, places) in points.iter().enumerate() {
        for place in places {
            left.entry(*place).or_default().insert(series);
        }
    }
    let mut events = Vec::new();
    // The earliest of the most frequent places.
    while let Some(place) = left
        .iter()
        .rev()
        .max_by_key(|(_, series)| series.len())
        .map(|(place, _)| *place)
    {
        let near = place.saturating_sub(tolerance)..=place.saturating_add(tolerance);
        let places: Vec<usize> = left.range(near).map(|(place, _)| *place).collect();
        let series: BTreeSet<usize> = places
            .iter()
            .filter_map(|place| left.remove(place))
            .flatten()
            .collect();
        events.push(ChangeEvent {
            place,
            is_machine: series.len() > 1 && 2 * series.len() > points.len(),
            series: series.into_iter().collect(),
        });
    }
    events.sort_by_key(|event| event.place);
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_half_of_all_series_is_a_machine_event() {
        let points = [vec![10, 30], vec![10], vec![10, 50], vec![30], vec![]];
        let found = group_events(&points, 0);
        let places: Vec<_> = found
            .iter()
            .map(|event| (event.place, event.is_machine))
            .collect();
        assert_eq!(places, [(10, true), (30, false), (50, false)]);
        assert_eq!(found[1].series, [0, 3]);
        assert!(!group_events(&[vec![3]], 0)[0].is_machine, "one series");
        assert_eq!(group_events(&[], 1), []);
    }

    #[test]
    fn near_points_are_one_event() {
        let points = [vec![10], vec![11], vec![10], vec![9], vec![13]];
        let found = group_events(&points, 1);
        assert_eq!(found.len(), 2);
        assert_eq!(
            (found[0].place, found[0].series.len(), found[0].is_machine),
            (10, 4, true)
        );
    }
}

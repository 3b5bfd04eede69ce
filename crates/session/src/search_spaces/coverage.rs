//! How much of its search space the records of a graph on a platform cover.

use std::collections::HashSet;

use tsql_autotuners::{Operand, Space, Value};

use super::stated_spaces::StatedSpace;

/// Relation of the records of a graph and a platform to their search space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verdict {
    /// Only the best configurations: sources of another kind are needed for any statement about the space.
    Winners,
    /// Some configurations of a space.
    Searched,
    /// Each valid configuration, and no other.
    Exhaustive,
}

impl Verdict {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Exhaustive => "exhaustive",
            Self::Searched => "searched",
            Self::Winners => "winners",
        }
    }
}

/// Comparison of the configurations of a graph on a platform with one space.
#[derive(Clone, Debug)]
pub(super) struct SpaceMatch<'a> {
    pub stated: &'a StatedSpace,
    /// Points of the space that have a configuration, as positions of their values. Two configurations may be one point:
    /// `1` and `1.0` are equal.
    points: HashSet<Vec<usize>>,
    /// Number of configurations outside of it.
    pub outside: i64,
    /// Number of configurations for which a condition cannot be evaluated.
    undecided: i64,
}

impl<'a> SpaceMatch<'a> {
    pub(super) fn new(stated: &'a StatedSpace) -> Self {
        Self {
            stated,
            points: HashSet::new(),
            outside: 0,
            undecided: 0,
        }
    }

    /// Counts a further configuration.
    pub(super) fn add(&mut self, configuration: &Value) {
        match self.stated.space.contains(configuration) {
            Some(true) => {
                self.points
                    .insert(positions(&self.stated.space, configuration));
            }
            Some(false) => self.outside += 1,
            None => self.undecided += 1,
        }
    }

    /// Returns the number of points that have a configuration.
    fn inside(&self) -> i64 {
        i64::try_from(self.points.len()).unwrap_or(i64::MAX)
    }

    /// Returns whether the configurations are all valid points and no others.
    pub(super) fn is_exhaustive(&self) -> bool {
        self.stated.valid_count == Some(self.inside()) && self.outside == 0 && self.undecided == 0
    }

    /// Order of preference: exhaustive spaces, those with conditions, those with more of the configurations, small ones.
    pub(super) fn preference(&self) -> impl Ord + use<> {
        let size = self
            .stated
            .valid_count
            .unwrap_or(self.stated.cartesian_count);
        let has_conditions =
            self.stated.valid_count.is_some() || self.stated.space.conditions.is_some();
        (
            self.is_exhaustive(),
            has_conditions && !self.points.is_empty(),
            self.inside(),
            -size,
        )
    }

    /// Why the configurations are not called exhaustive; `None` if they are.
    pub(super) fn reason(&self) -> Option<String> {
        let (inside, stated) = (self.inside(), self.stated);
        let (outside, undecided) = (self.outside, self.undecided);
        if self.is_exhaustive() {
            return None;
        }
        Some(match (stated.valid_count, &stated.space.conditions) {
            (None, None) => "no source states the conditions of the space".to_owned(),
            (None, Some(_)) => "the valid points of the space were not counted".to_owned(),
            _ if undecided > 0 => {
                format!("conditions cannot be evaluated for {undecided} configurations")
            }
            _ if outside > 0 => format!("{outside} configurations are outside of the space"),
            (Some(valid), _) => format!("{inside} of {valid} valid points"),
        })
    }
}

/// Returns the position of each value of a point among the allowed ones.
fn positions(space: &Space, point: &Value) -> Vec<usize> {
    let parameters = space.parameters.iter();
    let positions = parameters.filter_map(|parameter| {
        let value = Operand::from(point.get(&parameter.name)?);
        let mut allowed = parameter.values.iter();
        allowed.position(|other| value.equals(&Operand::from(other)))
    });
    positions.collect()
}

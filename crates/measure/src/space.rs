//! Configuration space of a program: the product of its knobs' values, restricted by constraints.
//!
//! A space can be too large to list, so nothing in this module enumerates it. Points are found by index, at
//! random, or as the next valid point. A point holds, for each knob, the index of its value.

use std::collections::BTreeMap;

use fastrand::Rng;

use super::expr::Expression;

/// Value of each knob, by name.
pub type Config = BTreeMap<String, i64>;

/// Index of each knob's value in the list of its values.
pub(crate) type Point = Vec<usize>;

/// A macro for the compiler, with its possible values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Knob {
    pub(crate) name: String,
    /// At least one value, without duplicates, ordered so that adjacent values are similar.
    pub(crate) values: Vec<i64>,
}

/// Knobs and constraints.
#[derive(Clone, Debug)]
pub struct Space {
    knobs: Vec<Knob>,
    constraints: Vec<Constraint>,
}

#[derive(Clone, Debug)]
struct Constraint {
    expression: Expression,
    /// Number of leading knobs that determine the constraint; 0 if it depends on none.
    depth: usize,
}

impl Space {
    /// Creates a space. Each knob must have a value.
    pub(crate) fn new(knobs: Vec<Knob>, constraints: Vec<Expression>) -> Self {
        let depth = |expression: &Expression| {
            let names = expression.names();
            knobs
                .iter()
                .rposition(|knob| names.contains(knob.name.as_str()))
                .map_or(0, |last| last + 1)
        };
        let constraints = constraints
            .into_iter()
            .map(|expression| Constraint {
                depth: depth(&expression),
                expression,
            })
            .collect();
        Self { knobs, constraints }
    }

    /// Knobs, in the order of a point's indices.
    pub(crate) fn knobs(&self) -> &[Knob] {
        &self.knobs
    }

    /// Constraints over params and knobs.
    pub(crate) fn constraints(&self) -> impl Iterator<Item = &Expression> {
        self.constraints
            .iter()
            .map(|constraint| &constraint.expression)
    }

    /// Number of points, ignoring constraints; saturates at the largest `u128`.
    pub fn size(&self) -> u128 {
        self.knobs.iter().fold(1, |product: u128, knob| {
            product.saturating_mul(u128::try_from(knob.values.len()).unwrap_or(u128::MAX))
        })
    }

    #[cfg(test)]
    /// Point with this index, where the last knob varies fastest; `None` from [`Space::size`].
    pub(crate) fn nth_point(&self, index: u128) -> Option<Point> {
        let mut rest = index;
        let mut point = Point::with_capacity(self.knobs.len());
        for knob in self.knobs.iter().rev() {
            let radix = u128::try_from(knob.values.len()).ok()?;
            point.push(usize::try_from(rest.checked_rem(radix)?).ok()?);
            rest = rest.checked_div(radix)?;
        }
        point.reverse();
        (rest == 0).then_some(point)
    }

    /// First point.
    pub(crate) fn first_point(&self) -> Point {
        vec![0; self.knobs.len()]
    }

    /// A uniformly random point, valid or not.
    pub(crate) fn random_point(&self, rng: &mut Rng) -> Point {
        self.knobs
            .iter()
            .map(|knob| rng.usize(..knob.values.len()))
            .collect()
    }

    /// Configuration of `point`.
    pub(crate) fn config(&self, point: &Point) -> Config {
        self.knobs
            .iter()
            .zip(point)
            .filter_map(|(knob, value_index)| {
                Some((knob.name.clone(), *knob.values.get(*value_index)?))
            })
            .collect()
    }

    /// Point of `config`; `None` if it is not in this space.
    pub(crate) fn point_of(&self, config: &Config) -> Option<Point> {
        if config.len() != self.knobs.len() {
            return None;
        }
        self.knobs
            .iter()
            .map(|knob| {
                let value = config.get(&knob.name)?;
                knob.values.iter().position(|candidate| candidate == value)
            })
            .collect()
    }

    /// First constraint that `config` violates for the workload `params`, or the reason why a constraint
    /// has no value.
    pub(crate) fn broken_constraint(
        &self,
        params: &BTreeMap<String, i64>,
        config: &Config,
    ) -> Option<String> {
        let lookup = |name: &str| config.get(name).or_else(|| params.get(name)).copied();
        self.constraints.iter().find_map(|constraint| {
            match constraint.expression.evaluate(&lookup) {
                Ok(0) => Some(constraint.expression.to_string()),
                Ok(_) => None,
                Err(reason) => Some(reason),
            }
        })
    }

    /// Returns whether `point` satisfies all constraints for the workload `params`.
    pub(crate) fn allows(&self, params: &BTreeMap<String, i64>, point: &Point) -> bool {
        self.rejecting_depth(params, point).is_none()
    }

    /// First valid point at or after `from`, in the order of [`Space::nth_point`].
    ///
    /// If the leading knobs alone violate a constraint, all points with these values are skipped together.
    /// So a space with very few valid points is searched quickly, too.
    pub(crate) fn next_allowed(
        &self,
        params: &BTreeMap<String, i64>,
        from: Point,
    ) -> Option<Point> {
        let mut point = from;
        while let Some(depth) = self.rejecting_depth(params, &point) {
            self.advance(&mut point, depth)?;
        }
        Some(point)
    }

    /// The point after `point`; `None` after the last.
    pub(crate) fn successor(&self, point: &Point) -> Option<Point> {
        let mut next = point.clone();
        self.advance(&mut next, self.knobs.len())?;
        Some(next)
    }

    /// Minimum number of leading knobs that make `point` invalid; `None` if it is valid.
    fn rejecting_depth(&self, params: &BTreeMap<String, i64>, point: &Point) -> Option<usize> {
        let lookup = |name: &str| {
            let knob_index = self.knobs.iter().position(|knob| knob.name == name);
            match knob_index {
                Some(knob_index) => {
                    let value_index = point.get(knob_index)?;
                    self.knobs
                        .get(knob_index)?
                        .values
                        .get(*value_index)
                        .copied()
                }
                None => params.get(name).copied(),
            }
        };
        self.constraints
            .iter()
            .filter(|constraint| !matches!(constraint.expression.evaluate(&lookup), Ok(value) if value != 0))
            .map(|constraint| constraint.depth)
            .min()
    }

    /// Advances the last of the first `depth` knobs by one, with carry, and resets the knobs after it.
    fn advance(&self, point: &mut Point, depth: usize) -> Option<()> {
        point
            .iter_mut()
            .skip(depth)
            .for_each(|value_index| *value_index = 0);
        let advancing = self.knobs.iter().zip(point.iter_mut()).take(depth);
        for (knob, value_index) in advancing.rev() {
            *value_index += 1;
            if *value_index < knob.values.len() {
                return Some(());
            }
            *value_index = 0;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(knobs: &[(&str, &[i64])], constraints: &[&str]) -> Space {
        let knobs = knobs
            .iter()
            .map(|(name, values)| Knob {
                name: (*name).to_owned(),
                values: values.to_vec(),
            })
            .collect();
        let constraints = constraints
            .iter()
            .map(|text| Expression::parse(text).unwrap())
            .collect();
        Space::new(knobs, constraints)
    }

    fn params(n: i64) -> BTreeMap<String, i64> {
        BTreeMap::from([("N".to_owned(), n)])
    }

    #[test]
    fn indices_count_all_points_once_with_the_last_knob_fastest() {
        let space = space(&[("A", &[1, 2]), ("B", &[10, 20, 30])], &[]);
        assert_eq!(space.size(), 6);
        let listed: Vec<Point> = (0..7).map_while(|index| space.nth_point(index)).collect();
        assert_eq!(
            listed,
            [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]].map(Vec::from)
        );
        let mut visited = vec![space.first_point()];
        while let Some(next) = space.successor(visited.last().unwrap()) {
            visited.push(next);
        }
        assert_eq!(visited, listed);
    }

    #[test]
    fn a_space_without_knobs_has_one_point() {
        let space = space(&[], &[]);
        assert_eq!(space.size(), 1);
        assert_eq!(space.nth_point(0), Some(vec![]));
        assert_eq!(space.nth_point(1), None);
        assert_eq!(space.successor(&vec![]), None);
        assert_eq!(space.point_of(&Config::new()), Some(vec![]));
    }

    #[test]
    fn the_size_of_an_immense_space_is_capped() {
        let values: Vec<i64> = (0..65_536).collect();
        let names: Vec<String> = (0..9).map(|n| format!("K{n}")).collect();
        let knobs: Vec<(&str, &[i64])> = names.iter().map(|n| (n.as_str(), &values[..])).collect();
        assert_eq!(space(&knobs, &[]).size(), u128::MAX);
        assert_eq!(space(&knobs[..7], &[]).size(), 1 << 112);
    }

    #[test]
    fn only_configurations_of_the_space_have_a_point() {
        let space = space(&[("A", &[1, 2]), ("B", &[10, 20, 30])], &[]);
        let config = space.config(&vec![1, 2]);
        assert_eq!(
            config,
            Config::from([("A".to_owned(), 2), ("B".to_owned(), 30)])
        );
        assert_eq!(space.point_of(&config), Some(vec![1, 2]));
        let mut other = config.clone();
        other.insert("B".to_owned(), 31);
        assert_eq!(space.point_of(&other), None);
        other.insert("B".to_owned(), 30);
        other.insert("C".to_owned(), 1);
        assert_eq!(space.point_of(&other), None);
    }

    #[test]
    fn constraints_over_workload_and_knobs_decide() {
        let space = space(&[("A", &[0, 3, 4])], &["N % A == 0"]);
        let broken =
            |n, value_index| space.broken_constraint(&params(n), &space.config(&vec![value_index]));
        assert_eq!(broken(12, 1), None);
        assert_eq!(broken(16, 1).unwrap(), "N % A == 0");
        assert_eq!(broken(16, 0).unwrap(), "division by zero in `N % A == 0`");
        assert!(!space.allows(&params(16), &vec![0]));
        assert!(space.allows(&params(16), &vec![2]));
    }

    #[test]
    fn next_allowed_visits_exactly_the_valid_points() {
        let values: Vec<i64> = (1..=6).collect();
        let space = space(
            &[("A", &values), ("B", &values), ("C", &values)],
            &["A % 2 == 0", "A + B == N", "C > A || C == 1"],
        );
        let params = params(7);
        let filtered: Vec<Point> = (0..space.size())
            .filter_map(|index| space.nth_point(index))
            .filter(|point| {
                space
                    .broken_constraint(&params, &space.config(point))
                    .is_none()
            })
            .collect();
        let mut visited = Vec::new();
        let mut from = Some(space.first_point());
        while let Some(point) = from.and_then(|from| space.next_allowed(&params, from)) {
            from = space.successor(&point);
            visited.push(point);
        }
        assert!(!filtered.is_empty());
        assert_eq!(visited, filtered);
    }

    #[test]
    fn a_huge_space_without_valid_points_is_skipped_quickly() {
        let values: Vec<i64> = (0..1000).collect();
        let names: Vec<String> = (0..8).map(|n| format!("K{n}")).collect();
        let knobs: Vec<(&str, &[i64])> = names.iter().map(|n| (n.as_str(), &values[..])).collect();
        for constraint in ["N < 0", "K0 + K1 > 1999"] {
            let space = space(&knobs, &[constraint]);
            assert_eq!(space.next_allowed(&params(1), space.first_point()), None);
        }
    }
}

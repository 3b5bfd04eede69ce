//! Floors of all classes of a store: by platform and duration, with coarser classes as fallbacks.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::floor::{Floor, MIN_PAIRS, fit_floor};

/// Class of programs with similar noise.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FloorClass {
    /// Platform.
    pub platform: String,
    /// Half-decade of the duration: floor(2 log10(ns)); `None` for all durations of the platform.
    pub half_decade: Option<i32>,
}

impl FloorClass {
    /// Durations of the class in nanoseconds: from, and up to but not including; `None` for all.
    pub fn durations_ns(&self) -> Option<(f64, f64)> {
        let bound = |half_decade: i32| 10_f64.powf(f64::from(half_decade) / 2.0);
        self.half_decade
            .map(|half_decade| (bound(half_decade), bound(half_decade + 1)))
    }
}

/// Returns the half-decade of a level (the natural logarithm of nanoseconds).
pub fn half_decade(level: f64) -> i32 {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a saturated half-decade is a class of its own"
    )]
    let number = (2.0 * level / std::f64::consts::LN_10).floor() as i32;
    number
}

/// Floor of a class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassFloor {
    /// The class.
    #[serde(flatten)]
    pub class: FloorClass,
    /// Scatter between runs of one day.
    #[serde(flatten)]
    pub floor: Floor,
    /// Standard deviation of a day's level about that of its program, as a logarithm; `None` for fewer than
    /// [`MIN_PAIRS`] pairs across days in this class and its platform.
    pub day_sigma: Option<f64>,
    /// Number of pairs across days behind `day_sigma`.
    pub day_pairs: usize,
}

/// Differences between runs of one class: the logarithm of a ratio over the square root of 2.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Differences {
    within_day: Vec<f64>,
    across_days: Vec<f64>,
}

/// Differences of pairs of unchanged runs, by class.
///
/// It is incremental: new pairs are added one by one or merged from another collection, and [`fit`](Self::fit) computes
/// the floors of what was added so far. The result does not depend on the order. Memory is 8 bytes for each pair.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FloorPairs {
    /// By platform and half-decade.
    classes: BTreeMap<String, BTreeMap<i32, Differences>>,
}

/// Relation of the days of two runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DayRelation {
    /// Both ran on one day.
    Same,
    /// The runs have different days.
    Different,
}

impl FloorPairs {
    /// Adds a pair of runs of one configuration, given their levels (natural logarithms of the median in nanoseconds).
    pub fn add(&mut self, platform: &str, levels: [f64; 2], days: DayRelation) {
        let [first, second] = levels;
        let difference = (second - first) * std::f64::consts::FRAC_1_SQRT_2;
        if !difference.is_finite() {
            return;
        }
        if !self.classes.contains_key(platform) {
            self.classes.insert(platform.to_owned(), BTreeMap::new());
        }
        let Some(durations) = self.classes.get_mut(platform) else {
            return;
        };
        let class = durations
            .entry(half_decade(f64::midpoint(first, second)))
            .or_default();
        match days {
            DayRelation::Same => class.within_day.push(difference),
            DayRelation::Different => class.across_days.push(difference),
        }
    }

    /// Adds all pairs of another collection.
    pub fn merge(&mut self, other: Self) {
        for (platform, durations) in other.classes {
            let known = self.classes.entry(platform).or_default();
            for (number, differences) in durations {
                let class = known.entry(number).or_default();
                class.within_day.extend(differences.within_day);
                class.across_days.extend(differences.across_days);
            }
        }
    }

    /// Returns the differences within a day of each class, by platform and duration.
    pub fn within_day(&self) -> impl Iterator<Item = (FloorClass, &[f64])> {
        self.classes.iter().flat_map(|(platform, durations)| {
            durations.iter().map(|(number, differences)| {
                let class = FloorClass {
                    platform: platform.clone(),
                    half_decade: Some(*number),
                };
                (class, differences.within_day.as_slice())
            })
        })
    }

    /// Fits the floors of all classes with enough pairs.
    pub fn fit(&self) -> Floors {
        let mut floors = Vec::new();
        for (platform, durations) in &self.classes {
            let class = |half_decade| FloorClass {
                platform: platform.clone(),
                half_decade,
            };
            let mut all = Differences::default();
            for differences in durations.values() {
                all.within_day.extend(&differences.within_day);
                all.across_days.extend(&differences.across_days);
            }
            let Some(whole) = fit_class(class(None), &all, None) else {
                continue;
            };
            let fitted = durations.iter().filter_map(|(number, differences)| {
                fit_class(class(Some(*number)), differences, Some(&whole))
            });
            floors.extend(fitted);
            floors.push(whole);
        }
        Floors { floors }
    }
}

/// Fits one class. A class with too few pairs across days has the day sigma of its platform.
fn fit_class(
    class: FloorClass,
    differences: &Differences,
    platform: Option<&ClassFloor>,
) -> Option<ClassFloor> {
    let floor = fit_floor(&differences.within_day)?;
    let across = fit_floor(&differences.across_days);
    let own = across.map(|across| {
        let variance = across.spread.powi(2) - floor.spread.powi(2);
        (variance.max(0.0).sqrt(), across.pairs)
    });
    let of_platform = platform.and_then(|platform| Some((platform.day_sigma?, platform.day_pairs)));
    let day = own.or(of_platform);
    Some(ClassFloor {
        class,
        floor,
        day_sigma: day.map(|(sigma, _)| sigma),
        day_pairs: day.map_or(0, |(_, pairs)| pairs),
    })
}

/// Floors of the classes that have at least [`MIN_PAIRS`] pairs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Floors {
    floors: Vec<ClassFloor>,
}

impl Floors {
    /// All floors, by platform and duration; the class of a whole platform comes after its durations.
    pub fn as_slice(&self) -> &[ClassFloor] {
        &self.floors
    }

    /// Returns the index in [`as_slice`](Self::as_slice) of the finest class with a floor for a program of this level.
    pub fn find(&self, platform: &str, level: f64) -> Option<usize> {
        let number = half_decade(level);
        let position = |wanted: Option<i32>| {
            let is_wanted = |floor: &ClassFloor| {
                floor.class.platform == platform && floor.class.half_decade == wanted
            };
            self.floors.iter().position(is_wanted)
        };
        position(Some(number)).or_else(|| position(None))
    }
}

/// Combines the floors of two platforms: the larger scatter, the heavier tails. The days of two platforms are never the
/// same.
pub fn combine_floors(one: &ClassFloor, other: &ClassFloor) -> ClassFloor {
    let floor = Floor {
        sigma: one.floor.sigma.max(other.floor.sigma),
        nu: one.floor.nu.min(other.floor.nu),
        spread: one.floor.spread.max(other.floor.spread),
        pairs: one.floor.pairs.min(other.floor.pairs),
    };
    ClassFloor {
        class: one.class.clone(),
        floor,
        day_sigma: one.day_sigma.zip(other.day_sigma).map(|(a, b)| a.max(b)),
        day_pairs: one.day_pairs.min(other.day_pairs),
    }
}

const _: () = assert!(MIN_PAIRS > 1, "quantiles need values");

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds pairs of a duration in nanoseconds that differ by `size` either way.
    fn add(pairs: &mut FloorPairs, ns: f64, size: f64, count: usize, days: DayRelation) {
        for index in 0..count {
            let sign = if index % 2 == 0 { 1.0 } else { -1.0 };
            pairs.add("k80", [ns.ln(), ns.ln() + sign * size], days);
        }
    }

    #[test]
    fn short_programs_have_their_own_floor() {
        let mut pairs = FloorPairs::default();
        add(&mut pairs, 2e3, 0.05, 20, DayRelation::Same);
        add(&mut pairs, 2e5, 0.01, 19, DayRelation::Same);
        add(&mut pairs, 2e5, 0.03, 30, DayRelation::Different);
        let floors = pairs.fit();
        assert_eq!(floors.as_slice().len(), 2);
        let found = |ns: f64| &floors.as_slice()[floors.find("k80", ns.ln()).unwrap()];
        assert_eq!(found(3e3).class.half_decade, Some(6));
        // 19 pairs are too few: the class of the platform.
        assert_eq!(found(2e5).class.half_decade, None);
        assert_eq!(found(2e5).floor.pairs, 39);
        assert_eq!(floors.find("t4", 8.0), None);
        // The day sigma of the platform serves a class without pairs across days.
        assert_eq!(found(3e3).day_pairs, 30);
        let (from, to) = found(3e3).class.durations_ns().unwrap();
        assert!((from - 1000.0).abs() < 1e-6 && (to - 3_162.277_66).abs() < 1e-3);
    }

    #[test]
    fn day_sigma_is_the_excess_between_days() {
        let mut pairs = FloorPairs::default();
        add(
            &mut pairs,
            2e3,
            0.03 * std::f64::consts::SQRT_2,
            40,
            DayRelation::Same,
        );
        add(
            &mut pairs,
            2e3,
            0.05 * std::f64::consts::SQRT_2,
            40,
            DayRelation::Different,
        );
        let floors = pairs.fit();
        // 3, 4, 5.
        assert!((floors.as_slice()[0].day_sigma.unwrap() - 0.04).abs() < 1e-9);
        // Days that scatter less than runs have no variance of their own.
        let mut pairs = FloorPairs::default();
        add(&mut pairs, 2e3, 0.03, 40, DayRelation::Same);
        add(&mut pairs, 2e3, 0.01, 40, DayRelation::Different);
        assert_eq!(pairs.fit().as_slice()[0].day_sigma, Some(0.0));
    }

    #[test]
    fn added_and_merged_pairs_have_equal_floors() {
        let (mut all, mut first, mut second) = <(FloorPairs, FloorPairs, FloorPairs)>::default();
        for (index, part) in [(1, &mut first), (2, &mut second)] {
            for pairs in [part, &mut all] {
                add(pairs, 5e3, 0.01 * f64::from(index), 15, DayRelation::Same);
            }
        }
        second.merge(first);
        assert_eq!(second.fit(), all.fit());
        let text = serde_json::to_string(&second).unwrap();
        assert_eq!(
            serde_json::from_str::<FloorPairs>(&text).unwrap().fit(),
            all.fit()
        );
        let text = serde_json::to_string(&all.fit()).unwrap();
        assert!(
            text.contains("\"half_decade\":7") && text.contains("\"sigma\":"),
            "{text}"
        );
        assert_eq!(serde_json::from_str::<Floors>(&text).unwrap(), all.fit());
    }
}

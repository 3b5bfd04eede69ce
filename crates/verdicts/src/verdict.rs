//! Verdict on a pair of sides, and the reason of an undecided one.

use serde::{Deserialize, Serialize};
use tsql_metrics::change::{PValues, Verdict};
use tsql_metrics::student;

use crate::floor_classes::ClassFloor;
use crate::moments::mean;
use crate::run_test::{
    ALPHA, MIN_RUNS_WITHOUT_FLOOR, RunTest, UnsharedDays, detectable_change, run_test,
};

/// Reason of an unclear verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// One run on a side, and no noise floor for the platform.
    NoFloor,
    /// The runs are too few: for a test without a floor, or for a change of this size.
    FewRuns,
    /// The sides ran on other days, and the variance between days is unknown.
    OtherDay,
    /// All runs of a side, or all but too few, have flags that spoil them.
    Spoiled,
    /// A control program changed: the machine moved.
    AnchorMoved,
    /// The change, if any, is smaller than these runs can detect.
    BelowDetectable,
}

impl Reason {
    /// All reasons.
    pub const ALL: [Self; 6] = [
        Self::NoFloor,
        Self::FewRuns,
        Self::OtherDay,
        Self::Spoiled,
        Self::AnchorMoved,
        Self::BelowDetectable,
    ];

    /// Word in output and storage.
    pub fn word(self) -> &'static str {
        match self {
            Self::NoFloor => "no_floor",
            Self::FewRuns => "few_runs",
            Self::OtherDay => "other_day",
            Self::Spoiled => "spoiled",
            Self::AnchorMoved => "anchor_moved",
            Self::BelowDetectable => "below_detectable",
        }
    }
}

/// A run of a side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    /// Natural logarithm of the median of its repeats in nanoseconds.
    pub level: f64,
    /// Identity of its day: a stretch with the same machine, card, driver and clock, at most some hours.
    pub day: u64,
}

/// Runs of one configuration on one side.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SideRuns {
    /// Runs without spoiling flags.
    pub runs: Vec<Run>,
    /// Number of runs that were left out because of spoiling flags.
    pub spoiled: usize,
}

impl SideRuns {
    /// Returns the levels of the runs.
    pub fn levels(&self) -> Vec<f64> {
        self.runs.iter().map(|run| run.level).collect()
    }

    /// Returns the days in ascending order, without duplicates.
    pub fn days(&self) -> Vec<u64> {
        let mut days: Vec<u64> = self.runs.iter().map(|run| run.day).collect();
        days.sort_unstable();
        days.dedup();
        days
    }

    /// Returns the mean level of each day.
    fn day_means(&self) -> Vec<f64> {
        let mean_of = |day: &u64| {
            let of_day = self.runs.iter().filter(|run| run.day == *day);
            mean(&of_day.map(|run| run.level).collect::<Vec<_>>())
        };
        self.days().iter().map(mean_of).collect()
    }
}

/// Tested pair of sides: the test, or the reason for its absence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairTest {
    /// Change of the mean level, as a logarithm; `None` if a side has no run.
    pub change: Option<f64>,
    /// The test, or the reason why there is none.
    pub test: Result<RunTest, Reason>,
    /// Number of runs of both sides.
    pub runs: [usize; 2],
    /// Number of days of both sides.
    pub days: [usize; 2],
}

/// Tests the runs of two sides. `are_days_comparable` is false for sides of two platforms, which share no day.
///
/// Without a variance between days, sides of other days are tested by the means of their days, if both have at least
/// three.
pub fn test_sides(
    a: &SideRuns,
    b: &SideRuns,
    floor: Option<&ClassFloor>,
    are_days_comparable: bool,
) -> PairTest {
    let (days_a, days_b) = (a.days(), b.days());
    let runs = [a.runs.len(), b.runs.len()];
    let days = [days_a.len(), days_b.len()];
    let (levels_a, levels_b) = (a.levels(), b.levels());
    let change = (runs[0].min(runs[1]) > 0).then(|| mean(&levels_b) - mean(&levels_a));
    let spoiled = a.spoiled + b.spoiled > 0;
    let too_few = move || {
        if spoiled {
            Reason::Spoiled
        } else if runs == [1, 1] {
            Reason::NoFloor
        } else {
            Reason::FewRuns
        }
    };
    let test = if change.is_none() {
        Err(Reason::Spoiled)
    } else if are_days_comparable && days_a == days_b {
        run_test(&levels_a, &levels_b, floor.map(|floor| &floor.floor), None).ok_or_else(too_few)
    } else if let Some((floor, day_sigma)) = floor.and_then(|floor| Some((floor, floor.day_sigma?)))
    {
        let unshared = UnsharedDays { day_sigma, days };
        run_test(&levels_a, &levels_b, Some(&floor.floor), Some(unshared)).ok_or_else(too_few)
    } else if days[0].min(days[1]) >= MIN_RUNS_WITHOUT_FLOOR {
        run_test(&a.day_means(), &b.day_means(), None, None).ok_or_else(too_few)
    } else if floor.is_none() && runs[0].min(runs[1]) < MIN_RUNS_WITHOUT_FLOOR {
        Err(too_few())
    } else {
        Err(Reason::OtherDay)
    };
    PairTest {
        change,
        test,
        runs,
        days,
    }
}

/// Returns the verdict of a test, for a corrected p-value, a minimum change as a fraction, and a probability `alpha` of
/// a false alarm.
///
/// Faster or slower: significant and at least the minimum change. Same: the interval of two one-sided tests is within
/// the minimum change (Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15, 1987).
pub fn verdict(test: &RunTest, p_corrected: f64, minimum_change: f64, alpha: f64) -> Verdict {
    let minimum = minimum_change.ln_1p();
    if p_corrected < alpha && test.change.abs() >= minimum {
        return if test.change > 0.0 {
            Verdict::Slower
        } else {
            Verdict::Faster
        };
    }
    let half = student::quantile(1.0 - alpha, test.df) * test.se;
    if test.change.abs() + half <= minimum {
        Verdict::Same
    } else {
        Verdict::Unclear
    }
}

/// Returns the verdict at 5 % with the reason of an unclear one; see [`verdict`].
pub fn decide(
    test: Result<RunTest, Reason>,
    p_corrected: f64,
    minimum_change: f64,
) -> (Verdict, Option<Reason>) {
    let test = match test {
        Ok(test) => test,
        Err(reason) => return (Verdict::Unclear, Some(reason)),
    };
    let found = verdict(&test, p_corrected, minimum_change, ALPHA);
    let reason = (found == Verdict::Unclear).then(|| {
        if test.change.abs() < detectable_change(&test).ln_1p() {
            Reason::BelowDetectable
        } else {
            Reason::FewRuns
        }
    });
    (found, reason)
}

/// Returns the verdicts of all pairs, with the correction of Benjamini and Hochberg. `None` is a pair without a test.
///
/// A pair without a test counts as p = 1, so that leaving out runs never makes another pair significant.
pub fn verdicts(tests: &[Option<RunTest>], minimum_change: f64) -> Vec<Verdict> {
    let p_of = |test: &Option<RunTest>| test.map_or(1.0, |test| test.p);
    let all: PValues = tests.iter().map(p_of).collect();
    let corrected = all.benjamini_hochberg();
    let verdict_of = |test: &Option<RunTest>| {
        test.map_or(Verdict::Unclear, |test| {
            verdict(&test, corrected.get(test.p), minimum_change, ALPHA)
        })
    };
    tests.iter().map(verdict_of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::floor::Floor;
    use crate::floor_classes::FloorClass;

    fn side(runs: &[(f64, u64)], spoiled: usize) -> SideRuns {
        let runs = runs.iter().map(|&(ns, day)| Run {
            level: f64::ln(ns),
            day,
        });
        SideRuns {
            runs: runs.collect(),
            spoiled,
        }
    }

    fn floor(day_sigma: Option<f64>) -> ClassFloor {
        ClassFloor {
            class: FloorClass {
                platform: "k80".to_owned(),
                half_decade: None,
            },
            floor: Floor {
                sigma: 0.005,
                nu: 20.0,
                spread: 0.005,
                pairs: 40,
            },
            day_sigma,
            day_pairs: 0,
        }
    }

    fn decided(
        a: &SideRuns,
        b: &SideRuns,
        floor: Option<&ClassFloor>,
    ) -> (&'static str, &'static str) {
        let pair = test_sides(a, b, floor, true);
        let p = pair.test.map_or(1.0, |test| test.p);
        let (verdict, reason) = decide(pair.test, p, 0.02);
        (verdict.word(), reason.map_or("", Reason::word))
    }

    #[test]
    fn each_undecided_pair_has_its_reason() {
        let (known, with_days) = (floor(None), floor(Some(0.001)));
        let one = side(&[(100.0, 1)], 0);
        let slow = side(&[(110.0, 1)], 0);
        let slow_later = side(&[(110.0, 2)], 0);
        assert_eq!(decided(&one, &slow, None), ("unclear", "no_floor"));
        assert_eq!(decided(&one, &slow, Some(&known)), ("slower", ""));
        assert_eq!(decided(&slow, &one, Some(&known)), ("faster", ""));
        assert_eq!(decided(&one, &slow_later, None), ("unclear", "no_floor"));
        assert_eq!(
            decided(&one, &slow_later, Some(&known)),
            ("unclear", "other_day")
        );
        assert_eq!(decided(&one, &slow_later, Some(&with_days)), ("slower", ""));
        assert_eq!(
            decided(&one, &side(&[(101.0, 1)], 0), Some(&known)),
            ("unclear", "below_detectable")
        );
        let three = side(&[(100.0, 1), (100.2, 1), (99.8, 1)], 0);
        let two = side(&[(110.0, 1), (110.1, 1)], 0);
        assert_eq!(decided(&three, &two, None), ("unclear", "few_runs"));
        assert_eq!(
            decided(&three, &side(&[(110.0, 1)], 2), None),
            ("unclear", "spoiled")
        );
        assert_eq!(
            decided(&three, &side(&[], 3), Some(&known)),
            ("unclear", "spoiled")
        );
        let later = side(&[(110.0, 2), (110.2, 2), (109.8, 2)], 0);
        assert_eq!(decided(&three, &later, None), ("unclear", "other_day"));
        let same_day = side(&[(110.0, 1), (110.2, 1), (109.8, 1)], 0);
        assert_eq!(decided(&three, &same_day, None), ("slower", ""));
        assert_eq!(decided(&three, &three.clone(), None), ("same", ""));
    }

    #[test]
    fn many_days_need_no_variance_between_days() {
        let week = |ns: f64, first: u64| {
            side(
                &[
                    (ns, first),
                    (ns * 1.002, first + 1),
                    (ns * 0.999, first + 2),
                    (ns * 1.001, first + 2),
                ],
                0,
            )
        };
        assert_eq!(
            decided(&week(100.0, 1), &week(110.0, 8), None),
            ("slower", "")
        );
        let pair = test_sides(&week(100.0, 1), &week(110.0, 8), None, true);
        assert_eq!((pair.runs, pair.days), ([4, 4], [3, 3]));
        assert!(
            (pair.test.unwrap().df - 4.0).abs() < 1e-12,
            "three days on each side"
        );
    }

    #[test]
    fn other_platforms_share_no_day() {
        let (one, slow) = (side(&[(100.0, 1)], 0), side(&[(110.0, 1)], 0));
        let pair = test_sides(&one, &slow, Some(&floor(None)), false);
        assert_eq!(pair.test, Err(Reason::OtherDay));
    }

    #[test]
    fn words_are_those_of_storage() {
        for reason in Reason::ALL {
            let text = serde_json::to_string(&reason).unwrap();
            assert_eq!(text, format!("\"{}\"", reason.word()));
        }
    }

    #[test]
    fn pairs_without_a_test_count_in_the_correction() {
        let test = RunTest::new(0.1, 0.04, 50.0);
        assert_eq!(verdicts(&[Some(test)], 0.02), [Verdict::Slower]);
        let found = verdicts(&[Some(test), None, None, None], 0.02);
        assert_eq!(found, [Verdict::Unclear; 4]);
    }
}

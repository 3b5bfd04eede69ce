//! Comparison of a single pair by the rule of a comparison.

use std::collections::HashSet;

use tsql_metrics::change::RepeatPair;
use tsql_session::noise::level;
use tsql_verdicts::floor_classes::{ClassFloor, Floors, combine_floors};
use tsql_verdicts::verdict::{SideRuns, test_sides};

use crate::compare::options::Rule;
use crate::compare::pair_result::{ComparedPair, PairOutcome};
use crate::compare::records::{PairKey, SideRecord};

/// Everything that the comparison of a pair needs beside its records.
#[derive(Debug, Default)]
pub(in crate::compare) struct RuleContext {
    pub(in crate::compare) rule: Rule,
    pub(in crate::compare) floors: Floors,
    /// Platforms of both sides, if each side has one. Otherwise pairs are by platform.
    pub(in crate::compare) platforms: Option<[String; 2]>,
    /// Graphs of the control programs.
    pub(in crate::compare) anchors: HashSet<i64>,
}

impl RuleContext {
    /// Compares the records of both sides; `None` if a side has no valid repeats.
    pub(in crate::compare) fn compare(
        &self,
        key: &PairKey,
        a: &SideRecord,
        b: &SideRecord,
    ) -> Option<ComparedPair> {
        let medians = [level(&a.repeats_ns)?, level(&b.repeats_ns)?];
        if self.rule == Rule::Ranks {
            let pair = RepeatPair::new(&a.repeats_ns, &b.repeats_ns)?;
            let found = pair.with_spoiled(a.spoiled || b.spoiled).compare();
            return Some(ComparedPair {
                ns: [found.old_median_ns, found.new_median_ns],
                outcome: PairOutcome::Ranks(found),
            });
        }
        let levels = [side_level(&a.runs), side_level(&b.runs)];
        let [level_a, level_b] = [0, 1].map(|side: usize| {
            let runs = levels.get(side).copied().flatten();
            runs.or_else(|| medians.get(side).copied())
                .unwrap_or(f64::NAN)
        });
        let are_days_comparable = self.platforms.as_ref().is_none_or(|[a, b]| a == b);
        let floor = self.floor(key, f64::midpoint(level_a, level_b));
        let found = test_sides(&a.runs, &b.runs, floor.as_ref(), are_days_comparable);
        Some(ComparedPair {
            ns: [level_a.exp(), level_b.exp()],
            outcome: PairOutcome::Runs(found),
        })
    }

    /// Returns the floor of a pair: that of its platform, or the worse one of two platforms.
    fn floor(&self, key: &PairKey, level: f64) -> Option<ClassFloor> {
        let found = |platform: &str| {
            let index = self.floors.find(platform, level)?;
            self.floors.as_slice().get(index)
        };
        match (&key.platform, &self.platforms) {
            (Some(platform), _) => found(platform).cloned(),
            (None, Some([a, b])) if a == b => found(a).cloned(),
            (None, Some([a, b])) => Some(combine_floors(found(a)?, found(b)?)),
            (None, None) => None,
        }
    }
}

/// Mean level of the runs of a side; `None` without runs.
fn side_level(side: &SideRuns) -> Option<f64> {
    let runs = u32::try_from(side.runs.len())
        .ok()
        .filter(|runs| *runs > 0)?;
    let sum: f64 = side.runs.iter().map(|run| run.level).sum();
    Some(sum / f64::from(runs))
}

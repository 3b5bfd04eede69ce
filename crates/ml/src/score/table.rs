//! Computes the rows of the table from units, with intervals.

use std::collections::BTreeMap;

use fastrand::Rng;
use tsql_metrics::stats::quantile;

use super::report::{Predictor, Score, ScoreRow};
use super::unit::{GroupMember, GroupTotal, ScoreUnit, UnitGroup, UnitMetric};

/// Quantiles of the resamples at the bounds of an interval, which contains 95 % of them.
const INTERVAL_ENDS: [f64; 2] = [0.025, 0.975];

/// Units, their groups, and the resampling of their tasks.
pub(super) struct ScoreTable<'a> {
    pub(super) metrics: &'a [UnitMetric],
    pub(super) units: &'a [ScoreUnit],
    pub(super) groups: &'a [UnitGroup],
    pub(super) totals: &'a [GroupTotal],
    pub(super) seed: u64,
    pub(super) resamples: u32,
}

/// Sums of one predictor and one metric for each unit: numerator, denominator, and whether it spoils the score.
struct MetricSums {
    over: Vec<f64>,
    under: Vec<f64>,
    spoils: Vec<bool>,
}

/// Results of one predictor and one metric, for each group and each total: the value, and the interval of the
/// resamples.
struct Estimates {
    values: Vec<Option<f64>>,
    intervals: Vec<Option<[f64; 2]>>,
}

/// Number of times that each unit was drawn; at most the number of units.
type UnitDraws = Vec<u16>;

impl ScoreTable<'_> {
    /// Rows of each group, then of each total, for all predictors.
    pub(super) fn rows(&self) -> Vec<ScoreRow> {
        let Some(first) = self.units.first() else {
            return Vec::new();
        };
        let drawn = self.draw_resamples();
        let predictors: Vec<Predictor> = first.of.iter().map(|of| of.predictor).collect();
        let found: Vec<Vec<Estimates>> = (0..predictors.len())
            .map(|place| {
                let metrics =
                    (0..self.metrics.len()).map(|metric| self.evaluate(place, metric, &drawn));
                metrics.collect()
            })
            .collect();
        let mut rows = Vec::new();
        for at in 0..self.groups.len() + self.totals.len() {
            for (place, predictor) in predictors.iter().enumerate() {
                let of = found.get(place).map(Vec::as_slice).unwrap_or_default();
                let row = self.row(at, place, *predictor, of);
                // Upper bounds without measurements are omitted.
                let is_known = row.rows > 0 || *predictor == Predictor::Predictions;
                rows.extend(is_known.then_some(row));
            }
        }
        rows
    }

    /// Draws as many units as there are, for each resample.
    fn draw_resamples(&self) -> Vec<UnitDraws> {
        let mut random = Rng::with_seed(self.seed);
        let units = self.units.len();
        let draw = |_| {
            let mut drawn = vec![0_u16; units];
            for _ in 0..units {
                if let Some(times) = drawn.get_mut(random.usize(0..units)) {
                    *times = times.saturating_add(1);
                }
            }
            drawn
        };
        (0..self.resamples).map(draw).collect()
    }

    fn sums(&self, predictor: usize, metric: usize) -> MetricSums {
        let mut sums = MetricSums {
            over: vec![0.0; self.units.len()],
            under: vec![0.0; self.units.len()],
            spoils: vec![false; self.units.len()],
        };
        let places = sums.over.iter_mut().zip(&mut sums.under);
        for ((unit, (over, under)), spoils) in self.units.iter().zip(places).zip(&mut sums.spoils) {
            let share = unit.of.get(predictor).and_then(|of| of.shares.get(metric));
            match share {
                Some(Ok(share)) => (*over, *under) = (share.over, share.under),
                Some(Err(why)) => *spoils = why.spoils,
                None => {}
            }
        }
        sums
    }

    fn evaluate(&self, predictor: usize, metric: usize, drawn: &[UnitDraws]) -> Estimates {
        let sums = self.sums(predictor, metric);
        let values = self.values(metric, &sums, None);
        let mut resampled: Vec<Vec<f64>> = vec![Vec::new(); values.len()];
        for drawn in drawn {
            let again = self.values(metric, &sums, Some((drawn, &values)));
            for (place, (known, value)) in resampled.iter_mut().zip(again).enumerate() {
                let is_one = |group: &UnitGroup| group.members.len() < 2;
                if !self.groups.get(place).is_some_and(is_one) {
                    known.extend(value);
                }
            }
        }
        Estimates {
            values,
            intervals: resampled.into_iter().map(interval).collect(),
        }
    }

    /// Values of all groups and totals; for a resample, `again` holds its draws and the values of all units.
    fn values(
        &self,
        metric: usize,
        sums: &MetricSums,
        again: Option<(&UnitDraws, &[Option<f64>])>,
    ) -> Vec<Option<f64>> {
        let drawn = again.map(|(drawn, _)| drawn);
        let of_group = |(place, group): (usize, &UnitGroup)| match again {
            Some((_, known)) if group.members.len() < 2 => known.get(place).copied().flatten(),
            _ => self.value(metric, sums, &group.members, drawn),
        };
        let groups = self.groups.iter().enumerate();
        let mut values: Vec<Option<f64>> = groups.map(of_group).collect();
        for total in self.totals {
            let value = match total {
                GroupTotal::Together(group) => self.value(metric, sums, &group.members, drawn),
                GroupTotal::Mean { least_groups, .. } => {
                    self.mean(&values, sums, drawn, *least_groups)
                }
            };
            values.push(value);
        }
        values
    }

    fn value(
        &self,
        metric: usize,
        sums: &MetricSums,
        members: &[GroupMember],
        drawn: Option<&UnitDraws>,
    ) -> Option<f64> {
        let metric = self.metrics.get(metric)?;
        let (mut above, mut below) = (0.0, 0.0);
        for member in members {
            if *sums.spoils.get(member.unit)? {
                return None;
            }
            let mut weight = if metric.is_weighted {
                member.weight
            } else {
                1.0
            };
            if let Some(drawn) = drawn {
                weight *= f64::from(*drawn.get(member.unit)?);
            }
            above += weight * sums.over.get(member.unit)?;
            below += weight * sums.under.get(member.unit)?;
        }
        metric.finish.apply(above, below)
    }

    /// Mean of the groups with a value. In a resample, a group of one unit counts as often as the unit was drawn.
    fn mean(
        &self,
        values: &[Option<f64>],
        sums: &MetricSums,
        drawn: Option<&UnitDraws>,
        least_groups: usize,
    ) -> Option<f64> {
        let (mut above, mut below, mut groups) = (0.0, 0.0, 0);
        for (group, value) in self.groups.iter().zip(values) {
            let spoils =
                |member: &GroupMember| sums.spoils.get(member.unit).copied().unwrap_or(false);
            if group.members.iter().any(spoils) {
                return None;
            }
            let Some(value) = value else { continue };
            let weight = match (group.members.as_slice(), drawn) {
                ([only], Some(drawn)) => drawn.get(only.unit).copied().map_or(0.0, f64::from),
                _ => 1.0,
            };
            above += weight * value;
            below += weight;
            groups += 1;
        }
        (below > 0.0 && groups >= least_groups).then(|| above / below)
    }

    fn row(&self, at: usize, place: usize, predictor: Predictor, found: &[Estimates]) -> ScoreRow {
        let total = at.checked_sub(self.groups.len());
        let total = total.and_then(|at| self.totals.get(at));
        let (group, name) = match (self.groups.get(at), total) {
            (Some(group), _) | (None, Some(GroupTotal::Together(group))) => {
                (Some(group), group.name.as_str())
            }
            (None, Some(GroupTotal::Mean { name, .. })) => (None, name.as_str()),
            (None, None) => (None, ""),
        };
        let members = match group {
            Some(group) => group.members.iter().map(|member| member.unit).collect(),
            None => self.units_of_groups(),
        };
        let units: Vec<&ScoreUnit> = members
            .iter()
            .filter_map(|unit| self.units.get(*unit))
            .collect();
        let of = |unit: &&ScoreUnit| unit.of.get(place).map_or(0, |of| of.rows);
        let metrics = (0..self.metrics.len()).zip(found);
        let scores = metrics.map(|(metric, found)| {
            let interval = found.intervals.get(at).copied().flatten();
            Score {
                value: found.values.get(at).copied().flatten(),
                low: interval.map(|[low, _]| low),
                high: interval.map(|[_, high]| high),
                excluded_tasks: left_out(&units, place, metric),
            }
        });
        ScoreRow {
            group: name.to_owned(),
            platform: group.and_then(|group| group.platform.clone()),
            predictor,
            tasks: units.iter().filter(|unit| of(unit) > 0).count() as u64,
            network_tasks: group.and_then(|group| group.network_tasks),
            rows: units.iter().map(of).sum(),
            failed: units.iter().map(|unit| unit.failed).sum(),
            missing: units.iter().map(|unit| unit.missing).sum(),
            scores: scores.collect(),
        }
    }

    /// Units of all groups, each once.
    fn units_of_groups(&self) -> Vec<usize> {
        let members = self.groups.iter().flat_map(|group| &group.members);
        let mut units: Vec<usize> = members.map(|member| member.unit).collect();
        units.sort_unstable();
        units.dedup();
        units
    }
}

/// Number of units that do not count, by reason.
fn left_out(units: &[&ScoreUnit], place: usize, metric: usize) -> BTreeMap<String, u64> {
    let mut reasons = BTreeMap::new();
    for unit in units {
        let share = unit.of.get(place).and_then(|of| of.shares.get(metric));
        if let Some(Err(why)) = share {
            *reasons.entry(why.reason.clone()).or_default() += 1;
        }
    }
    reasons
}

/// Interval of the values of resamples; `None` without values.
fn interval(mut values: Vec<f64>) -> Option<[f64; 2]> {
    values.sort_unstable_by(f64::total_cmp);
    (!values.is_empty()).then(|| INTERVAL_ENDS.map(|share| quantile(&values, share)))
}

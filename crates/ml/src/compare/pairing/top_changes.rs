//! The largest changes, for the lists of the report.

use crate::compare::comparison::Change;
use crate::compare::pair_result::DecidedPair;
use crate::compare::records::PairKey;

/// Number of changes that are collected beyond the requested ones before they are sorted.
const UNSORTED_CHANGES: usize = 64;

/// The largest changes; statistically significant ones sort first.
pub(in crate::compare) struct TopChanges {
    most: usize,
    changes: Vec<((bool, f64), Change)>,
}

impl TopChanges {
    pub(in crate::compare) fn new(most: usize) -> Self {
        Self {
            most,
            changes: Vec::new(),
        }
    }

    /// Adds a change, given whether it is significant.
    pub(in crate::compare) fn add(
        &mut self,
        is_significant: bool,
        key: &PairKey,
        pair: &DecidedPair,
        change: f64,
    ) {
        let order = (is_significant, pair.log_change.abs());
        self.changes.push((order, to_change(key, pair, change)));
        // Sorts once in a while, not after each insertion.
        if self.changes.len() > 2 * self.most + UNSORTED_CHANGES {
            self.truncate();
        }
    }

    fn truncate(&mut self) {
        self.changes.sort_by(|(one, _), (other, _)| {
            let by_noise = other.0.cmp(&one.0);
            by_noise.then_with(|| other.1.total_cmp(&one.1))
        });
        self.changes.truncate(self.most);
    }

    pub(in crate::compare) fn into_changes(mut self) -> Vec<Change> {
        self.truncate();
        self.changes.into_iter().map(|(_, change)| change).collect()
    }
}

/// Converts a pair for the report. `wanted` is the change that runs are needed for, as a fraction.
pub(in crate::compare) fn to_change(key: &PairKey, pair: &DecidedPair, wanted: f64) -> Change {
    let finite = |number: f64| Some(number).filter(|number| number.is_finite());
    let [a_ns, b_ns] = pair.ns.map(finite);
    let [a_runs, b_runs] = pair.runs.map_or([None; 2], |runs| runs.map(Some));
    let [a_days, b_days] = pair.days.map_or([None; 2], |days| days.map(Some));
    let (low, high) = pair
        .interval
        .map_or((None, None), |(low, high)| (Some(low), Some(high)));
    Change {
        graph_id: key.graph_id,
        config_id: key.config_id,
        platform: key.platform.clone(),
        a_ns,
        b_ns,
        speedup: Some(pair.speedup()),
        speedup_low: high.map(|high: f64| (-high).exp()),
        speedup_high: low.map(|low: f64| (-low).exp()).and_then(finite),
        change: finite(pair.log_change.exp_m1()),
        low: low.map(f64::exp_m1).and_then(finite),
        high: high.map(f64::exp_m1).and_then(finite),
        se: pair.test.map(|test| test.se),
        df: pair.test.map(|test| test.df),
        p: Some(pair.p),
        p_corrected: Some(pair.p_corrected),
        detectable: pair.detectable.and_then(finite),
        runs_needed: pair.runs_needed(wanted),
        a_runs,
        b_runs,
        a_days,
        b_days,
        reason: pair.reason,
        verdict: pair.verdict.word(),
        ..Change::default()
    }
}

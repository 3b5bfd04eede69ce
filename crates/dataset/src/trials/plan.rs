//! Plans: sequences of trials.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tsql_measure::search::{Search, SearchStrategy};
use tsql_measure::space::Config;

use super::loaded_program::{LoadedProgram, TrialSpec};
use super::options::MeasureOptions;

/// Produces trials and receives their results.
pub trait TrialPlan {
    /// The next trial; `None` at the end.
    fn next(&mut self) -> Option<TrialSpec>;
    /// Adds the median of a trial, `None` for a failure.
    fn add_result(&mut self, item: &TrialSpec, runtime_ns: Option<f64>);
    /// Total number of trials, if known.
    fn total(&self) -> Option<u64>;
}

/// Plan of a search, which alternates between the workloads.
pub struct SearchPlan {
    loaded: Arc<LoadedProgram>,
    /// One search per workload; `None` after its end.
    searches: Vec<Option<Search>>,
    turn: usize,
    left: Option<u64>,
    total: Option<u64>,
}

impl SearchPlan {
    /// Creates a plan from `options`, without the configurations in `known` (by workload key).
    pub fn from_options(
        loaded: &Arc<LoadedProgram>,
        options: &MeasureOptions,
        seed: Option<u64>,
        known: &HashMap<String, HashSet<Config>>,
    ) -> Self {
        let seed = seed.unwrap_or_default();
        Self::new(loaded, options.search, seed, options.max_trials(), known)
    }

    /// Creates a plan with at most `trials` trials over all workloads, without the configurations in
    /// `known` (by workload key).
    fn new(
        loaded: &Arc<LoadedProgram>,
        kind: SearchStrategy,
        seed: u64,
        trials: Option<u64>,
        known: &HashMap<String, HashSet<Config>>,
    ) -> Self {
        let manifest = &loaded.manifest;
        let none = HashSet::new();
        let (mut searches, mut points) = (Vec::new(), 0_u64);
        for (number, workload) in (0..).zip(manifest.workloads()) {
            let skip = known.get(&manifest.workload_key(&workload.params));
            let skip = skip.unwrap_or(&none);
            let size = u64::try_from(manifest.space().size()).unwrap_or(u64::MAX);
            points = points.saturating_add(size.saturating_sub(skip.len() as u64));
            let seed = seed.wrapping_add(number);
            let space = manifest.space().clone();
            searches.push(Some(Search::new(
                kind,
                space,
                workload.params.clone(),
                seed,
                skip,
            )));
        }
        // An upper bound, because constraints may exclude points.
        let total = trials.map(|trials| trials.min(points));
        Self {
            loaded: Arc::clone(loaded),
            searches,
            turn: 0,
            left: trials,
            total,
        }
    }
}

impl TrialPlan for SearchPlan {
    fn next(&mut self) -> Option<TrialSpec> {
        if self.left == Some(0) {
            return None;
        }
        for _ in 0..self.searches.len() {
            let turn = self.turn;
            self.turn = (turn + 1) % self.searches.len();
            let slot = self.searches.get_mut(turn)?;
            let Some(search) = slot else { continue };
            let Some(config) = search.next() else {
                *slot = None;
                continue;
            };
            self.left = self.left.map(|left| left - 1);
            let workload = self.loaded.manifest.workloads().get(turn)?;
            return Some(TrialSpec {
                loaded: Arc::clone(&self.loaded),
                params: workload.params.clone(),
                config,
            });
        }
        None
    }

    fn add_result(&mut self, item: &TrialSpec, runtime_ns: Option<f64>) {
        let workloads = self.loaded.manifest.workloads();
        let place = workloads
            .iter()
            .position(|workload| workload.params == item.params);
        let search = place.and_then(|place| self.searches.get_mut(place));
        if let Some(Some(search)) = search {
            search.add_result(&item.config, runtime_ns);
        }
    }

    fn total(&self) -> Option<u64> {
        self.total
    }
}

/// Plan with a fixed list of trials.
pub(crate) struct FixedPlan {
    items: std::vec::IntoIter<TrialSpec>,
    total: u64,
}

impl FixedPlan {
    pub(crate) fn new(items: Vec<TrialSpec>) -> Self {
        Self {
            total: items.len() as u64,
            items: items.into_iter(),
        }
    }
}

impl TrialPlan for FixedPlan {
    fn next(&mut self) -> Option<TrialSpec> {
        self.items.next()
    }

    fn add_result(&mut self, _: &TrialSpec, _: Option<f64>) {}

    fn total(&self) -> Option<u64> {
        Some(self.total)
    }
}

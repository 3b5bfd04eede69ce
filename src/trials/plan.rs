//! What is to be measured next.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tsql_measure::search::{Kind, Search};
use tsql_measure::space::Config;

use super::loaded::{Item, Loaded};
use super::options::MeasureOptions;

/// Gives trials, and hears what came of them.
pub(crate) trait Plan {
    /// The next one; `None` where there is no more.
    fn next(&mut self) -> Option<Item>;
    /// The median of a trial, `None` for one that failed.
    fn tell(&mut self, item: &Item, runtime_ns: Option<f64>);
    /// How many it gives, where that is known.
    fn total(&self) -> Option<u64>;
}

/// Configurations that a search proposes, for each workload in turn.
pub(crate) struct Searches {
    loaded: Arc<Loaded>,
    /// One for each workload; `None` where it is at its end.
    searches: Vec<Option<Search>>,
    turn: usize,
    left: Option<u64>,
    total: Option<u64>,
}

impl Searches {
    /// As `options` say; none of `known`, by workload key.
    pub(crate) fn of(
        loaded: &Arc<Loaded>,
        options: &MeasureOptions,
        seed: Option<u64>,
        known: &HashMap<String, HashSet<Config>>,
    ) -> Self {
        let seed = seed.unwrap_or_default();
        Self::new(loaded, options.search, seed, options.most(), known)
    }

    /// `trials` at most over all workloads; none of `known`, by workload key.
    fn new(
        loaded: &Arc<Loaded>,
        kind: Kind,
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
        // Constraints may forbid some of the points.
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

impl Plan for Searches {
    fn next(&mut self) -> Option<Item> {
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
            return Some(Item {
                loaded: Arc::clone(&self.loaded),
                params: workload.params.clone(),
                config,
            });
        }
        None
    }

    fn tell(&mut self, item: &Item, runtime_ns: Option<f64>) {
        let workloads = self.loaded.manifest.workloads();
        let place = workloads
            .iter()
            .position(|workload| workload.params == item.params);
        let search = place.and_then(|place| self.searches.get_mut(place));
        if let Some(Some(search)) = search {
            search.tell(&item.config, runtime_ns);
        }
    }

    fn total(&self) -> Option<u64> {
        self.total
    }
}

/// Trials that are known beforehand.
pub(crate) struct Listed {
    items: std::vec::IntoIter<Item>,
    total: u64,
}

impl Listed {
    pub(crate) fn new(items: Vec<Item>) -> Self {
        Self {
            total: items.len() as u64,
            items: items.into_iter(),
        }
    }
}

impl Plan for Listed {
    fn next(&mut self) -> Option<Item> {
        self.items.next()
    }

    fn tell(&mut self, _: &Item, _: Option<f64>) {}

    fn total(&self) -> Option<u64> {
        Some(self.total)
    }
}

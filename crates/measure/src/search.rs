//! Search strategies for the next configuration: grid, random, or evolution.
//!
//! Each configuration is proposed once; skipped ones are not proposed. The sequence is determined by the
//! seed and the results that are added. In the evolutionary search, up to `POPULATION` of the fastest
//! configurations are parents. A child derives from the winner of a tournament, sometimes with crossover,
//! and then one or two knobs mutate.
//!
//! This is the loop of Real et al., "Regularized evolution for image classifier architecture search" (AAAI
//! 2019), without its ageing. There the oldest configuration is removed, here the slowest, because a timing
//! is far less noisy than the accuracy of a training. One configuration in ten is random, to leave local
//! minima. Failed configurations are only excluded from further proposals.

use std::collections::{BTreeMap, HashSet};

use fastrand::Rng;

use super::space::{Config, Knob, Point, Space};

/// Maximum number of parents.
const POPULATION: usize = 32;

/// Random configurations before the first child.
const FOUNDERS: usize = 16;

/// Candidates in a tournament; the fastest becomes the parent.
const TOURNAMENT: usize = 4;

/// Fraction of configurations that are random.
const RANDOM_FRACTION: f64 = 0.1;

/// Fraction of children with two parents.
const CROSSOVER_FRACTION: f64 = 0.3;

/// Rejected children (invalid or known) after which a random configuration is proposed instead.
const MAX_REJECTED_CHILDREN: usize = 64;

/// Rejected random points (invalid or known) after which the rest of the space is enumerated.
const MAX_MISSES: usize = 4096;

/// Order in which configurations are proposed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchStrategy {
    /// All configurations, in order.
    Grid,
    /// Random configurations without repetition.
    Random,
    /// Children of the fastest configurations.
    Evolve,
}

/// A search for one workload: an iterator of configurations, which receives their results.
pub struct Search {
    kind: SearchStrategy,
    space: Space,
    params: BTreeMap<String, i64>,
    rng: Rng,
    /// Proposed, skipped or measured points.
    seen: HashSet<Point>,
    /// Next point of the grid; `None` at its end.
    cursor: Option<Point>,
    /// Number of random points proposed as founders.
    founders: usize,
    /// Fastest configurations with their runtimes in ns, fastest first.
    parents: Vec<(f64, Point)>,
}

impl Search {
    /// Creates a search through `space` for the workload `params`, without the configurations in `skip`.
    pub fn new(
        kind: SearchStrategy,
        space: Space,
        params: BTreeMap<String, i64>,
        seed: u64,
        skip: &HashSet<Config>,
    ) -> Self {
        let seen = skip
            .iter()
            .filter_map(|config| space.point_of(config))
            .collect();
        Self {
            kind,
            cursor: Some(space.first_point()),
            space,
            params,
            rng: Rng::with_seed(seed),
            seen,
            founders: 0,
            parents: Vec::new(),
        }
    }

    /// Adds the result of `config`: its runtime in ns, or `None` if it failed.
    ///
    /// The configuration may come from elsewhere: results of earlier runs become parents, too.
    pub fn add_result(&mut self, config: &Config, runtime_ns: Option<f64>) {
        let Some(point) = self.space.point_of(config) else {
            return;
        };
        self.seen.insert(point.clone());
        let Some(mut runtime_ns) = runtime_ns.filter(|runtime| runtime.is_finite()) else {
            return;
        };
        if let Some(previous) = self.parents.iter().position(|(_, parent)| *parent == point) {
            runtime_ns = runtime_ns.min(self.parents.remove(previous).0);
        }
        let rank = self
            .parents
            .partition_point(|(other, _)| *other <= runtime_ns);
        self.parents.insert(rank, (runtime_ns, point));
        self.parents.truncate(POPULATION);
    }

    fn next_in_grid(&mut self) -> Option<Point> {
        while let Some(from) = self.cursor.take() {
            let point = self.space.next_allowed(&self.params, from)?;
            self.cursor = self.space.successor(&point);
            if !self.seen.contains(&point) {
                return Some(point);
            }
        }
        None
    }

    fn next_random(&mut self) -> Option<Point> {
        for _ in 0..MAX_MISSES {
            let point = self.space.random_point(&mut self.rng);
            if self.is_new(&point) {
                return Some(point);
            }
        }
        // Few points are left or valid: enumerate from a random point, then from the beginning.
        let start = self.space.random_point(&mut self.rng);
        self.next_unseen(start)
            .or_else(|| self.next_unseen(self.space.first_point()))
    }

    /// First new and valid point at or after `from`.
    fn next_unseen(&self, from: Point) -> Option<Point> {
        let mut from = Some(from);
        while let Some(start) = from.take() {
            let point = self.space.next_allowed(&self.params, start)?;
            if !self.seen.contains(&point) {
                return Some(point);
            }
            from = self.space.successor(&point);
        }
        None
    }

    fn next_evolved(&mut self) -> Option<Point> {
        if self.founders < FOUNDERS && self.parents.len() < FOUNDERS {
            self.founders += 1;
            return self.next_random();
        }
        if self.parents.is_empty() || self.rng.f64() < RANDOM_FRACTION {
            return self.next_random();
        }
        for _ in 0..MAX_REJECTED_CHILDREN {
            let child = self.breed()?;
            if self.is_new(&child) {
                return Some(child);
            }
        }
        self.next_random()
    }

    fn breed(&mut self) -> Option<Point> {
        let mut child = self.parent()?;
        if self.rng.f64() < CROSSOVER_FRACTION {
            let other = self.parent()?;
            for (gene, other_gene) in child.iter_mut().zip(other) {
                if self.rng.bool() {
                    *gene = other_gene;
                }
            }
        }
        let mutations = 1 + usize::from(self.rng.bool());
        for _ in 0..mutations {
            let knob_index = self.rng.usize(..child.len().max(1));
            if let (Some(knob), Some(gene)) = (
                self.space.knobs().get(knob_index),
                child.get_mut(knob_index),
            ) {
                *gene = mutate(&mut self.rng, knob, *gene);
            }
        }
        Some(child)
    }

    /// Winner of a tournament. Parents are sorted, so it has the minimum of some random ranks.
    fn parent(&mut self) -> Option<Point> {
        let ranks = self.parents.len().max(1);
        let winner = (0..TOURNAMENT).map(|_| self.rng.usize(..ranks)).min()?;
        self.parents.get(winner).map(|(_, point)| point.clone())
    }

    fn is_new(&self, point: &Point) -> bool {
        !self.seen.contains(point) && self.space.allows(&self.params, point)
    }
}

/// Mutates a knob: one step up or down, or equally often to any value.
///
/// Adjacent values are usually similar, but a knob such as a loop order has no order.
fn mutate(rng: &mut Rng, knob: &Knob, value_index: usize) -> usize {
    let last = knob.values.len().saturating_sub(1);
    if rng.bool() {
        rng.usize(..=last)
    } else if rng.bool() {
        value_index.saturating_sub(1)
    } else {
        (value_index + 1).min(last)
    }
}

impl Iterator for Search {
    type Item = Config;

    /// The next configuration; `None` after all valid ones.
    fn next(&mut self) -> Option<Config> {
        let point = match self.kind {
            SearchStrategy::Grid => self.next_in_grid(),
            SearchStrategy::Random => self.next_random(),
            SearchStrategy::Evolve => self.next_evolved(),
        }?;
        let config = self.space.config(&point);
        self.seen.insert(point);
        Some(config)
    }
}

#[cfg(test)]
mod tests {
    use super::super::expr::Expression;
    use super::*;

    const KINDS: [SearchStrategy; 3] = [
        SearchStrategy::Grid,
        SearchStrategy::Random,
        SearchStrategy::Evolve,
    ];

    fn space(knobs: usize, values: i64, constraints: &[&str]) -> Space {
        let knobs = (0..knobs)
            .map(|n| Knob {
                name: format!("K{n}"),
                values: (0..values).collect(),
            })
            .collect();
        let constraints = constraints
            .iter()
            .map(|text| Expression::parse(text).unwrap())
            .collect();
        Space::new(knobs, constraints)
    }

    fn search(kind: SearchStrategy, space: Space, seed: u64) -> Search {
        Search::new(kind, space, BTreeMap::new(), seed, &HashSet::new())
    }

    /// Smooth in each knob, with two dependent knobs, ripples, and a fifth of failing configurations.
    fn runtime_ns(config: &Config) -> Option<f64> {
        let knob_value = |name: &str| f64::from(i32::try_from(config[name]).unwrap());
        let smooth: f64 = [(0, 5.0), (1, 2.0), (2, 7.0), (3, 3.0)]
            .iter()
            .map(|(knob, best)| (knob_value(&format!("K{knob}")) - best).powi(2))
            .sum();
        let coupled = (knob_value("K4") + knob_value("K5") - 9.0).powi(2)
            + (knob_value("K4") - knob_value("K0")).abs();
        let ripples = 6.0 * ((knob_value("K1") * 2.1 + knob_value("K3") * 1.7).sin() + 1.0);
        let fails = (config["K0"] * 7 + config["K2"] * 3 + config["K5"]) % 5 == 0;
        (!fails).then_some(100.0 + smooth + coupled + ripples)
    }

    fn best_runtime(kind: SearchStrategy, seed: u64, trials: usize) -> f64 {
        let mut search = search(kind, space(6, 8, &[]), seed);
        let mut best = f64::INFINITY;
        for _ in 0..trials {
            let config = search.next().unwrap();
            let runtime = runtime_ns(&config);
            search.add_result(&config, runtime);
            best = best.min(runtime.unwrap_or(f64::INFINITY));
        }
        best
    }

    #[test]
    fn evolution_beats_random_search_with_the_same_number_of_trials() {
        let seeds = 0..20;
        let bests = |kind| -> Vec<f64> {
            seeds
                .clone()
                .map(|seed| best_runtime(kind, seed, 150))
                .collect()
        };
        let (evolved, random) = (bests(SearchStrategy::Evolve), bests(SearchStrategy::Random));
        let mean = |all: &[f64]| all.iter().sum::<f64>() / 20.0;
        let won = evolved.iter().zip(&random).filter(|(e, r)| e < r).count();
        let (evolved, random) = (mean(&evolved), mean(&random));
        assert!(evolved + 3.0 < random, "{evolved} and {random}");
        assert!(won >= 16, "{won} of 20");
    }

    #[test]
    fn each_allowed_configuration_comes_once_and_then_none() {
        for kind in KINDS {
            let mut search = search(kind, space(3, 5, &["K0 != K1", "K2 >= K1"]), 3);
            let mut all = HashSet::new();
            while let Some(config) = search.next() {
                assert!(config["K0"] != config["K1"] && config["K2"] >= config["K1"]);
                search.add_result(
                    &config,
                    Some(f64::from(i32::try_from(config["K2"]).unwrap())),
                );
                assert!(all.insert(config), "{kind:?} gave one twice");
            }
            assert_eq!(all.len(), 60, "{kind:?}");
            assert_eq!(search.next(), None);
        }
    }

    #[test]
    fn skipped_and_known_points_are_not_proposed() {
        for kind in KINDS {
            let space = space(2, 4, &[]);
            let skip: HashSet<Config> = (0..10)
                .map(|index| space.config(&space.nth_point(index).unwrap()))
                .collect();
            let measured = space.config(&space.nth_point(15).unwrap());
            let mut search = Search::new(kind, space, BTreeMap::new(), 1, &skip);
            search.add_result(&measured, None);
            let proposed: Vec<Config> = search.collect();
            assert_eq!(proposed.len(), 5, "{kind:?}");
            assert!(
                proposed
                    .iter()
                    .all(|config| !skip.contains(config) && *config != measured)
            );
        }
    }

    #[test]
    fn a_seed_gives_one_sequence_and_another_seed_another() {
        let sequence = |kind, seed| -> Vec<Config> {
            let mut search = search(kind, space(6, 8, &[]), seed);
            (0..100)
                .map(|_| {
                    let config = search.next().unwrap();
                    search.add_result(&config, runtime_ns(&config));
                    config
                })
                .collect()
        };
        for kind in [SearchStrategy::Random, SearchStrategy::Evolve] {
            assert_eq!(sequence(kind, 7), sequence(kind, 7));
            assert_ne!(sequence(kind, 7), sequence(kind, 8));
        }
    }

    #[test]
    fn a_space_of_a_trillion_points_is_searched_quickly() {
        for kind in KINDS {
            // One point in a thousand is valid, and only the last knob determines which.
            let space = space(4, 1000, &["(K0 + K1 + K2 + K3) % 1000 == 0"]);
            let proposed: Vec<Config> = search(kind, space, 5).take(50).collect();
            assert_eq!(proposed.len(), 50, "{kind:?}");
        }
    }

    #[test]
    fn a_space_without_knobs_gives_one_configuration() {
        for kind in KINDS {
            let mut search = search(kind, space(0, 0, &[]), 0);
            assert_eq!(search.next(), Some(Config::new()));
            search.add_result(&Config::new(), Some(1.0));
            assert_eq!(search.next(), None, "{kind:?}");
        }
    }

    #[test]
    fn evolution_continues_at_random_if_all_trials_fail() {
        let mut search = search(SearchStrategy::Evolve, space(2, 10, &[]), 2);
        for _ in 0..100 {
            let config = search.next().unwrap();
            search.add_result(&config, None);
        }
        assert_eq!(search.next(), None);
    }
}

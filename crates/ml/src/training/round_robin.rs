//! Balances families: they take turns, so that each is equally frequent, whatever its number of rows.
//!
//! ```text
//! a round: each family once, shuffled each time    B A C | C A B | A C B ...
//! a family: its own units, reshuffled once all of them were used
//! ```
//!
//! No unit is repeated before all units of its family were used. The unit at an index depends only on the
//! index.

use std::sync::Arc;

use super::permutation::{Permutation, mix64};

/// Families as ranges of units.
#[derive(Clone, Debug)]
pub(crate) struct RoundRobin {
    ends: Arc<[u64]>,
    seed: u64,
    shuffle: bool,
}

impl RoundRobin {
    /// Creates it from the ends of the families; the last one is the number of units. No family is empty.
    pub(super) fn new(ends: Arc<[u64]>, seed: u64, shuffle: bool) -> Self {
        Self {
            ends,
            seed,
            shuffle,
        }
    }

    /// Returns the rounds of an epoch: as many as fit into the number of units, but at least one.
    fn rounds(&self) -> u64 {
        let units = self.ends.last().copied().unwrap_or_default();
        match self.ends.len() as u64 {
            0 => 0,
            families => (units / families).max(1),
        }
    }

    /// Returns the number of units of an epoch.
    pub(super) fn places(&self) -> u64 {
        self.rounds() * self.ends.len() as u64
    }

    /// Returns the unit at an index of an epoch.
    pub(super) fn unit_at(&self, place: u64, epoch: u64) -> u64 {
        let families = (self.ends.len() as u64).max(1);
        let round = epoch
            .wrapping_mul(self.rounds())
            .wrapping_add(place / families);
        let turn = place % families;
        let family = match self.shuffle {
            true => Permutation::new(families, self.seed, round).at(turn),
            false => turn,
        };
        let end_of = |family: u64| {
            let place = usize::try_from(family).unwrap_or(usize::MAX);
            self.ends.get(place).copied().unwrap_or_default()
        };
        let begin = family.checked_sub(1).map_or(0, end_of);
        let size = end_of(family).saturating_sub(begin).max(1);
        let member = match self.shuffle {
            true => {
                let seed = self.seed ^ mix64(family.wrapping_add(1));
                Permutation::new(size, seed, round / size).at(round % size)
            }
            false => round % size,
        };
        begin + member
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// 1, 5 and 20 units.
    fn turns(shuffle: bool) -> RoundRobin {
        RoundRobin::new(Arc::from([1, 6, 26]), 7, shuffle)
    }

    fn epoch(turns: &RoundRobin, epoch: u64) -> Vec<u64> {
        let places = 0..turns.places();
        places.map(|place| turns.unit_at(place, epoch)).collect()
    }

    #[test]
    fn each_family_comes_as_often() {
        for shuffle in [true, false] {
            let turns = turns(shuffle);
            // 26 units of 3 families are 8 rounds.
            assert_eq!(turns.places(), 24);
            let mut counts = BTreeMap::<u64, u64>::new();
            for number in 0..5 {
                let units = epoch(&turns, number);
                for round in units.chunks(3) {
                    let mut families: Vec<_> = round
                        .iter()
                        .map(|unit| (*unit > 0) as u8 + (*unit > 5) as u8)
                        .collect();
                    families.sort_unstable();
                    assert_eq!(families, [0, 1, 2]);
                }
                for unit in units {
                    *counts.entry(unit).or_default() += 1;
                }
            }
            // 40 rounds: the one of the first family each time, those of the second 8 times each, those of the third twice.
            assert_eq!(counts[&0], 40);
            assert!((1..6).all(|unit| counts[&unit] == 8), "{counts:?}");
            assert!((6..26).all(|unit| counts[&unit] == 2), "{counts:?}");
        }
    }

    #[test]
    fn epochs_and_seeds_give_other_orders() {
        let first = epoch(&turns(true), 0);
        assert_eq!(first, epoch(&turns(true), 0));
        assert_ne!(first, epoch(&turns(true), 1));
        assert_ne!(
            first,
            epoch(&RoundRobin::new(Arc::from([1, 6, 26]), 8, true), 0)
        );
        assert_eq!(epoch(&turns(false), 0)[..6], [0, 1, 6, 0, 2, 7]);
    }

    #[test]
    fn none_and_few_are_no_special_case() {
        assert_eq!(RoundRobin::new(Arc::from([]), 0, true).places(), 0);
        let single = RoundRobin::new(Arc::from([1, 2, 3]), 0, true);
        let mut units = epoch(&single, 0);
        units.sort_unstable();
        assert_eq!(units, [0, 1, 2]);
    }
}

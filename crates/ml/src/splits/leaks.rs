//! Counts units that parts of a split share.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::Serialize;

use super::level::LeakLevel;

/// Units of a level, and the units in several parts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Leaks {
    /// The level.
    pub level: LeakLevel,
    /// Description of the shared unit.
    pub shared: &'static str,
    /// Number of units that have records in some part.
    pub unit_count: u64,
    /// Number of units with records in several parts.
    pub leaking_unit_count: u64,
    /// Number of records of valid and test.
    pub held_out_record_count: u64,
    /// Number of held-out records that share a unit with an earlier part: valid with train, test with either.
    pub leaking_record_count: u64,
    /// True if nothing may leak at this level.
    pub is_declared: bool,
}

impl Leaks {
    /// Returns true if anything leaks.
    #[must_use]
    pub fn any(&self) -> bool {
        self.leaking_unit_count > 0
    }
}

/// Records of a unit in train, valid and test.
pub(super) type Counts = [u64; 3];

/// Numbers of units and of leaking units and records of a level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LeakCounts {
    pub(super) units: u64,
    pub(super) leaking_units: u64,
    pub(super) leaking_records: u64,
}

/// Counts leaks between groups of records, each with its units (often one) and its records in each part.
pub(super) fn count_leaks<K: std::hash::Hash + Eq + Ord + Clone>(
    groups: &[(BTreeSet<K>, Counts)],
) -> LeakCounts {
    let mut units: BTreeMap<&K, Counts> = BTreeMap::new();
    for (own, counts) in groups {
        for unit in own {
            let sums = units.entry(unit).or_default();
            for (sum, count) in sums.iter_mut().zip(counts) {
                *sum += count;
            }
        }
    }
    let with_records: HashMap<&K, [bool; 3]> = units
        .into_iter()
        .filter(|(_, counts)| counts.iter().any(|count| *count > 0))
        .map(|(unit, counts)| (unit, counts.map(|count| count > 0)))
        .collect();
    let mut counted = LeakCounts {
        units: with_records.len() as u64,
        ..LeakCounts::default()
    };
    for parts in with_records.values() {
        let several = parts.iter().filter(|has| **has).count() > 1;
        counted.leaking_units += u64::from(several);
    }
    for (own, [_, valid, test]) in groups {
        let known = own.iter().filter_map(|unit| with_records.get(unit));
        let (mut in_train, mut in_valid) = (false, false);
        for [train, valid, _] in known {
            in_train |= train;
            in_valid |= valid;
        }
        if in_train {
            counted.leaking_records += valid;
        }
        if in_train || in_valid {
            counted.leaking_records += test;
        }
    }
    counted
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counted by hand: `a` is in train and test, `b` in valid and test, `c` in test only. One group has both
    /// `c` and `d`, and `d` is in train.
    #[test]
    fn units_in_several_parts_leak_into_later_ones() {
        let groups = [
            (BTreeSet::from(["a"]), [5, 0, 0]),
            (BTreeSet::from(["a"]), [0, 0, 2]),
            (BTreeSet::from(["b"]), [0, 3, 4]),
            (BTreeSet::from(["c"]), [0, 0, 10]),
            (BTreeSet::from(["c", "d"]), [0, 0, 7]),
            (BTreeSet::from(["d"]), [1, 0, 0]),
            (BTreeSet::from(["e"]), [0, 0, 0]),
            (BTreeSet::new(), [9, 9, 9]),
        ];
        assert_eq!(
            count_leaks(&groups),
            LeakCounts {
                units: 4,
                leaking_units: 3,
                leaking_records: 2 + 4 + 7,
            }
        );
    }
}

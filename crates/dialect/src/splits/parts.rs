//! Parts of keys.

use std::collections::{HashMap, HashSet};

use super::definition::{SplitDefinition, StoredKind, StoredPart};
use super::labels::Label;
use super::unit::SplitUnit;
use tsql_error::{Error, Result};
use tsql_functions::part_in_table::NO_PART;
use tsql_functions::part_of_split::{PARTS, Ratios, hash_key};

/// Parts of a split. A part is an index of train, valid and test, or none.
pub(crate) struct SplitParts {
    unit: SplitUnit,
    seed: i64,
    ratios: Ratios,
    held: HashMap<String, u8>,
    members: HashMap<String, String>,
    known: HashSet<String>,
    text: Vec<u8>,
}

impl SplitParts {
    /// Creates the parts of a split version.
    ///
    /// # Errors
    /// [`Error::Damaged`] if its row is invalid.
    pub(crate) fn from_definition(split: &SplitDefinition) -> Result<Self> {
        Self::new(split.unit, &split.ratio, split.seed, &split.stored)
    }

    /// Creates the parts of a definition.
    ///
    /// # Errors
    /// As [`from_definition`](Self::from_definition).
    pub(crate) fn new(
        unit: SplitUnit,
        ratio: &str,
        seed: i64,
        stored: &[StoredPart],
    ) -> Result<Self> {
        let broken = |reason: String| Error::damaged("splits", reason);
        let ratios = Ratios::parse(ratio).map_err(|error| broken(error.to_string()))?;
        let (mut held, mut members, mut known) = (HashMap::new(), HashMap::new(), HashSet::new());
        for one in stored {
            let key = one.key.clone();
            let value = one.value.as_deref().unwrap_or_default();
            match one.kind {
                StoredKind::Held => {
                    let place = part_index(value);
                    let place = place.ok_or_else(|| broken(format!("`{value}` is not a part")))?;
                    held.insert(key, place);
                }
                StoredKind::Member => {
                    members.insert(key, value.to_owned());
                }
                StoredKind::Known => {
                    known.insert(key);
                }
                StoredKind::Cut => {}
            }
        }
        Ok(Self {
            unit,
            seed,
            ratios,
            held,
            members,
            known,
            text: Vec::new(),
        })
    }

    /// Part of a unit by its key.
    pub(crate) fn part_of_key(&mut self, key: &str) -> u8 {
        if let Some(part) = self.held.get(key) {
            return *part;
        }
        let cluster = self.members.get(key).map_or(key, String::as_str);
        let hash = hash_key(&mut self.text, self.seed, self.unit.word(), cluster);
        u8::try_from(self.ratios.part_index(hash)).unwrap_or(NO_PART)
    }

    /// Part of a workload on a target kind. A workload held out without a target kind is held out on all.
    pub(crate) fn part_of_task(&mut self, workload_key: &str, key: &str) -> u8 {
        match self.held.get(workload_key) {
            Some(part) => *part,
            None => self.part_of_key(key),
        }
    }

    /// Part of a graph by its keys: the part of all of them, or none.
    ///
    /// - A held-out network holds out all of its graphs. A network that was added later takes no graphs of earlier
    ///   networks.
    /// - A weak label counts only if it was known when the split was created.
    pub(crate) fn part_of_labels(&mut self, labels: &[Label]) -> u8 {
        if self.unit == SplitUnit::Network {
            let held = labels.iter().filter_map(|label| self.held.get(&label.key));
            let held: Vec<u8> = held.copied().collect();
            if !held.is_empty() {
                return single_part(held);
            }
        }
        let is_known = |label: &&Label| self.known.contains(&label.key);
        let any_known = labels.iter().any(|label| is_known(&label));
        let counting: Vec<&Label> = labels
            .iter()
            .filter(|label| !any_known || is_known(label))
            .filter(|label| !label.is_weak || self.is_stored(&label.key))
            .collect();
        let mut parts = Vec::with_capacity(counting.len());
        for label in counting {
            parts.push(self.part_of_key(&label.key));
        }
        single_part(parts)
    }

    fn is_stored(&self, key: &str) -> bool {
        self.held.contains_key(key) || self.members.contains_key(key)
    }
}

/// The part that all of these share, or none.
fn single_part(parts: Vec<u8>) -> u8 {
    let mut parts = parts.into_iter();
    let first = parts.next().unwrap_or(NO_PART);
    if parts.all(|part| part == first) {
        first
    } else {
        NO_PART
    }
}

/// Index of a part by name.
pub fn part_index(name: &str) -> Option<u8> {
    let place = PARTS.iter().position(|part| *part == name)?;
    u8::try_from(place).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(unit: SplitUnit, stored: &[(StoredKind, &str, &str)]) -> SplitParts {
        let stored = stored.iter().map(|(kind, key, value)| StoredPart {
            kind: *kind,
            key: (*key).to_owned(),
            value: (!value.is_empty()).then(|| (*value).to_owned()),
        });
        let stored: Vec<StoredPart> = stored.collect();
        SplitParts::new(unit, "1/1/1", 0, &stored).unwrap()
    }

    /// Part of a graph with these keys; `~` marks a weak key.
    fn part_name(parts: &mut SplitParts, keys: &str) -> &'static str {
        let labels = keys.split_whitespace().map(|key| Label {
            key: key.trim_start_matches('~').to_owned(),
            is_weak: key.starts_with('~'),
        });
        let labels: Vec<Label> = labels.collect();
        let place = parts.part_of_labels(&labels);
        PARTS.get(usize::from(place)).copied().unwrap_or("none")
    }

    /// Parts by Python's xxhash for `structure`, seed 0 and 1/1/1: a is in test, b in valid, c, d and e in train, f in
    /// test.
    #[test]
    fn a_newcomer_that_would_join_two_parts_is_in_none() {
        let members = [
            (StoredKind::Member, "d", "a"),
            (StoredKind::Member, "a", "a"),
            (StoredKind::Member, "s", "b"),
        ];
        let mut parts = parts(SplitUnit::Structure, &members);
        for (keys, expected) in [
            ("a", "test"),
            ("b", "valid"),
            ("c", "train"),
            // A cluster has the part of its smallest key.
            ("d", "test"),
            ("a d", "test"),
            ("c e", "train"),
            ("c f", "none"),
            ("d f", "test"),
            ("c d", "none"),
            // Weak labels count if they were known.
            ("~s", "valid"),
            ("~t", "none"),
            ("c ~t", "train"),
            ("c ~s", "none"),
            ("b ~s", "valid"),
            ("", "none"),
        ] {
            assert_eq!(part_name(&mut parts, keys), expected, "{keys}");
        }
    }

    /// Parts by Python's xxhash for `network`, seed 0 and 1/1/1: a is in train, b in valid, c in test, d in valid, h in
    /// test.
    #[test]
    fn networks_that_come_later_take_no_graph_from_others() {
        let known = [
            (StoredKind::Known, "a", ""),
            (StoredKind::Known, "b", ""),
            (StoredKind::Known, "c", ""),
            (StoredKind::Held, "c", "train"),
        ];
        let mut parts = parts(SplitUnit::Network, &known);
        for (keys, expected) in [
            ("a", "train"),
            ("a b", "none"),
            ("a h", "train"),
            ("b h", "valid"),
            ("h", "test"),
            ("d h", "none"),
            // A held-out network holds out its graphs.
            ("b c", "train"),
            ("c h", "train"),
        ] {
            assert_eq!(part_name(&mut parts, keys), expected, "{keys}");
        }
    }

    #[test]
    fn a_workload_that_is_held_out_is_so_on_all_targets() {
        let mut parts = parts(
            SplitUnit::Task,
            &[
                (StoredKind::Held, "w", "valid"),
                (StoredKind::Held, "x llvm", "test"),
            ],
        );
        assert_eq!(parts.part_of_task("w", "w llvm"), 1);
        assert_eq!(parts.part_of_task("w", "w cuda"), 1);
        assert_eq!(parts.part_of_task("x", "x llvm"), 2);
        assert_eq!(
            parts.part_of_task("x", "x cuda"),
            parts.part_of_key("x cuda")
        );
    }
}

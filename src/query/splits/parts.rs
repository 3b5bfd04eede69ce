//! Which part a key is in.

use std::collections::{HashMap, HashSet};

use super::definition::{Definition, Kind, Stored};
use super::labels::Label;
use super::unit::SplitUnit;
use crate::error::{Error, Result};
use crate::query::functions::part_in_table::NONE;
use crate::query::functions::part_of_split::{PARTS, Ratios, hash};

/// The parts of a split. A part is its place among train, valid and test, or none.
pub(crate) struct Parts {
    unit: SplitUnit,
    seed: i64,
    ratios: Ratios,
    held: HashMap<String, u8>,
    members: HashMap<String, String>,
    known: HashSet<String>,
    text: Vec<u8>,
}

impl Parts {
    /// Those of a version.
    ///
    /// # Errors
    /// [`Error::Damaged`] where its row is none of a split.
    pub(crate) fn of(split: &Definition) -> Result<Self> {
        Self::new(split.unit, &split.ratio, split.seed, &split.stored)
    }

    /// Those of a definition.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub(crate) fn new(unit: SplitUnit, ratio: &str, seed: i64, stored: &[Stored]) -> Result<Self> {
        let broken = |reason: String| Error::damaged("splits", reason);
        let ratios = Ratios::parse(ratio).map_err(|error| broken(error.to_string()))?;
        let (mut held, mut members, mut known) = (HashMap::new(), HashMap::new(), HashSet::new());
        for one in stored {
            let key = one.key.clone();
            let value = one.value.as_deref().unwrap_or_default();
            match one.kind {
                Kind::Held => {
                    let place = place(value);
                    let place = place.ok_or_else(|| broken(format!("`{value}` is no part")))?;
                    held.insert(key, place);
                }
                Kind::Member => {
                    members.insert(key, value.to_owned());
                }
                Kind::Known => {
                    known.insert(key);
                }
                Kind::Cut => {}
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

    /// The part of a unit by its key.
    pub(crate) fn of_key(&mut self, key: &str) -> u8 {
        if let Some(part) = self.held.get(key) {
            return *part;
        }
        let cluster = self.members.get(key).map_or(key, String::as_str);
        let hash = hash(&mut self.text, self.seed, self.unit.word(), cluster);
        u8::try_from(self.ratios.place(hash)).unwrap_or(NONE)
    }

    /// The part of a workload on a kind of target. What was held out without a kind is held out on all.
    pub(crate) fn of_task(&mut self, workload_key: &str, key: &str) -> u8 {
        match self.held.get(workload_key) {
            Some(part) => *part,
            None => self.of_key(key),
        }
    }

    /// The part of a graph by its keys: that of all of them, or none.
    ///
    /// - A network that is held out takes all of its graphs with it; one that came later takes none of those that earlier
    ///   networks have.
    /// - A weak label counts only where it was known when the split was made.
    pub(crate) fn of_labels(&mut self, labels: &[Label]) -> u8 {
        if self.unit == SplitUnit::Network {
            let held = labels.iter().filter_map(|label| self.held.get(&label.key));
            let held: Vec<u8> = held.copied().collect();
            if !held.is_empty() {
                return only(held);
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
            parts.push(self.of_key(&label.key));
        }
        only(parts)
    }

    fn is_stored(&self, key: &str) -> bool {
        self.held.contains_key(key) || self.members.contains_key(key)
    }
}

/// The one part that all of these are.
fn only(parts: Vec<u8>) -> u8 {
    let mut parts = parts.into_iter();
    let first = parts.next().unwrap_or(NONE);
    if parts.all(|part| part == first) {
        first
    } else {
        NONE
    }
}

/// The place of a part by its name.
pub(crate) fn place(name: &str) -> Option<u8> {
    let place = PARTS.iter().position(|part| *part == name)?;
    u8::try_from(place).ok()
}

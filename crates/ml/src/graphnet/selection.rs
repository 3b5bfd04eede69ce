//! Random selection of the members of a subset, with a seed.
//!
//! The values with the smallest seeded hashes are selected. A selection therefore does not depend on the order of the
//! values, a smaller one with the same seed is a part of a larger one, and most members stay when values are added.

use std::collections::{BTreeMap, BTreeSet};

use tsql_error::{Error, Result};
use twox_hash::XxHash3_64;

/// Prefix of the hash input; another hashing rule needs another number.
const HASH_PREFIX: &[u8] = b"tsql-subset-1\0";

/// Values that are selected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Selection {
    /// All values.
    #[default]
    All,
    /// This number of values.
    Random { count: usize, seed: u64 },
    /// This number of tasks, and up to so many programs of each of them.
    Tasks {
        tasks: usize,
        programs: usize,
        seed: u64,
    },
}

impl Selection {
    /// Number of selected members, or of members per task.
    pub(super) fn count(self) -> Option<usize> {
        match self {
            Self::All => None,
            Self::Random { count, .. }
            | Self::Tasks {
                programs: count, ..
            } => Some(count),
        }
    }

    /// Number of selected tasks.
    pub(super) fn tasks(self) -> Option<usize> {
        match self {
            Self::Tasks { tasks, .. } => Some(tasks),
            _ => None,
        }
    }

    /// Seed of the hashes.
    pub(super) fn seed(self) -> Option<u64> {
        match self {
            Self::All => None,
            Self::Random { seed, .. } | Self::Tasks { seed, .. } => Some(seed),
        }
    }

    /// Selects members of tasks, in ascending order. Without a number of tasks, all members are of one task.
    ///
    /// # Errors
    /// [`Error::Argument`] if there are fewer tasks or values than requested. A task may have fewer programs.
    pub(super) fn select(self, tasks: BTreeMap<String, BTreeSet<String>>) -> Result<Vec<String>> {
        let members: BTreeSet<String> = match self {
            Self::All => tasks.into_values().flatten().collect(),
            Self::Random { count, seed } => {
                let members: BTreeSet<String> = tasks.into_values().flatten().collect();
                require("random", "values", count, members.len())?;
                draw(seed, count, members, String::as_str).collect()
            }
            Self::Tasks {
                tasks: count,
                programs,
                seed,
            } => {
                require("tasks", "tasks", count, tasks.len())?;
                let tasks = draw(seed, count, tasks, |(task, _)| task);
                let members = tasks.flat_map(|(_, all)| draw(seed, programs, all, String::as_str));
                members.collect()
            }
        };
        Ok(members.into_iter().collect())
    }
}

/// Rejects a number of values that is larger than that of the query's.
fn require(name: &'static str, what: &str, count: usize, found: usize) -> Result<()> {
    match count <= found {
        true => Ok(()),
        false => Err(Error::Argument {
            name,
            reason: format!("cannot draw {count} {what}, the query returns {found}"),
        }),
    }
}

/// Draws up to `count` values: those whose names have the smallest hashes.
fn draw<T>(
    seed: u64,
    count: usize,
    values: impl IntoIterator<Item = T>,
    name: impl Fn(&T) -> &str,
) -> impl Iterator<Item = T> {
    let mut values: Vec<T> = values.into_iter().collect();
    // Values are sorted by their names before, which decide between equal hashes.
    values.sort_by_cached_key(|value| draw_hash(seed, name(value)));
    values.into_iter().take(count)
}

/// Hash of a name; the smallest are selected.
fn draw_hash(seed: u64, name: &str) -> u64 {
    let seed = seed.to_le_bytes();
    let text = [HASH_PREFIX, &seed, name.as_bytes()].concat();
    XxHash3_64::oneshot(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(count: usize) -> BTreeSet<String> {
        (0..count).map(|number| format!("path/{number}")).collect()
    }

    /// A hundred of a thousand values, then of a tenth more: only members that a new value has replaced are missing.
    #[test]
    fn members_stay_when_values_are_added() {
        let drawn = |count: usize, seed: u64| -> BTreeSet<String> {
            draw(seed, 100, names(count), String::as_str).collect()
        };
        for seed in 0..20 {
            let (before, after) = (drawn(1000, seed), drawn(1100, seed));
            assert_eq!(after.len(), 100);
            let number = |member: &String| member["path/".len()..].parse::<usize>().unwrap();
            assert!(
                after.difference(&before).all(|new| number(new) >= 1000),
                "{seed}"
            );
            assert!(before.intersection(&after).count() > 80, "{seed}");
        }
    }

    #[test]
    fn a_smaller_selection_is_a_part_of_a_larger_one() {
        let tasks: BTreeMap<String, BTreeSet<String>> = (0..30)
            .map(|task| {
                (
                    format!("task {task}"),
                    (0..50).map(|one| format!("{task}/{one}")).collect(),
                )
            })
            .collect();
        let select = |count, programs, seed| {
            let selection = Selection::Tasks {
                tasks: count,
                programs,
                seed,
            };
            let members = selection.select(tasks.clone()).unwrap();
            members.into_iter().collect::<BTreeSet<String>>()
        };
        for seed in 0..10 {
            let largest = select(20, 40, seed);
            assert_eq!(largest.len(), 800);
            for (count, programs) in [(1, 1), (5, 40), (20, 3), (7, 13)] {
                let smaller = select(count, programs, seed);
                assert_eq!(smaller.len(), count * programs);
                assert!(smaller.is_subset(&largest), "{seed}");
            }
            let of_tasks: BTreeSet<&str> = largest
                .iter()
                .map(|member| member.split_once('/').unwrap().0)
                .collect();
            assert_eq!(of_tasks.len(), 20);
        }
        assert_ne!(select(5, 5, 1), select(5, 5, 2));
        // A task with fewer programs contributes all of them.
        assert_eq!(select(2, 100, 1).len(), 100);
        let too_many = Selection::Tasks {
            tasks: 31,
            programs: 1,
            seed: 1,
        };
        let error = too_many.select(tasks.clone()).unwrap_err().to_string();
        assert!(
            error.contains("cannot draw 31 tasks, the query returns 30"),
            "{error}"
        );
    }
}

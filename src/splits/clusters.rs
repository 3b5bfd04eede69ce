//! Keys that graphs share: each cluster is one unit.

use std::collections::{BTreeMap, BTreeSet};

use crate::query::splits::Label;

/// Clusters of keys: each key with the smallest one of its cluster, which is what the cluster is known by.
pub(super) struct Clusters {
    first: BTreeMap<String, String>,
    weak: BTreeSet<String>,
    sizes: BTreeMap<String, usize>,
}

impl Clusters {
    /// Keys that a graph has together are in one cluster. A key that says what a graph is comes before one that says what it is
    /// like.
    pub(super) fn of<'a>(graphs: impl IntoIterator<Item = &'a Vec<Label>>) -> Self {
        let mut keys: Vec<&Label> = Vec::new();
        let mut place: BTreeMap<&Label, usize> = BTreeMap::new();
        let mut up: Vec<usize> = Vec::new();
        for labels in graphs {
            let mut before: Option<usize> = None;
            for label in labels {
                let own = *place.entry(label).or_insert_with(|| {
                    keys.push(label);
                    up.push(up.len());
                    up.len() - 1
                });
                if let Some(before) = before {
                    let (one, other) = (top(&mut up, own), top(&mut up, before));
                    if let Some(top) = up.get_mut(one) {
                        *top = other;
                    }
                }
                before = Some(own);
            }
        }
        let mut least: BTreeMap<usize, &Label> = BTreeMap::new();
        let tops: Vec<usize> = (0..keys.len()).map(|own| top(&mut up, own)).collect();
        for (key, top) in keys.iter().zip(&tops) {
            let rank = |label: &Label| (label.is_weak, label.key.clone());
            let known = least.entry(*top).or_insert(key);
            if rank(key) < rank(known) {
                *known = key;
            }
        }
        let (mut first, mut weak, mut sizes) = (BTreeMap::new(), BTreeSet::new(), BTreeMap::new());
        for (key, top) in keys.iter().zip(&tops) {
            let Some(least) = least.get(top) else {
                continue;
            };
            first.insert(key.key.clone(), least.key.clone());
            *sizes.entry(least.key.clone()).or_insert(0) += 1;
            if key.is_weak {
                weak.insert(key.key.clone());
            }
        }
        Self { first, weak, sizes }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.sizes.len()
    }

    /// All keys.
    pub(super) fn keys(&self) -> impl Iterator<Item = &String> {
        self.first.keys()
    }

    /// Those whose part does not follow from themselves: keys of clusters of several, and weak ones, each with what its cluster is
    /// known by.
    pub(super) fn members(&self) -> impl Iterator<Item = (&String, &String)> {
        self.first.iter().filter(|(key, first)| {
            let several = self.sizes.get(*first).is_some_and(|size| *size > 1);
            several || self.weak.contains(*key)
        })
    }

    /// All keys of the cluster of a key.
    pub(super) fn with(&self, key: &str) -> Vec<&String> {
        let own = self.first.get(key);
        let own = own.map(|first| self.first.iter().filter(move |(_, other)| *other == first));
        own.into_iter().flatten().map(|(key, _)| key).collect()
    }
}

/// The top of the tree that a place is in, which gets flatter on the way.
fn top(up: &mut [usize], mut place: usize) -> usize {
    while let Some(&above) = up.get(place)
        && above != place
    {
        let next = up.get(above).copied().unwrap_or(above);
        if let Some(own) = up.get_mut(place) {
            *own = next;
        }
        place = above;
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(keys: &[&str]) -> Vec<Label> {
        let label = |key: &&str| Label {
            key: key.trim_start_matches('~').to_owned(),
            is_weak: key.starts_with('~'),
        };
        keys.iter().map(label).collect()
    }

    #[test]
    fn keys_of_one_graph_are_one_cluster_known_by_its_smallest() {
        let graphs = [
            labels(&["d"]),
            labels(&["b", "c"]),
            labels(&["c", "a"]),
            labels(&["~0", "e"]),
            labels(&["~0"]),
            labels(&["~1"]),
        ];
        let clusters = Clusters::of(&graphs);
        assert_eq!(clusters.count(), 4);
        let members: Vec<(&str, &str)> = clusters
            .members()
            .map(|(a, b)| (a.as_str(), b.as_str()))
            .collect();
        assert_eq!(
            members,
            [
                ("0", "e"),
                ("1", "1"),
                ("a", "a"),
                ("b", "a"),
                ("c", "a"),
                ("e", "e")
            ]
        );
        assert_eq!(clusters.with("b"), ["a", "b", "c"]);
        assert_eq!(clusters.with("x"), [""; 0]);
        // Whatever the order.
        let other = Clusters::of(graphs.iter().rev());
        assert_eq!(other.first, clusters.first);
    }
}

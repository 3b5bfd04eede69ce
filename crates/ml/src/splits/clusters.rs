//! Clusters of keys that graphs share; each cluster is one unit.

use std::collections::{BTreeMap, BTreeSet};

use tsql_dialect::splits::Label;

/// Clusters of keys: each key with the smallest key of its cluster, which identifies the cluster.
pub(super) struct Clusters {
    first: BTreeMap<String, String>,
    weak: BTreeSet<String>,
    sizes: BTreeMap<String, usize>,
}

impl Clusters {
    /// Builds clusters: keys of one graph are in one cluster. Keys that identify a graph sort before weak keys,
    /// which describe it.
    pub(super) fn from_graphs<'a>(graphs: impl IntoIterator<Item = &'a Vec<Label>>) -> Self {
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
                    let (one, other) = (find_root(&mut up, own), find_root(&mut up, before));
                    if let Some(top) = up.get_mut(one) {
                        *top = other;
                    }
                }
                before = Some(own);
            }
        }
        let mut least: BTreeMap<usize, &Label> = BTreeMap::new();
        let tops: Vec<usize> = (0..keys.len()).map(|own| find_root(&mut up, own)).collect();
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

    /// Returns the number of clusters.
    pub(super) fn count(&self) -> usize {
        self.sizes.len()
    }

    /// Returns all keys.
    pub(super) fn keys(&self) -> impl Iterator<Item = &String> {
        self.first.keys()
    }

    /// Returns keys whose part does not follow from the key itself, each with the key of its cluster: keys of
    /// clusters of several, and weak keys.
    pub(super) fn members(&self) -> impl Iterator<Item = (&String, &String)> {
        self.first.iter().filter(|(key, first)| {
            let several = self.sizes.get(*first).is_some_and(|size| *size > 1);
            several || self.weak.contains(*key)
        })
    }

    /// Returns all keys of the cluster of a key.
    pub(super) fn keys_with(&self, key: &str) -> Vec<&String> {
        let own = self.first.get(key);
        let own = own.map(|first| self.first.iter().filter(move |(_, other)| *other == first));
        own.into_iter().flatten().map(|(key, _)| key).collect()
    }
}

/// Finds the root of a union-find tree, with path compression.
fn find_root(up: &mut [usize], mut place: usize) -> usize {
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
        let clusters = Clusters::from_graphs(&graphs);
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
        assert_eq!(clusters.keys_with("b"), ["a", "b", "c"]);
        assert_eq!(clusters.keys_with("x"), [""; 0]);
        // Independent of the order.
        let other = Clusters::from_graphs(graphs.iter().rev());
        assert_eq!(other.first, clusters.first);
    }
}

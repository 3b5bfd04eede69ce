//! Undirected adjacency lists of a graph.

use std::collections::VecDeque;

/// Neighbours of each node: its inputs and its consumers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbours {
    /// Start of each node's list, followed by the end of the last list.
    begins: Vec<usize>,
    nodes: Vec<u32>,
}

impl Neighbours {
    /// Builds the lists of a graph with `nodes` nodes.
    ///
    /// # Errors
    /// The edge that names an unknown node.
    pub fn from_edges(nodes: usize, edges: &[(u32, u32)]) -> Result<Self, String> {
        let mut begins = vec![0; nodes + 1];
        for &(user, operand) in edges {
            for node in [user, operand] {
                let counted = begins
                    .get_mut(node as usize + 1)
                    .ok_or_else(|| format!("an edge refers to node {node} of {nodes}"))?;
                *counted += 1;
            }
        }
        let mut sum = 0;
        for begin in &mut begins {
            sum += *begin;
            *begin = sum;
        }
        let mut next = begins.clone();
        let mut all = vec![0; edges.len() * 2];
        for &(user, operand) in edges {
            for (of, other) in [(user, operand), (operand, user)] {
                if let Some(place) = next.get_mut(of as usize)
                    && let Some(slot) = all.get_mut(*place)
                {
                    *slot = other;
                    *place += 1;
                }
            }
        }
        Ok(Self { begins, nodes: all })
    }

    /// Number of nodes.
    pub fn node_count(&self) -> usize {
        self.begins.len() - 1
    }

    /// Neighbours of a node, one for each edge.
    pub fn neighbours_of(&self, node: u32) -> &[u32] {
        let place = node as usize;
        let bounds = self.begins.get(place).zip(self.begins.get(place + 1));
        let own = bounds.and_then(|(begin, end)| self.nodes.get(*begin..*end));
        own.unwrap_or_default()
    }

    /// Breadth-first search: calls `found` with each node that is at most `most` edges away from `from`, and its
    /// distance.
    pub(crate) fn visit_within(&self, from: &[u32], most: u32, mut found: impl FnMut(u32, u32)) {
        let mut seen = vec![false; self.node_count()];
        let mut waiting = VecDeque::new();
        let mut meet = |node: u32, distance: u32, waiting: &mut VecDeque<(u32, u32)>| {
            if let Some(seen) = seen.get_mut(node as usize)
                && !std::mem::replace(seen, true)
            {
                waiting.push_back((node, distance));
            }
        };
        for &node in from {
            meet(node, 0, &mut waiting);
        }
        while let Some((node, distance)) = waiting.pop_front() {
            found(node, distance);
            if distance < most {
                for &other in self.neighbours_of(node) {
                    meet(other, distance + 1, &mut waiting);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_an_edge_are_neighbours() {
        let graph = Neighbours::from_edges(4, &[(1, 0), (2, 0), (2, 1)]).unwrap();
        assert_eq!(graph.neighbours_of(0), [1, 2]);
        assert_eq!(graph.neighbours_of(2), [0, 1]);
        assert_eq!(graph.neighbours_of(3), [0; 0]);
        assert_eq!((graph.node_count(), graph.neighbours_of(9)), (4, &[][..]));
        let wrong = Neighbours::from_edges(2, &[(2, 0)]).unwrap_err();
        assert_eq!(wrong, "an edge refers to node 2 of 2");
        assert_eq!(Neighbours::from_edges(0, &[]).unwrap().node_count(), 0);
    }
}

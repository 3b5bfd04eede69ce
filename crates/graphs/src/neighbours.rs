//! Undirected adjacency lists of a graph.

use std::collections::VecDeque;

/// Neighbours of each node: its inputs and its consumers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbours {
    /// Offset of each node's list, followed by the end of the last list.
    offsets: Vec<usize>,
    nodes: Vec<u32>,
}

impl Neighbours {
    /// Builds the lists of a graph with `nodes` nodes.
    ///
    /// # Errors
    /// The edge that names an unknown node.
    pub fn from_edges(nodes: usize, edges: &[(u32, u32)]) -> Result<Self, String> {
        let mut offsets = vec![0; nodes + 1];
        for &(user, operand) in edges {
            for endpoint in [user, operand] {
                let degree = offsets
                    .get_mut(endpoint as usize + 1)
                    .ok_or_else(|| format!("an edge refers to node {endpoint} of {nodes}"))?;
                *degree += 1;
            }
        }
        let mut sum = 0;
        for offset in &mut offsets {
            sum += *offset;
            *offset = sum;
        }
        let mut next = offsets.clone();
        let mut all = vec![0; edges.len() * 2];
        for &(user, operand) in edges {
            for (node, neighbour) in [(user, operand), (operand, user)] {
                if let Some(next_slot) = next.get_mut(node as usize)
                    && let Some(slot) = all.get_mut(*next_slot)
                {
                    *slot = neighbour;
                    *next_slot += 1;
                }
            }
        }
        Ok(Self {
            offsets,
            nodes: all,
        })
    }

    /// Number of nodes.
    pub fn node_count(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Neighbours of a node, one for each edge.
    pub fn neighbours_of(&self, node: u32) -> &[u32] {
        let index = node as usize;
        let bounds = self.offsets.get(index).zip(self.offsets.get(index + 1));
        let list = bounds.and_then(|(start, end)| self.nodes.get(*start..*end));
        list.unwrap_or_default()
    }

    /// Runs a breadth-first search. Calls `visit` with each node that is at most `max_distance` edges away from
    /// `sources`, and with its distance.
    pub(crate) fn visit_within(
        &self,
        sources: &[u32],
        max_distance: u32,
        mut visit: impl FnMut(u32, u32),
    ) {
        let mut is_visited = vec![false; self.node_count()];
        let mut queue = VecDeque::new();
        let mut enqueue = |node: u32, distance: u32, queue: &mut VecDeque<(u32, u32)>| {
            if let Some(is_visited) = is_visited.get_mut(node as usize)
                && !std::mem::replace(is_visited, true)
            {
                queue.push_back((node, distance));
            }
        };
        for &node in sources {
            enqueue(node, 0, &mut queue);
        }
        while let Some((node, distance)) = queue.pop_front() {
            visit(node, distance);
            if distance < max_distance {
                for &other in self.neighbours_of(node) {
                    enqueue(other, distance + 1, &mut queue);
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

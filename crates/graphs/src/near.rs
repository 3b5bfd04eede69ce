//! Neighbourhood of nodes.

use crate::neighbours::Neighbours;

/// Returns the nodes at most `hops` edges away from any node in `from`, ignoring edge directions and including `from`,
/// in ascending order. Unknown nodes have no neighbourhood.
pub fn nodes_within(graph: &Neighbours, from: &[u32], hops: u32) -> Vec<u32> {
    let mut nodes = Vec::new();
    graph.visit_within(from, hops, |node, _| nodes.push(node));
    nodes.sort_unstable();
    nodes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 0 - 1 - 2 - 3, 1 - 4, and 5 isolated.
    #[test]
    fn each_hop_goes_one_edge_further() {
        let graph = Neighbours::from_edges(6, &[(1, 0), (2, 1), (3, 2), (4, 1)]).unwrap();
        assert_eq!(nodes_within(&graph, &[3], 0), [3]);
        assert_eq!(nodes_within(&graph, &[3], 1), [2, 3]);
        assert_eq!(nodes_within(&graph, &[3], 2), [1, 2, 3]);
        assert_eq!(nodes_within(&graph, &[3], 3), [0, 1, 2, 3, 4]);
        assert_eq!(nodes_within(&graph, &[3], u32::MAX), [0, 1, 2, 3, 4]);
        assert_eq!(nodes_within(&graph, &[5, 0, 5], 1), [0, 1, 5]);
        assert_eq!(nodes_within(&graph, &[77], 1), [0; 0]);
    }
}

//! Nodes around some others.

use crate::neighbours::Neighbours;

/// The nodes that are at most `hops` edges away from one of `from`, whichever way the edges go, themselves included; rising.
/// Nodes that the graph does not have are near to nothing.
pub fn near(graph: &Neighbours, from: &[u32], hops: u32) -> Vec<u32> {
    let mut nodes = Vec::new();
    graph.each_near(from, hops, |node, _| nodes.push(node));
    nodes.sort_unstable();
    nodes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 0 - 1 - 2 - 3, 1 - 4, and 5 by itself.
    #[test]
    fn each_hop_goes_one_edge_further() {
        let graph = Neighbours::of(6, &[(1, 0), (2, 1), (3, 2), (4, 1)]).unwrap();
        assert_eq!(near(&graph, &[3], 0), [3]);
        assert_eq!(near(&graph, &[3], 1), [2, 3]);
        assert_eq!(near(&graph, &[3], 2), [1, 2, 3]);
        assert_eq!(near(&graph, &[3], 3), [0, 1, 2, 3, 4]);
        assert_eq!(near(&graph, &[3], u32::MAX), [0, 1, 2, 3, 4]);
        assert_eq!(near(&graph, &[5, 0, 5], 1), [0, 1, 5]);
        assert_eq!(near(&graph, &[77], 1), [0; 0]);
    }
}

//! Segments of graphs that are too large to train on at once, each with a halo of nearby nodes.
//!
//! As in GST (arXiv 2305.12322; `layout/data.py` of TpuGraphs), a segment is a range of nodes in their order. A network
//! with k layers of message passing needs the halo, all nodes up to k edges away. With it, the segment's own nodes get
//! the same outputs as in the whole graph.

use crate::neighbours::Neighbours;

/// A node of a segment, or of its halo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentNode {
    /// The segment, from 0.
    pub segment: u32,
    /// The node.
    pub node: u32,
    /// Number of edges to the nearest node of the segment: 0 for its own nodes.
    pub distance: u32,
}

/// Splits a graph into the minimum number of segments with at most `max_nodes` nodes each. Their sizes differ by at
/// most one.
///
/// Each segment lists its nodes, then its halo of `halo` edges, by distance and number. Every node is in one segment,
/// and in any number of halos.
pub fn split_into_segments(graph: &Neighbours, max_nodes: u32, halo: u32) -> Vec<SegmentNode> {
    let nodes = graph.node_count();
    let count = nodes.div_ceil((max_nodes as usize).max(1));
    let mut members = Vec::with_capacity(nodes);
    let to_u32 = |index: usize| u32::try_from(index).unwrap_or(u32::MAX);
    for segment in 0..count {
        let (start, end) = (segment * nodes / count, (segment + 1) * nodes / count);
        let own_nodes: Vec<u32> = (to_u32(start)..to_u32(end)).collect();
        let first = members.len();
        graph.visit_within(&own_nodes, halo, |node, distance| {
            members.push(SegmentNode {
                segment: to_u32(segment),
                node,
                distance,
            });
        });
        if let Some(new) = members.get_mut(first..) {
            new.sort_unstable_by_key(|member| (member.distance, member.node));
        }
    }
    members
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes_and_distances(members: &[SegmentNode], segment: u32) -> Vec<(u32, u32)> {
        let segment_members = members.iter().filter(|member| member.segment == segment);
        segment_members
            .map(|member| (member.node, member.distance))
            .collect()
    }

    /// A chain of seven nodes, with an edge from 6 to 0.
    #[test]
    fn halos_hold_all_nodes_within_the_distance() {
        let edges = [(1, 0), (2, 1), (3, 2), (4, 3), (5, 4), (6, 5), (6, 0)];
        let graph = Neighbours::from_edges(7, &edges).unwrap();
        let two = split_into_segments(&graph, 4, 1);
        assert_eq!(
            nodes_and_distances(&two, 0),
            [(0, 0), (1, 0), (2, 0), (3, 1), (6, 1)]
        );
        assert_eq!(
            nodes_and_distances(&two, 1),
            [(3, 0), (4, 0), (5, 0), (6, 0), (0, 1), (2, 1)]
        );
        assert_eq!(nodes_and_distances(&two, 2), []);
        let alone = split_into_segments(&graph, 3, 0);
        assert_eq!(nodes_and_distances(&alone, 0), [(0, 0), (1, 0)]);
        assert_eq!(nodes_and_distances(&alone, 2), [(4, 0), (5, 0), (6, 0)]);
        let full_graph = split_into_segments(&graph, 7, 5);
        assert_eq!(
            (full_graph.len(), nodes_and_distances(&full_graph, 0).len()),
            (7, 7)
        );
        assert_eq!(
            split_into_segments(&Neighbours::from_edges(0, &[]).unwrap(), 5, 1),
            []
        );
    }

    /// k rounds of message passing give a node the same sum in its segment as in the whole graph.
    #[test]
    fn messages_in_segments_are_those_of_the_whole_graph() {
        let mut random = fastrand::Rng::with_seed(5);
        for halo in 0..4 {
            let nodes = 60_u32;
            let edges = (1..nodes).map(|user| (user, random.u32(user.saturating_sub(9)..user)));
            let edges: Vec<(u32, u32)> = edges.collect();
            let graph = Neighbours::from_edges(60, &edges).unwrap();
            let rounds = |is_included: &dyn Fn(u32) -> bool| {
                let mut values: Vec<u64> = (0..60).map(|node| node * node + 1).collect();
                for _ in 0..halo {
                    let summed = (0..nodes).map(|node| {
                        let near = graph
                            .neighbours_of(node)
                            .iter()
                            .filter(|other| is_included(**other));
                        let received: u64 = near.map(|other| values[*other as usize]).sum();
                        values[node as usize].wrapping_mul(3).wrapping_add(received)
                    });
                    values = summed.collect();
                }
                values
            };
            let full_graph = rounds(&|_| true);
            let members = split_into_segments(&graph, 13, halo);
            for segment in 0..5 {
                let segment_members = nodes_and_distances(&members, segment);
                let values = rounds(&|node| segment_members.iter().any(|member| member.0 == node));
                for (node, distance) in segment_members {
                    if distance == 0 {
                        assert_eq!(values[node as usize], full_graph[node as usize]);
                    }
                }
            }
            let owners = members.iter().filter(|member| member.distance == 0);
            assert_eq!(owners.count(), 60);
        }
    }
}

//! Graphs that are larger than what is trained at once: segments, and around each what its nodes hear from.
//!
//! As in GST (arXiv 2305.12322; `layout/data.py` of TpuGraphs) a segment is a range of nodes in their order. A network of k
//! layers of message passing needs all nodes that are up to k edges away, the halo, to say of the segment's own nodes what it
//! says of them in the whole graph.

use crate::neighbours::Neighbours;

/// A node of a segment, or of its halo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// The segment, from 0.
    pub segment: u32,
    /// The node.
    pub node: u32,
    /// How many edges it is away from the segment's own nodes: 0 for these.
    pub distance: u32,
}

/// The segments of a graph: as few as have at most `most` nodes each, of sizes that differ by one at most; each with its nodes,
/// then its halo of `halo` edges, by distance and number. Every node is in one segment, and in any number of halos.
pub fn segments(graph: &Neighbours, most: u32, halo: u32) -> Vec<Member> {
    let nodes = graph.node_count();
    let count = nodes.div_ceil((most as usize).max(1));
    let mut members = Vec::with_capacity(nodes);
    let number = |of: usize| u32::try_from(of).unwrap_or(u32::MAX);
    for segment in 0..count {
        let (begin, end) = (segment * nodes / count, (segment + 1) * nodes / count);
        let own: Vec<u32> = (number(begin)..number(end)).collect();
        let first = members.len();
        graph.each_near(&own, halo, |node, distance| {
            members.push(Member {
                segment: number(segment),
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

    fn told(members: &[Member], segment: u32) -> Vec<(u32, u32)> {
        let own = members.iter().filter(|member| member.segment == segment);
        own.map(|member| (member.node, member.distance)).collect()
    }

    /// A chain of seven, with an edge from 6 to 0.
    #[test]
    fn halos_are_what_the_nodes_hear_from() {
        let edges = [(1, 0), (2, 1), (3, 2), (4, 3), (5, 4), (6, 5), (6, 0)];
        let graph = Neighbours::of(7, &edges).unwrap();
        let two = segments(&graph, 4, 1);
        assert_eq!(told(&two, 0), [(0, 0), (1, 0), (2, 0), (3, 1), (6, 1)]);
        assert_eq!(
            told(&two, 1),
            [(3, 0), (4, 0), (5, 0), (6, 0), (0, 1), (2, 1)]
        );
        assert_eq!(told(&two, 2), []);
        let alone = segments(&graph, 3, 0);
        assert_eq!(told(&alone, 0), [(0, 0), (1, 0)]);
        assert_eq!(told(&alone, 2), [(4, 0), (5, 0), (6, 0)]);
        let whole = segments(&graph, 7, 5);
        assert_eq!((whole.len(), told(&whole, 0).len()), (7, 7));
        assert_eq!(segments(&Neighbours::of(0, &[]).unwrap(), 5, 1), []);
    }

    /// What k rounds of summing say of a node in its segment is what they say in the whole graph.
    #[test]
    fn messages_in_segments_are_those_of_the_whole_graph() {
        let mut random = fastrand::Rng::with_seed(5);
        for halo in 0..4 {
            let nodes = 60_u32;
            let edges = (1..nodes).map(|user| (user, random.u32(user.saturating_sub(9)..user)));
            let edges: Vec<(u32, u32)> = edges.collect();
            let graph = Neighbours::of(60, &edges).unwrap();
            let rounds = |within: &dyn Fn(u32) -> bool| {
                let mut values: Vec<u64> = (0..60).map(|node| node * node + 1).collect();
                for _ in 0..halo {
                    let summed = (0..nodes).map(|node| {
                        let near = graph.of_node(node).iter().filter(|other| within(**other));
                        let heard: u64 = near.map(|other| values[*other as usize]).sum();
                        values[node as usize].wrapping_mul(3).wrapping_add(heard)
                    });
                    values = summed.collect();
                }
                values
            };
            let whole = rounds(&|_| true);
            let members = segments(&graph, 13, halo);
            for segment in 0..5 {
                let own = told(&members, segment);
                let values = rounds(&|node| own.iter().any(|member| member.0 == node));
                for (node, distance) in own {
                    if distance == 0 {
                        assert_eq!(values[node as usize], whole[node as usize]);
                    }
                }
            }
            let own = members.iter().filter(|member| member.distance == 0);
            assert_eq!(own.count(), 60);
        }
    }
}

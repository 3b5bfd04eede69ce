//! Folding of large graphs: consecutive repetitions of a block are drawn once.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};

use super::model::{Edge, Graph, Node};

/// Maximum number of nodes of a block.
const MAX_BLOCK_NODES: usize = 1_024;

/// Minimum number of nodes of a block.
const MIN_BLOCK_NODES: usize = 3;

/// Maximum nesting of blocks.
const MAX_DEPTH: usize = 4;

/// Nodes that represent several repetitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FoldedBlock {
    /// Indices of its nodes in the drawn graph.
    pub(super) nodes: Vec<usize>,
    /// Number of repetitions.
    pub(super) times: usize,
}

/// Folds a graph to at most `most` nodes, if blocks repeat often enough. Returns the graph and the blocks.
pub(super) fn fold_graph(graph: &Graph, most: usize) -> (Graph, Vec<FoldedBlock>) {
    let mut drawn = graph.clone();
    let mut blocks: Vec<FoldedBlock> = Vec::new();
    for _ in 0..MAX_DEPTH {
        if drawn.nodes.len() <= most {
            break;
        }
        let runs = find_runs(&drawn);
        if runs.is_empty() {
            break;
        }
        drawn = fold_runs(&drawn, &runs, &mut blocks);
    }
    if drawn.nodes.len() > most {
        let rest = drawn.nodes.len() - most;
        drawn.nodes.truncate(most);
        drawn
            .edges
            .retain(|edge| edge.from < most && edge.to < most);
        for block in &mut blocks {
            block.nodes.retain(|node| *node < most);
        }
        blocks.retain(|block| !block.nodes.is_empty());
        let rest = crate::chart::group_digits(rest as u64);
        drawn
            .notes
            .push(format!("the last {rest} nodes are not drawn"));
    }
    (drawn, blocks)
}

/// A repeating block: start, number of nodes, number of repetitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct BlockRun {
    start: usize,
    length: usize,
    times: usize,
}

/// Signature of each node: its kind and the distances to its operands.
fn signatures(graph: &Graph) -> Vec<u64> {
    let mut operands: Vec<Vec<usize>> = vec![Vec::new(); graph.nodes.len()];
    for edge in &graph.edges {
        if let Some(of) = operands.get_mut(edge.to) {
            of.push(edge.to.saturating_sub(edge.from));
        }
    }
    let hasher = BuildHasherDefault::<DefaultHasher>::default();
    let nodes = graph.nodes.iter().zip(&mut operands);
    nodes
        .map(|(node, far)| {
            // Only the nearest operand: others are in the previous block or far away.
            let near = far
                .iter()
                .min()
                .copied()
                .filter(|far| *far < MAX_BLOCK_NODES);
            hasher.hash_one((&node.name, &node.detail, far.len(), near))
        })
        .collect()
}

/// Returns runs of adjacent repetitions, in descending order of saved nodes.
fn find_runs(graph: &Graph) -> Vec<BlockRun> {
    let signatures = signatures(graph);
    let count = signatures.len();
    let mut found: Vec<BlockRun> = Vec::new();
    for length in MIN_BLOCK_NODES..=MAX_BLOCK_NODES.min(count / 2) {
        let mut same = 0;
        for place in (0..count - length).rev() {
            let is_same = signatures.get(place) == signatures.get(place + length);
            same = if is_same { same + 1 } else { 0 };
            // The first of a run of equal nodes, because otherwise a longer run begins before it.
            let before = place.checked_sub(1);
            let begins = before
                .is_none_or(|before| signatures.get(before) != signatures.get(before + length));
            if same >= length && begins {
                let times = same / length + 1;
                found.push(BlockRun {
                    start: place,
                    length,
                    times,
                });
            }
        }
    }
    found.sort_by_key(|run| {
        (
            std::cmp::Reverse((run.times - 1) * run.length),
            run.length,
            run.start,
        )
    });
    let mut taken = vec![false; count];
    let mut kept: Vec<BlockRun> = Vec::new();
    for run in found {
        let places = run.start..run.start + run.length * run.times;
        let Some(own) = taken.get_mut(places) else {
            continue;
        };
        if own.iter().all(|taken| !taken) {
            own.fill(true);
            kept.push(run);
        }
    }
    kept.sort_by_key(|run| run.start);
    kept
}

fn fold_runs(graph: &Graph, runs: &[BlockRun], blocks: &mut Vec<FoldedBlock>) -> Graph {
    // For each node the index of the node that represents it.
    let mut drawn_as: Vec<usize> = Vec::with_capacity(graph.nodes.len());
    let mut nodes: Vec<Node> = Vec::new();
    let mut new_blocks: Vec<FoldedBlock> = Vec::new();
    let mut runs = runs.iter().peekable();
    for (place, node) in graph.nodes.iter().enumerate() {
        while runs
            .peek()
            .is_some_and(|run| place >= run.start + run.length * run.times)
        {
            runs.next();
        }
        let within = runs.peek().filter(|run| place >= run.start);
        let copy = within.map(|run| (place - run.start) / run.length);
        if let Some(run) = within.filter(|_| copy > Some(0)) {
            let original = run.start + (place - run.start) % run.length;
            drawn_as.push(drawn_as.get(original).copied().unwrap_or_default());
            continue;
        }
        if let Some(run) = within {
            match new_blocks.last_mut().filter(|_| place > run.start) {
                Some(block) => block.nodes.push(nodes.len()),
                None => new_blocks.push(FoldedBlock {
                    nodes: vec![nodes.len()],
                    times: run.times,
                }),
            }
        }
        drawn_as.push(nodes.len());
        nodes.push(node.clone());
    }
    let at = |place: usize| drawn_as.get(place).copied();
    let mut edges: HashMap<(usize, usize), Edge> = HashMap::new();
    for edge in &graph.edges {
        if let Some((from, to)) = at(edge.from).zip(at(edge.to)) {
            // Edges between repetitions are implied by the block.
            if from < to {
                edges.entry((from, to)).or_insert_with(|| Edge {
                    from,
                    to,
                    label: edge.label.clone(),
                });
            }
        }
    }
    for block in blocks.iter_mut() {
        block.nodes = block.nodes.iter().filter_map(|node| at(*node)).collect();
        block.nodes.sort_unstable();
        block.nodes.dedup();
    }
    blocks.extend(new_blocks);
    let mut edges: Vec<Edge> = edges.into_values().collect();
    edges.sort_by_key(|edge| (edge.from, edge.to));
    Graph {
        nodes,
        edges,
        ..graph.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chain of operations, each of which consumes the previous one.
    fn chain(names: &[&str]) -> Graph {
        let node = |name: &&str| Node {
            name: (*name).to_owned(),
            ..Node::default()
        };
        let edges = (1..names.len()).map(|to| Edge {
            from: to - 1,
            to,
            ..Edge::default()
        });
        Graph {
            nodes: names.iter().map(node).collect(),
            edges: edges.collect(),
            ..Graph::default()
        }
    }

    #[test]
    fn repeated_blocks_are_rendered_once() {
        let mut names = vec!["in"];
        for _ in 0..10 {
            names.extend(["a", "b", "c", "d"]);
        }
        names.push("out");
        let (drawn, blocks) = fold_graph(&chain(&names), 10);
        let kept: Vec<&str> = drawn.nodes.iter().map(|node| node.name.as_str()).collect();
        assert_eq!(kept, ["in", "a", "b", "c", "d", "out"]);
        assert_eq!(
            blocks,
            [FoldedBlock {
                nodes: vec![1, 2, 3, 4],
                times: 10
            }]
        );
        let edges: Vec<(usize, usize)> = drawn
            .edges
            .iter()
            .map(|edge| (edge.from, edge.to))
            .collect();
        assert_eq!(edges, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]);
        let (whole, blocks) = fold_graph(&chain(&names), 100);
        assert_eq!((whole.nodes.len(), blocks.len()), (42, 0));
    }

    #[test]
    fn what_does_not_repeat_is_cut_and_counted() {
        let names: Vec<String> = (0..50).map(|place| format!("n{place}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let (drawn, blocks) = fold_graph(&chain(&names), 20);
        assert_eq!(
            (drawn.nodes.len(), drawn.edges.len(), blocks.len()),
            (20, 19, 0)
        );
        assert_eq!(drawn.notes, ["the last 30 nodes are not drawn"]);
    }
}

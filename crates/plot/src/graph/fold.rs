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

/// Folds a graph to at most `max_nodes` nodes, if blocks repeat often enough. Returns the graph and the blocks.
pub(super) fn fold_graph(graph: &Graph, max_nodes: usize) -> (Graph, Vec<FoldedBlock>) {
    let mut folded = graph.clone();
    let mut blocks: Vec<FoldedBlock> = Vec::new();
    for _ in 0..MAX_DEPTH {
        if folded.nodes.len() <= max_nodes {
            break;
        }
        let runs = find_runs(&folded);
        if runs.is_empty() {
            break;
        }
        folded = fold_runs(&folded, &runs, &mut blocks);
    }
    if folded.nodes.len() > max_nodes {
        let rest = folded.nodes.len() - max_nodes;
        folded.nodes.truncate(max_nodes);
        folded
            .edges
            .retain(|edge| edge.from < max_nodes && edge.to < max_nodes);
        for block in &mut blocks {
            block.nodes.retain(|node| *node < max_nodes);
        }
        blocks.retain(|block| !block.nodes.is_empty());
        let rest = crate::chart::group_digits(rest as u64);
        folded
            .notes
            .push(format!("the last {rest} nodes are not drawn"));
    }
    (folded, blocks)
}

/// A repeating block: start, number of nodes, number of repetitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct BlockRun {
    start: usize,
    length: usize,
    times: usize,
}

/// Signature of each node: name, detail, number of operands, and distance to the nearest operand.
fn signatures(graph: &Graph) -> Vec<u64> {
    let mut operands: Vec<Vec<usize>> = vec![Vec::new(); graph.nodes.len()];
    for edge in &graph.edges {
        if let Some(operand_distances) = operands.get_mut(edge.to) {
            operand_distances.push(edge.to.saturating_sub(edge.from));
        }
    }
    let hasher = BuildHasherDefault::<DefaultHasher>::default();
    let nodes = graph.nodes.iter().zip(&mut operands);
    nodes
        .map(|(node, distances)| {
            // Only the nearest operand: others are in the previous block or far away.
            let near = distances
                .iter()
                .min()
                .copied()
                .filter(|distance| *distance < MAX_BLOCK_NODES);
            hasher.hash_one((&node.name, &node.detail, distances.len(), near))
        })
        .collect()
}

/// Returns runs of adjacent repetitions, in descending order of saved nodes.
fn find_runs(graph: &Graph) -> Vec<BlockRun> {
    let signatures = signatures(graph);
    let count = signatures.len();
    let mut candidates: Vec<BlockRun> = Vec::new();
    for length in MIN_BLOCK_NODES..=MAX_BLOCK_NODES.min(count / 2) {
        let mut same = 0;
        for start in (0..count - length).rev() {
            let is_same = signatures.get(start) == signatures.get(start + length);
            same = if is_same { same + 1 } else { 0 };
            // Only the start of a run counts. Any other position is part of a run that begins earlier.
            let previous = start.checked_sub(1);
            let is_first = previous.is_none_or(|previous| {
                signatures.get(previous) != signatures.get(previous + length)
            });
            if same >= length && is_first {
                let times = same / length + 1;
                candidates.push(BlockRun {
                    start,
                    length,
                    times,
                });
            }
        }
    }
    candidates.sort_by_key(|run| {
        (
            std::cmp::Reverse((run.times - 1) * run.length),
            run.length,
            run.start,
        )
    });
    let mut is_used = vec![false; count];
    let mut selected: Vec<BlockRun> = Vec::new();
    for run in candidates {
        let range = run.start..run.start + run.length * run.times;
        let Some(flags) = is_used.get_mut(range) else {
            continue;
        };
        if flags.iter().all(|used| !used) {
            flags.fill(true);
            selected.push(run);
        }
    }
    selected.sort_by_key(|run| run.start);
    selected
}

fn fold_runs(graph: &Graph, runs: &[BlockRun], blocks: &mut Vec<FoldedBlock>) -> Graph {
    // For each node the index of the node that represents it.
    let mut folded_indices: Vec<usize> = Vec::with_capacity(graph.nodes.len());
    let mut nodes: Vec<Node> = Vec::new();
    let mut new_blocks: Vec<FoldedBlock> = Vec::new();
    let mut runs = runs.iter().peekable();
    for (index, node) in graph.nodes.iter().enumerate() {
        while runs
            .peek()
            .is_some_and(|run| index >= run.start + run.length * run.times)
        {
            runs.next();
        }
        let current_run = runs.peek().filter(|run| index >= run.start);
        let copy = current_run.map(|run| (index - run.start) / run.length);
        if let Some(run) = current_run.filter(|_| copy > Some(0)) {
            let original = run.start + (index - run.start) % run.length;
            folded_indices.push(folded_indices.get(original).copied().unwrap_or_default());
            continue;
        }
        if let Some(run) = current_run {
            match new_blocks.last_mut().filter(|_| index > run.start) {
                Some(block) => block.nodes.push(nodes.len()),
                None => new_blocks.push(FoldedBlock {
                    nodes: vec![nodes.len()],
                    times: run.times,
                }),
            }
        }
        folded_indices.push(nodes.len());
        nodes.push(node.clone());
    }
    let folded_index = |index: usize| folded_indices.get(index).copied();
    let mut edges: HashMap<(usize, usize), Edge> = HashMap::new();
    for edge in &graph.edges {
        if let Some((from, to)) = folded_index(edge.from).zip(folded_index(edge.to)) {
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
        block.nodes = block
            .nodes
            .iter()
            .filter_map(|node| folded_index(*node))
            .collect();
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
        let (folded, blocks) = fold_graph(&chain(&names), 10);
        let names_drawn: Vec<&str> = folded.nodes.iter().map(|node| node.name.as_str()).collect();
        assert_eq!(names_drawn, ["in", "a", "b", "c", "d", "out"]);
        assert_eq!(
            blocks,
            [FoldedBlock {
                nodes: vec![1, 2, 3, 4],
                times: 10
            }]
        );
        let edges: Vec<(usize, usize)> = folded
            .edges
            .iter()
            .map(|edge| (edge.from, edge.to))
            .collect();
        assert_eq!(edges, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]);
        let (unfolded, blocks) = fold_graph(&chain(&names), 100);
        assert_eq!((unfolded.nodes.len(), blocks.len()), (42, 0));
    }

    #[test]
    fn graphs_without_repetitions_are_truncated_with_a_note() {
        let names: Vec<String> = (0..50).map(|index| format!("n{index}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let (folded, blocks) = fold_graph(&chain(&names), 20);
        assert_eq!(
            (folded.nodes.len(), folded.edges.len(), blocks.len()),
            (20, 19, 0)
        );
        assert_eq!(folded.notes, ["the last 30 nodes are not drawn"]);
    }
}

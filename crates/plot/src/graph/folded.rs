//! Large graphs made small: blocks that repeat one after the other are drawn once.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};

use super::model::{Edge, Graph, Node};

/// Nodes of a block at most that is looked for.
const LONGEST: usize = 1_024;

/// Nodes of a block at least.
const SHORTEST: usize = 3;

/// Blocks within blocks.
const DEPTH: usize = 4;

/// Nodes that stand for several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// Places of its nodes in the graph that is drawn.
    pub(super) nodes: Vec<usize>,
    /// How often it is there.
    pub(super) times: usize,
}

/// The graph with no more than `most` nodes, if blocks repeat so often, and the blocks.
pub(super) fn folded(graph: &Graph, most: usize) -> (Graph, Vec<Block>) {
    let mut drawn = graph.clone();
    let mut blocks: Vec<Block> = Vec::new();
    for _ in 0..DEPTH {
        if drawn.nodes.len() <= most {
            break;
        }
        let runs = runs(&drawn);
        if runs.is_empty() {
            break;
        }
        drawn = fold(&drawn, &runs, &mut blocks);
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
        let rest = crate::chart::grouped(rest as u64);
        drawn
            .notes
            .push(format!("{rest} nodes more, the last ones, are not drawn"));
    }
    (drawn, blocks)
}

/// A block that repeats: where it begins, its nodes, and how often it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    start: usize,
    length: usize,
    times: usize,
}

/// What a node is, and from how far its operands come.
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
            // The nearest operand only: others come from the block before, or from far away.
            let near = far.iter().min().copied().filter(|far| *far < LONGEST);
            hasher.hash_one((&node.name, &node.detail, far.len(), near))
        })
        .collect()
}

/// Runs that lie beside each other, those that save most first.
fn runs(graph: &Graph) -> Vec<Run> {
    let signatures = signatures(graph);
    let count = signatures.len();
    let mut found: Vec<Run> = Vec::new();
    for length in SHORTEST..=LONGEST.min(count / 2) {
        let mut same = 0;
        for place in (0..count - length).rev() {
            let is_same = signatures.get(place) == signatures.get(place + length);
            same = if is_same { same + 1 } else { 0 };
            // The first of a run of equal nodes: a longer one begins before it otherwise.
            let before = place.checked_sub(1);
            let begins = before
                .is_none_or(|before| signatures.get(before) != signatures.get(before + length));
            if same >= length && begins {
                let times = same / length + 1;
                found.push(Run {
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
    let mut kept: Vec<Run> = Vec::new();
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

fn fold(graph: &Graph, runs: &[Run], blocks: &mut Vec<Block>) -> Graph {
    // For each node the one that is drawn, by its place among those.
    let mut drawn_as: Vec<usize> = Vec::with_capacity(graph.nodes.len());
    let mut nodes: Vec<Node> = Vec::new();
    let mut new_blocks: Vec<Block> = Vec::new();
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
                None => new_blocks.push(Block {
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
            // From one repetition to the next: the block says that it repeats.
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

    /// A chain of operations, each on the one before.
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
    fn blocks_that_repeat_are_drawn_once() {
        let mut names = vec!["in"];
        for _ in 0..10 {
            names.extend(["a", "b", "c", "d"]);
        }
        names.push("out");
        let (drawn, blocks) = folded(&chain(&names), 10);
        let kept: Vec<&str> = drawn.nodes.iter().map(|node| node.name.as_str()).collect();
        assert_eq!(kept, ["in", "a", "b", "c", "d", "out"]);
        assert_eq!(
            blocks,
            [Block {
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
        let (whole, blocks) = folded(&chain(&names), 100);
        assert_eq!((whole.nodes.len(), blocks.len()), (42, 0));
    }

    #[test]
    fn what_does_not_repeat_is_cut_and_counted() {
        let names: Vec<String> = (0..50).map(|place| format!("n{place}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let (drawn, blocks) = folded(&chain(&names), 20);
        assert_eq!(
            (drawn.nodes.len(), drawn.edges.len(), blocks.len()),
            (20, 19, 0)
        );
        assert_eq!(drawn.notes, ["30 nodes more, the last ones, are not drawn"]);
    }
}

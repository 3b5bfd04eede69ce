//! Repeated blocks of a graph, such as the layers of a network.
//!
//! A block is a run of consecutive nodes, in the graph's order, that occurs at least twice without overlap:
//!
//! - The nodes of each occurrence have the same kinds in the same order.
//! - Inputs from within the run are the same in each occurrence. Inputs from outside are at the same positions,
//!   whatever their source.
//!
//! The search is greedy. It selects the block that saves most nodes if each block is stored once. Ties are broken by
//! the number of occurrences (most), the number of inputs from outside (fewest) and the start (last, because a layer
//! ends where its chain ends).
//! Blocks have no nodes in common. The repeats are maximal: a run can neither be extended nor get more occurrences
//! without losing nodes.

mod repeats;
mod suffixes;

use std::collections::{BTreeSet, HashMap};
use std::hash::Hasher as _;

use twox_hash::XxHash3_64;

use repeats::{Repeat, find_repeats};

/// Input of a node: the producing node and the index of its output; `None` for an input from outside of the graph.
pub type NodeInput = Option<(u32, u32)>;

/// Maximum number of candidates that are compared by their inputs from outside if they are equal otherwise.
const MAX_TIED_CANDIDATES: usize = 256;

/// A repeated run of nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Number of nodes in the run.
    pub length: u32,
    /// First node of each occurrence, in ascending order.
    pub starts: Vec<u32>,
    /// Number of values from outside nodes that an occurrence consumes; the maximum over the occurrences.
    pub inputs: u32,
    /// Hash of kinds and inner inputs: equal for the same block in any graph.
    pub hash: u64,
}

impl Block {
    /// Number of nodes in all occurrences but one: the nodes saved if the block is stored once.
    pub fn saved_nodes(&self) -> u64 {
        u64::from(self.length) * (self.starts.len() as u64).saturating_sub(1)
    }
}

/// Finds the repeated blocks of a graph, in greedy order: blocks that save most nodes first.
///
/// Each run has at least `min_length` nodes. `kinds` holds equal numbers for equal nodes, `uses` the inputs of each
/// node in order.
pub fn find_blocks(kinds: &[u64], uses: &[Vec<NodeInput>], min_length: u32) -> Vec<Block> {
    let mut symbols = dense_codes(kinds);
    let mut blocks = Vec::new();
    let min_length = (min_length as usize).max(1);
    while let Some(block) = best_block(&symbols, kinds, uses, min_length) {
        for &start in &block.starts {
            let first = start as usize;
            for position in first..first + block.length as usize {
                // The symbol is unique, so that no run includes this node.
                if let Some(symbol) = symbols.get_mut(position) {
                    *symbol = u32::try_from(kinds.len() + position).unwrap_or(u32::MAX);
                }
            }
        }
        blocks.push(block);
    }
    blocks
}

/// Maps kinds to small consecutive numbers.
fn dense_codes(kinds: &[u64]) -> Vec<u32> {
    let mut codes = HashMap::new();
    let code_of = |kind: &u64| {
        let next = u32::try_from(codes.len()).unwrap_or(u32::MAX);
        *codes.entry(*kind).or_insert(next)
    };
    kinds.iter().map(code_of).collect()
}

/// Quality of a block: greater is better.
type Rank = (u64, usize, std::cmp::Reverse<u32>, u32);

fn rank(block: &Block) -> Rank {
    let first = block.starts.first().copied().unwrap_or_default();
    (
        block.saved_nodes(),
        block.starts.len(),
        std::cmp::Reverse(block.inputs),
        first,
    )
}

fn best_block(
    symbols: &[u32],
    kinds: &[u64],
    uses: &[Vec<NodeInput>],
    min_length: usize,
) -> Option<Block> {
    let mut best: Option<Block> = None;
    let mut tied_count = 0;
    for repeat in find_repeats(symbols, min_length) {
        let bound = (repeat.saved_symbols(), repeat.starts.len());
        if let Some(best) = &best {
            let best_bound = (best.saved_nodes(), best.starts.len());
            // Repeats are sorted by their upper bound.
            if bound < best_bound || tied_count >= MAX_TIED_CANDIDATES {
                break;
            }
            tied_count += usize::from(bound == best_bound);
        }
        let Some(block) = matching_occurrences(&repeat, kinds, uses) else {
            continue;
        };
        if best.as_ref().is_none_or(|best| rank(best) < rank(&block)) {
            best = Some(block);
        }
    }
    best
}

/// Returns the occurrences of a repeat with equal inner inputs: the largest such set.
fn matching_occurrences(repeat: &Repeat, kinds: &[u64], uses: &[Vec<NodeInput>]) -> Option<Block> {
    let mut sets: Vec<(u64, Vec<u32>, u32)> = Vec::new();
    for &start in &repeat.starts {
        let (hash, inputs) = run_shape(start, repeat.length, kinds, uses);
        match sets.iter_mut().find(|(set_hash, ..)| *set_hash == hash) {
            Some((_, starts, max_inputs)) => {
                starts.push(start);
                *max_inputs = inputs.max(*max_inputs);
            }
            None => sets.push((hash, vec![start], inputs)),
        }
    }
    // The first one of the largest sets.
    let (hash, starts, inputs) = sets
        .into_iter()
        .rev()
        .max_by_key(|(_, starts, _)| starts.len())?;
    (starts.len() > 1).then(|| Block {
        length: u32::try_from(repeat.length).unwrap_or(u32::MAX),
        starts,
        inputs,
        hash,
    })
}

/// Returns the hash of the kinds and inner inputs of a run, and the number of values that it consumes from other nodes.
fn run_shape(start: u32, length: usize, kinds: &[u64], uses: &[Vec<NodeInput>]) -> (u64, u32) {
    let first = start as usize;
    let mut hash = XxHash3_64::new();
    let mut outside = BTreeSet::new();
    let nodes = kinds.iter().zip(uses).skip(first).take(length);
    for (kind, uses) in nodes {
        hash.write_u64(*kind);
        hash.write_u64(uses.len() as u64);
        for input in uses {
            match input {
                Some((node, output)) if (first..first + length).contains(&(*node as usize)) => {
                    hash.write_u64(u64::from(node - start) + 1);
                    hash.write_u32(*output);
                }
                Some(input) => {
                    outside.insert(*input);
                    hash.write_u64(0);
                }
                None => hash.write_u64(0),
            }
        }
    }
    (
        hash.finish(),
        u32::try_from(outside.len()).unwrap_or(u32::MAX),
    )
}

#[cfg(test)]
mod tests;

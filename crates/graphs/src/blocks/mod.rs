//! Blocks of a graph: runs of nodes that it repeats, as a network repeats its layers.
//!
//! A block is a run of nodes that follow each other in the graph's order, and occurs at least twice without overlap:
//!
//! - the nodes of each occurrence have the same kinds in the same order;
//! - what they consume of nodes of the run is the same in each; what comes from outside does so in each, from wherever.
//!
//! Blocks are found one after the other: the one that saves most nodes, if its nodes were told once for all occurrences, of several such the
//! one that occurs most often, then the one that takes fewest values from outside, then the one that begins last: layers end where their chain does.
//! Nodes of a block are in no other. A run cannot be made longer or found in more
//! places without losing nodes: the repeats are maximal.

mod repeats;
mod suffixes;

use std::collections::{BTreeSet, HashMap};
use std::hash::Hasher as _;

use twox_hash::XxHash3_64;

use repeats::{Repeat, repeats};

/// What a node consumes: the node that gives it, and which of its outputs; nothing for what comes from outside of the graph.
pub type Use = Option<(u32, u32)>;

/// Candidates that are equal but for what they take from outside, of which the best one is looked for.
const EQUAL_AT_MOST: usize = 256;

/// A run of nodes that a graph repeats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Nodes of the run.
    pub length: u32,
    /// The first node of each occurrence, rising.
    pub starts: Vec<u32>,
    /// Values of nodes outside that an occurrence consumes; of several occurrences the most.
    pub inputs: u32,
    /// Hash of kinds and inner uses: the same for the same block in any graph.
    pub hash: u64,
}

impl Block {
    /// Nodes of all occurrences but one: what is saved where a block is told once.
    pub fn saved(&self) -> u64 {
        u64::from(self.length) * (self.starts.len() as u64).saturating_sub(1)
    }
}

/// The blocks of a graph, in the order in which they are found: those that save most nodes first. Each run has at least `least` nodes.
/// `kinds` says which nodes are alike, `uses` what each consumes, in order.
pub fn blocks(kinds: &[u64], uses: &[Vec<Use>], least: u32) -> Vec<Block> {
    let mut letters = letters(kinds);
    let mut found = Vec::new();
    let least = (least as usize).max(1);
    while let Some(block) = best(&letters, kinds, uses, least) {
        for &start in &block.starts {
            let begin = start as usize;
            for place in begin..begin + block.length as usize {
                // No other node has this letter.
                if let Some(letter) = letters.get_mut(place) {
                    *letter = u32::try_from(kinds.len() + place).unwrap_or(u32::MAX);
                }
            }
        }
        found.push(block);
    }
    found
}

/// Small numbers for kinds.
fn letters(kinds: &[u64]) -> Vec<u32> {
    let mut known = HashMap::new();
    let number = |kind: &u64| {
        let next = u32::try_from(known.len()).unwrap_or(u32::MAX);
        *known.entry(*kind).or_insert(next)
    };
    kinds.iter().map(number).collect()
}

/// How good a block is: greater is better.
type Rank = (u64, usize, std::cmp::Reverse<u32>, u32);

fn rank(block: &Block) -> Rank {
    let first = block.starts.first().copied().unwrap_or_default();
    (
        block.saved(),
        block.starts.len(),
        std::cmp::Reverse(block.inputs),
        first,
    )
}

fn best(letters: &[u32], kinds: &[u64], uses: &[Vec<Use>], least: usize) -> Option<Block> {
    let mut best: Option<Block> = None;
    let mut equal = 0;
    for repeat in repeats(letters, least) {
        let bound = (repeat.saved(), repeat.starts.len());
        if let Some(best) = &best {
            let own = (best.saved(), best.starts.len());
            // Repeats come by what they can be at most.
            if bound < own || equal >= EQUAL_AT_MOST {
                break;
            }
            equal += usize::from(bound == own);
        }
        let Some(block) = alike(&repeat, kinds, uses) else {
            continue;
        };
        if best.as_ref().is_none_or(|best| rank(best) < rank(&block)) {
            best = Some(block);
        }
    }
    best
}

/// The occurrences of a repeat whose inner uses are the same: of several sets of such the largest one.
fn alike(repeat: &Repeat, kinds: &[u64], uses: &[Vec<Use>]) -> Option<Block> {
    let mut sets: Vec<(u64, Vec<u32>, u32)> = Vec::new();
    for &start in &repeat.starts {
        let (hash, inputs) = shape(start, repeat.length, kinds, uses);
        match sets.iter_mut().find(|(known, ..)| *known == hash) {
            Some((_, starts, most)) => {
                starts.push(start);
                *most = inputs.max(*most);
            }
            None => sets.push((hash, vec![start], inputs)),
        }
    }
    // The first of the largest ones.
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

/// Hash of kinds and inner uses of a run, and how many values of other nodes it consumes.
fn shape(start: u32, length: usize, kinds: &[u64], uses: &[Vec<Use>]) -> (u64, u32) {
    let begin = start as usize;
    let mut hash = XxHash3_64::new();
    let mut outside = BTreeSet::new();
    let nodes = kinds.iter().zip(uses).skip(begin).take(length);
    for (kind, uses) in nodes {
        hash.write_u64(*kind);
        hash.write_u64(uses.len() as u64);
        for of_node in uses {
            match of_node {
                Some((node, output)) if (begin..begin + length).contains(&(*node as usize)) => {
                    hash.write_u64(u64::from(node - start) + 1);
                    hash.write_u32(*output);
                }
                Some(of_node) => {
                    outside.insert(*of_node);
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

//! Bounded walks over untrusted graphs.

use std::collections::HashMap;

use ahash::RandomState;

use super::error::Error;
use super::graph::TvmGraph;

/// Number of walks over the whole graph in the budget.
const WALKS: u64 = 16;

/// Additional steps for small graphs.
const FREE_STEPS: u64 = 1 << 16;

/// Step budget of all walks over a graph.
///
/// The operations of a genuine graph have almost no nodes in common, so one walk per operation costs about as much as
/// one walk over the whole graph. If all operations had all nodes in common, the cost would be quadratic.
#[derive(Debug)]
pub struct StepBudget {
    remaining: u64,
}

impl StepBudget {
    /// Creates the budget of walks over this graph.
    pub fn for_graph(graph: &TvmGraph) -> Self {
        let remaining = graph.size().saturating_mul(WALKS);
        Self {
            remaining: remaining.saturating_add(FREE_STEPS),
        }
    }

    /// Subtracts `steps`.
    ///
    /// # Errors
    /// Returns an error if fewer steps remain.
    pub fn take(&mut self, steps: u64) -> Result<(), Error> {
        let remaining = self.remaining.checked_sub(steps);
        self.remaining =
            remaining.ok_or_else(|| Error::wrong("the graph shares nodes too often"))?;
        Ok(())
    }
}

/// Node on the current path.
struct OpenNode {
    index: usize,
    children: std::vec::IntoIter<usize>,
}

/// Returns the nodes reachable from `starts` by `children` in post-order: each once, after all nodes that it leads to.
///
/// # Errors
/// Returns errors of `children`, and an error for a cycle or an exhausted budget.
pub fn post_order(
    starts: &[usize],
    mut children: impl FnMut(usize) -> Result<Vec<usize>, Error>,
    budget: &mut StepBudget,
) -> Result<Vec<usize>, Error> {
    let mut order = Vec::new();
    // Maps each visited node to whether it is finished.
    let mut is_finished: HashMap<usize, bool, RandomState> = HashMap::default();
    let mut path: Vec<OpenNode> = Vec::new();
    for &start in starts {
        let mut next = Some(start);
        loop {
            if let Some(index) = next.take() {
                match is_finished.get(&index) {
                    Some(true) => {}
                    Some(false) => {
                        return Err(Error::wrong(format!("node {index} is part of a cycle")));
                    }
                    None => {
                        let children = children(index)?;
                        budget.take(1 + children.len() as u64)?;
                        is_finished.insert(index, false);
                        let children = children.into_iter();
                        path.push(OpenNode { index, children });
                    }
                }
            }
            let Some(open) = path.last_mut() else {
                break;
            };
            next = open.children.next();
            if next.is_none() {
                is_finished.insert(open.index, true);
                order.push(open.index);
                path.pop();
            }
        }
    }
    Ok(order)
}

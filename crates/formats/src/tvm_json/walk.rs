//! Bounded walks over untrusted graphs.

use std::collections::HashMap;

use ahash::RandomState;

use super::error::Error;
use super::graph::TvmGraph;

/// Number of walks over the whole graph in the budget.
const WALKS: u64 = 16;

/// Additional steps for small graphs.
const FREE_STEPS: u64 = 1 << 16;

/// Step budget shared by all walks over a graph.
///
/// The operations of a genuine graph share almost nothing, so walks over each of them cost about one walk over the
/// whole graph. If each operation shared everything with all others, the cost would be quadratic.
#[derive(Debug)]
pub struct StepBudget {
    left: u64,
}

impl StepBudget {
    /// Creates the budget of walks over this graph.
    pub fn for_graph(graph: &TvmGraph) -> Self {
        let left = graph.size().saturating_mul(WALKS);
        Self {
            left: left.saturating_add(FREE_STEPS),
        }
    }

    /// Subtracts `steps`.
    ///
    /// # Errors
    /// Returns an error if fewer steps remain.
    pub fn take(&mut self, steps: u64) -> Result<(), Error> {
        let left = self.left.checked_sub(steps);
        self.left = left.ok_or_else(|| Error::wrong("the graph shares nodes too often"))?;
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
    // Maps visited nodes to whether they are finished.
    let mut reached: HashMap<usize, bool, RandomState> = HashMap::default();
    let mut way: Vec<OpenNode> = Vec::new();
    for &start in starts {
        let mut next = Some(start);
        loop {
            if let Some(index) = next.take() {
                match reached.get(&index) {
                    Some(true) => {}
                    Some(false) => {
                        return Err(Error::wrong(format!("node {index} is part of a cycle")));
                    }
                    None => {
                        let children = children(index)?;
                        budget.take(1 + children.len() as u64)?;
                        reached.insert(index, false);
                        let children = children.into_iter();
                        way.push(OpenNode { index, children });
                    }
                }
            }
            let Some(open) = way.last_mut() else {
                break;
            };
            next = open.children.next();
            if next.is_none() {
                reached.insert(open.index, true);
                order.push(open.index);
                way.pop();
            }
        }
    }
    Ok(order)
}

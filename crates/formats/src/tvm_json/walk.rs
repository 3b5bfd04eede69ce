//! Walks over graphs that nobody vouches for.

use std::collections::HashMap;

use ahash::RandomState;

use super::error::Error;
use super::graph::Graph;

/// How many times a walk over all of the graph fits into the budget of one.
const WALKS: u64 = 16;

/// Steps that a small graph has anyway.
const FREE_STEPS: u64 = 1 << 16;

/// Steps that all walks over a graph may take together.
///
/// Operations of a genuine graph share next to nothing, so walks over each of them come to about one over all of
/// it. One where each shares everything with all others would take its size squared.
#[derive(Debug)]
pub struct Budget {
    left: u64,
}

impl Budget {
    /// What walks over this graph may take.
    pub fn of(graph: &Graph) -> Self {
        let left = graph.size().saturating_mul(WALKS);
        Self {
            left: left.saturating_add(FREE_STEPS),
        }
    }

    /// Takes so many steps.
    ///
    /// # Errors
    /// They are not left.
    pub fn take(&mut self, steps: u64) -> Result<(), Error> {
        let left = self.left.checked_sub(steps);
        self.left =
            left.ok_or_else(|| Error::wrong("its nodes share so much that walks never end"))?;
        Ok(())
    }
}

/// A node on the way.
struct Open {
    index: usize,
    children: std::vec::IntoIter<usize>,
}

/// The places that are reached from some by `children`, each once and after all that it leads to itself.
///
/// # Errors
/// Those of `children`; a node that leads back to itself; a budget that is used up.
pub fn post_order(
    starts: &[usize],
    mut children: impl FnMut(usize) -> Result<Vec<usize>, Error>,
    budget: &mut Budget,
) -> Result<Vec<usize>, Error> {
    let mut order = Vec::new();
    // Whether a place that was reached is done.
    let mut reached: HashMap<usize, bool, RandomState> = HashMap::default();
    let mut way: Vec<Open> = Vec::new();
    for &start in starts {
        let mut next = Some(start);
        loop {
            if let Some(index) = next.take() {
                match reached.get(&index) {
                    Some(true) => {}
                    Some(false) => {
                        return Err(Error::wrong(format!("node {index} leads back to itself")));
                    }
                    None => {
                        let children = children(index)?;
                        budget.take(1 + children.len() as u64)?;
                        reached.insert(index, false);
                        let children = children.into_iter();
                        way.push(Open { index, children });
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

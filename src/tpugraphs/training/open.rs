//! The files that are open: as many as there may be, those that were opened first going first.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::TrainingGraph;
use super::step::GraphArrays;
use crate::error::Result;

/// Arrays of graphs that are kept although no step has them: 8 MB each, of a graph of 14,000 nodes.
const ARRAYS: usize = 4;

/// A file that was read.
#[derive(Debug)]
pub(super) struct OpenGraph {
    /// Its place among the files of the selection.
    pub(super) file: usize,
    pub(super) graph: TrainingGraph,
    arrays: Mutex<Weak<GraphArrays>>,
}

impl OpenGraph {
    pub(super) fn new(file: usize, graph: TrainingGraph) -> Self {
        Self {
            file,
            graph,
            arrays: Mutex::default(),
        }
    }
}

/// Files that were read.
#[derive(Debug)]
pub(super) struct Open {
    most_graphs: usize,
    most_samples: u64,
    /// How many were put there, whether they still are or not.
    opened: usize,
    /// The one that was opened first in front.
    graphs: VecDeque<Arc<OpenGraph>>,
}

impl Open {
    pub(super) fn new(most_graphs: usize, most_samples: u64) -> Self {
        Self {
            most_graphs,
            most_samples,
            opened: 0,
            graphs: VecDeque::new(),
        }
    }

    pub(super) fn opened(&self) -> usize {
        self.opened
    }

    pub(super) fn find(&self, file: usize) -> Option<Arc<OpenGraph>> {
        let found = self.graphs.iter().find(|one| one.file == file);
        found.map(Arc::clone)
    }

    /// Puts graphs beside those that there are, or in the place of the first ones.
    pub(super) fn put(&mut self, graphs: Vec<Arc<OpenGraph>>) {
        self.opened += graphs.len();
        self.graphs.extend(graphs);
        let samples = |one: &Arc<OpenGraph>| one.graph.sample_count() as u64;
        let mut sum: u64 = self.graphs.iter().map(samples).sum();
        while self.graphs.len() > 1
            && (self.graphs.len() > self.most_graphs || sum > self.most_samples)
        {
            let first = self.graphs.pop_front();
            sum -= first.as_ref().map_or(0, samples);
        }
    }
}

/// The arrays of graphs that steps have, or that had some not long ago.
#[derive(Debug, Default)]
pub(super) struct Arrays(Mutex<VecDeque<Arc<GraphArrays>>>);

impl Arrays {
    /// Those of a graph: made once as long as anybody has them.
    pub(super) fn of(&self, open: &OpenGraph) -> Result<Arc<GraphArrays>> {
        let mut known = open.arrays.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(arrays) = known.upgrade() {
            return Ok(arrays);
        }
        let arrays = Arc::new(open.graph.arrays()?);
        *known = Arc::downgrade(&arrays);
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push_back(Arc::clone(&arrays));
        if kept.len() > ARRAYS {
            kept.pop_front();
        }
        Ok(arrays)
    }
}

//! Open files: a bounded number, evicted in the order of opening.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tsql_error::Result;

use super::TrainingGraph;
use super::step::GraphArrays;

/// Number of graph arrays that stay cached without a step that uses them: 8 MB each for a graph of 14,000
/// nodes.
const ARRAYS: usize = 4;

/// An open file.
#[derive(Debug)]
pub(super) struct OpenGraph {
    /// Index among the files of the selection.
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

/// Open files.
#[derive(Debug)]
pub(super) struct OpenGraphs {
    most_graphs: usize,
    most_samples: u64,
    /// Number of files opened so far, including evicted ones.
    opened: usize,
    /// Oldest file first.
    graphs: VecDeque<Arc<OpenGraph>>,
}

impl OpenGraphs {
    pub(super) fn new(most_graphs: usize, most_samples: u64) -> Self {
        Self {
            most_graphs,
            most_samples,
            opened: 0,
            graphs: VecDeque::new(),
        }
    }

    pub(super) fn opened_count(&self) -> usize {
        self.opened
    }

    pub(super) fn find(&self, file: usize) -> Option<Arc<OpenGraph>> {
        let found = self.graphs.iter().find(|one| one.file == file);
        found.map(Arc::clone)
    }

    /// Adds graphs, and evicts the oldest ones.
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

/// Arrays of graphs that steps use, or used recently.
#[derive(Debug, Default)]
pub(super) struct ArrayCache(Mutex<VecDeque<Arc<GraphArrays>>>);

impl ArrayCache {
    /// Returns the arrays of a graph, computed once while any step uses them.
    pub(super) fn for_graph(&self, open: &OpenGraph) -> Result<Arc<GraphArrays>> {
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

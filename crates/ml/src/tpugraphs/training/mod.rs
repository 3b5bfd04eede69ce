//! Training access: one graph with some of its configurations, without reading the others.
//!
//! ```text
//! one file of TpuGraphs ─▶ TrainingGraph (read once) ─▶ pick samples ─▶ rows, or codes + table
//! a collection ─▶ TrainingGraphs: each file once an epoch, some open at a time ─▶ GraphStep, prefetched
//! ```
//!
//! Data points of TpuGraphs share their graph: a training step reads a graph and a few of its up to 100,040
//! configurations (paper, section 5). A [`TrainingGraph`] stores the configurations as codes, about ten bytes
//! each, so a step only picks and expands `k` of them.

mod files;
mod graph_chunks;
mod graphs;
mod npz;
mod open;
mod options;
mod pick;
mod step;
mod stream;
mod table;
mod tiles;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tsql_adapters::formats::tpugraphs::{Configurations, Loader, Samples, node_features};
use tsql_codecs::graph::{Graph, GraphKind};
use tsql_codecs::layout::{Layouts, MergedLayouts, VECTOR_WIDTH};
use tsql_codecs::tile;
use tsql_error::{Error, Result};

use tiles::Tiles;

pub(super) use files::{TrainingFile as GraphFile, select_training_files};
pub use files::{TrainingFile, training_files};
pub(super) use graph_chunks::load_in_chunks;
pub use graphs::{GraphsIter, TrainingGraphs, training_graph, training_graphs};
pub use options::GraphsOptions;
pub use pick::{Pick, Picking};
pub use step::{GraphArrays, GraphStep, Tensor};
pub use stream::StepTable;
pub use table::Form;

/// One file of TpuGraphs: its graph, configurations and runtimes.
#[derive(Debug)]
pub struct TrainingGraph {
    id: String,
    graph_id: i64,
    graph: Graph,
    layouts: Layouts,
    /// Concatenated codes of the configuration of each sample.
    codes: Vec<u8>,
    /// Tile bounds of each sample.
    tiles: Tiles,
    config_ids: Vec<i64>,
    runtimes: Vec<i64>,
    normalizers: Vec<i64>,
    /// First sample of each configuration.
    first: Vec<u32>,
    /// All samples with a runtime, the fastest first.
    fastest: Vec<u32>,
}

impl TrainingGraph {
    /// Loads the graphs of several files, in order, with three queries in total.
    async fn load(loader: &mut Loader, files: &[&TrainingFile]) -> Result<Vec<Self>> {
        let places: Vec<_> = files
            .iter()
            .map(|one| (one.graph_id, one.source_id))
            .collect();
        let mut of: Vec<i64> = files.iter().map(|one| one.graph_id).collect();
        of.sort_unstable();
        of.dedup();
        let graphs = loader.graphs(&of).await?;
        let known = loader.configurations_of_graphs(&of).await?.into_iter();
        let known: HashMap<i64, Arc<Configurations>> = known
            .map(|(graph, known)| (graph, Arc::new(known)))
            .collect();
        let mut samples = loader.samples_of_files("stored.records", &places).await?;
        let none = Arc::default();
        let each = files.iter().map(|file| {
            let missing = || Error::damaged("graphs", format!("{} is missing", file.graph_id));
            let graph = graphs.get(&file.graph_id).ok_or_else(missing)?.clone();
            let known = known.get(&file.graph_id).unwrap_or(&none);
            let samples = samples.remove(&file.source_id).unwrap_or_default();
            Self::from_parts(file, graph, known, samples)
        });
        each.collect()
    }

    /// Creates it from the graph of a file, the configurations of the graph, and its samples.
    fn from_parts(
        file: &TrainingFile,
        graph: Graph,
        known: &Arc<Configurations>,
        samples: Samples,
    ) -> Result<Self> {
        let damaged = || Error::damaged("configurations", "they do not fit their graph");
        let places = samples.config_ids.iter().map(|&id| known.index_of(id));
        let places: Vec<usize> = places.collect::<Result<_>>()?;
        let count = u32::try_from(places.len()).map_err(|_| damaged())?;
        let (mut layouts, mut codes, mut tiles) =
            (Layouts::default(), Vec::new(), Tiles::default());
        if graph.kind == GraphKind::Layout {
            (layouts, codes) = merge_layouts(known, &places).ok_or_else(damaged)?;
        } else {
            tiles = Tiles::new(Arc::clone(known), places);
        }
        let mut seen = HashSet::new();
        let first = (0..count).zip(&samples.config_ids);
        let first = first.filter(|(_, id)| seen.insert(**id));
        let first = first.map(|(sample, _)| sample).collect();
        let runtime = |sample: &u32| samples.runtimes.get(*sample as usize).copied();
        let mut fastest: Vec<u32> = (0..count)
            .filter(|sample| runtime(sample) != Some(0))
            .collect();
        fastest.sort_by_key(runtime);
        Ok(Self {
            id: file.id.clone(),
            graph_id: file.graph_id,
            graph,
            layouts,
            codes,
            tiles,
            config_ids: samples.config_ids,
            runtimes: samples.runtimes,
            normalizers: samples.normalizers,
            first,
            fastest,
        })
    }

    /// Returns the id: `<collection>:<name>`.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the kind of its configurations.
    pub(super) fn kind(&self) -> GraphKind {
        self.graph.kind
    }

    /// Returns the number of samples in the file.
    #[must_use]
    pub fn sample_count(&self) -> usize {
        self.config_ids.len()
    }

    /// Returns the number of configurable nodes; 0 in a tile file.
    #[must_use]
    pub fn slot_count(&self) -> usize {
        self.graph.slots.len()
    }

    /// Returns the number of slot groups: configurable nodes that always have the same layouts. A configuration
    /// has one code for each.
    #[must_use]
    pub fn group_count(&self) -> usize {
        self.layouts.vectors.len()
    }

    /// Returns the runtimes of these samples in nanoseconds, `None` if withheld.
    pub fn runtimes_ns(&self, samples: &[u32]) -> impl Iterator<Item = Option<i64>> {
        let runtime = |&sample: &u32| self.runtimes.get(sample as usize).copied();
        samples
            .iter()
            .map(move |sample| runtime(sample).filter(|&runtime| runtime != 0))
    }

    /// Returns the rows of `node_config_feat` of these samples, `(k, slots, 18)` numbers, or for tiles of
    /// `config_feat`, `(k, 24)`. Samples beyond the file are left out.
    ///
    /// # Errors
    /// [`Error::Damaged`] for an invalid tile.
    pub fn expand<T: Number>(&self, samples: &[u32]) -> Result<Vec<T>> {
        if self.graph.kind == GraphKind::Tile {
            let tiles = self.tiles.for_samples(samples)?;
            let bounds = tiles.iter().flatten();
            return Ok(bounds.map(|&bound| T::from_bound(bound)).collect());
        }
        let groups = self.layouts.vectors.iter();
        let vectors: Vec<Vec<[T; VECTOR_WIDTH]>> = groups
            .map(|vectors| vectors.iter().map(|one| one.map(T::from_layout)).collect())
            .collect();
        let mut rows = Vec::with_capacity(samples.len() * self.slot_count() * VECTOR_WIDTH);
        let mut chosen: Vec<&[T; VECTOR_WIDTH]> = Vec::with_capacity(vectors.len());
        for &sample in samples {
            let Some(codes) = self.layouts.codes(self.codes_of(sample)) else {
                continue;
            };
            chosen.clear();
            let each = vectors.iter().zip(codes);
            chosen.extend(each.filter_map(|(vectors, code)| vectors.get(code)));
            for &group in &self.layouts.group_of_slot {
                if let Some(vector) = chosen.get(group as usize) {
                    rows.extend_from_slice(*vector);
                }
            }
        }
        Ok(rows)
    }

    /// Returns the codes of these samples: `(k, groups)` numbers.
    #[must_use]
    pub fn codes(&self, samples: &[u32]) -> Vec<u16> {
        let each = samples.iter();
        let each = each.filter_map(|&sample| self.layouts.codes(self.codes_of(sample)));
        each.flatten()
            .map(|code| u16::try_from(code).unwrap_or(u16::MAX))
            .collect()
    }

    fn codes_of(&self, sample: u32) -> &[u8] {
        let length = self.layouts.params_length();
        let start = sample as usize * length;
        self.codes.get(start..start + length).unwrap_or(&[])
    }

    fn features(&self) -> Result<Vec<[i64; tsql_codecs::hlo::FEATURE_COUNT]>> {
        node_features(&self.graph)
    }

    /// Returns the width of a row of [`expand`](Self::expand).
    fn row_width(&self) -> usize {
        match self.graph.kind {
            GraphKind::Tile => tile::WIDTH,
            GraphKind::Layout => self.slot_count() * VECTOR_WIDTH,
        }
    }
}

/// Merges the layouts of all configurations of a graph; returns them and the codes of the configurations at
/// these indices. `None` if they are inconsistent.
fn merge_layouts(known: &Configurations, places: &[usize]) -> Option<(Layouts, Vec<u8>)> {
    let (sketches, all): (Vec<usize>, Vec<&Layouts>) = known.all_layouts().into_iter().unzip();
    let merged = MergedLayouts::merge(&all);
    let mut codes = Vec::new();
    for &place in places {
        let (sketch, params) = known.codes(place)?;
        let which = sketches.binary_search(&sketch).ok()?;
        let old = all.get(which)?.codes(params)?;
        merged.translate(which, &old, &mut codes)?;
    }
    Some((merged.layouts, codes))
}

/// Number types of expanded configurations.
pub trait Number: Copy {
    /// Converts a dimension of a layout, or -1.
    fn from_layout(dimension: i8) -> Self;
    /// Converts a bound of a tile.
    fn from_bound(bound: i64) -> Self;
}

impl Number for i8 {
    fn from_layout(dimension: i8) -> Self {
        dimension
    }

    /// Saturates bounds that do not fit; use `f32` for exact ones.
    fn from_bound(bound: i64) -> Self {
        Self::try_from(bound).unwrap_or(Self::MAX)
    }
}

impl Number for f32 {
    fn from_layout(dimension: i8) -> Self {
        dimension.into()
    }

    #[expect(clippy::cast_precision_loss, reason = "it was a float in the file")]
    fn from_bound(bound: i64) -> Self {
        bound as Self
    }
}

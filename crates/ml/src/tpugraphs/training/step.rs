//! A training step: flat arrays with shapes, which NumPy and torch use directly.

use std::sync::Arc;

use tsql_codecs::graph::GraphKind;
use tsql_codecs::hlo::FEATURE_COUNT;
use tsql_codecs::layout::VECTOR_WIDTH;
use tsql_codecs::tile;
use tsql_error::Result;

use super::TrainingGraph;
use super::table::Form;
use crate::training::Position;

/// An array of any number of dimensions, in C order (the last dimension varies fastest).
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Tensor<T> {
    /// Size of each dimension; the product is the number of `values`.
    pub shape: Vec<usize>,
    /// Elements.
    pub values: Vec<T>,
}

impl<T> Tensor<T> {
    fn new<const DIMENSIONS: usize>(shape: [usize; DIMENSIONS], values: Vec<T>) -> Self {
        Self {
            shape: shape.into(),
            values,
        }
    }
}

/// Arrays of a graph, shared by all of its steps. Names are those of the release's files, if they exist there.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct GraphArrays {
    /// `node_feat`: (nodes, 140).
    pub node_features: Tensor<f32>,
    /// `node_opcode`: (nodes).
    pub opcodes: Tensor<u8>,
    /// `edge_index`: (edges, 2), each the node that consumes and the node whose output it consumes.
    pub edges: Tensor<i64>,
    /// `node_config_ids`: (slots), the configurable nodes; none in a tile file.
    pub slots: Tensor<i64>,
    /// `node_splits`: (1, splits), the first node of each computation, and the number of nodes; (1, 0) in a tile file.
    pub splits: Tensor<i64>,
    /// Group of each slot: (slots).
    pub group_of_slot: Tensor<u32>,
    /// Layouts by code: (groups, maximum codes of a group, 18), so that `layouts[arange(groups), codes][:,
    /// group_of_slot]` is `node_config_feat`; -1 for unused codes of a group.
    pub layouts: Tensor<i8>,
    /// Groups and layouts in the notation of `configurations.sketch`; without slots in a tile file.
    pub sketch: String,
}

/// A file with some of its configurations.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct GraphStep {
    /// Its position. Padding has numbers after the last step of the epoch.
    pub position: Position,
    /// True if it repeats one of the first steps of the epoch, so that all ranks have the same number: see
    /// [`RowsOptions::pad`](crate::training::RowsOptions::pad).
    pub is_padding: bool,
    /// The file: `<collection>:<name>`.
    pub id: String,
    /// `train`, `valid` or `test`, if the file's path has it.
    pub split: Option<String>,
    /// Identifier of the graph in the store.
    pub graph_id: i64,
    /// True for a layout file, false for a tile file.
    pub is_layout: bool,
    /// Indices of the samples in the file: (k).
    pub samples: Tensor<u32>,
    /// Identifiers of their configurations in the store: (k).
    pub config_ids: Tensor<i64>,
    /// `config_runtime`: (k) nanoseconds, 0 if withheld.
    pub runtimes_ns: Tensor<i64>,
    /// `config_runtime_normalizers`: (k) nanoseconds, 1 if withheld; (0) for layouts.
    pub normalizers_ns: Tensor<i64>,
    /// Codes of layouts: (k, groups); (k, 0) for tiles.
    pub codes: Tensor<u16>,
    /// `node_config_feat`: (k, slots, 18); (0, slots, 18) with codes only, and for tiles.
    pub layouts: Tensor<i8>,
    /// `config_feat`: (k, 24); (0, 24) for layouts.
    pub tiles: Tensor<f32>,
    /// The graph, shared by all of its steps.
    pub graph: Arc<GraphArrays>,
}

impl TrainingGraph {
    /// Identifier of the graph in the store.
    #[must_use]
    pub fn graph_id(&self) -> i64 {
        self.graph_id
    }

    /// Computes the arrays of the graph: 560 bytes per node.
    ///
    /// # Errors
    /// [`Error::Damaged`](tsql_error::Error::Damaged) for features that cannot be decoded.
    #[expect(clippy::cast_precision_loss, reason = "they were floats in the file")]
    pub fn arrays(&self) -> Result<GraphArrays> {
        let graph = &self.graph;
        let nodes = graph.type_of_node.len();
        let features = self.features()?;
        let features = features.iter().flatten().map(|&feature| feature as f32);
        let opcode = |&place: &u32| graph.types.get(place as usize).map(|of| of.opcode);
        let opcodes = graph.type_of_node.iter().filter_map(opcode);
        let opcodes = opcodes.map(|opcode| u8::try_from(opcode).unwrap_or(u8::MAX));
        let edges = graph.edges.iter();
        let edges = edges.flat_map(|&(user, operand)| [user.into(), operand.into()]);
        let numbers = |nodes: &[u32]| nodes.iter().map(|&node| node.into()).collect::<Vec<i64>>();
        Ok(GraphArrays {
            node_features: Tensor::new([nodes, FEATURE_COUNT], features.collect()),
            opcodes: Tensor::new([nodes], opcodes.collect()),
            edges: Tensor::new([graph.edges.len(), 2], edges.collect()),
            slots: Tensor::new([graph.slots.len()], numbers(&graph.slots)),
            splits: Tensor::new([1, graph.splits.len()], numbers(&graph.splits)),
            group_of_slot: Tensor::new([self.slot_count()], self.layouts.group_of_slot.clone()),
            layouts: self.layout_table(),
            sketch: self.layouts.text(),
        })
    }

    fn layout_table(&self) -> Tensor<i8> {
        let groups = &self.layouts.vectors;
        let most = groups.iter().map(Vec::len).max().unwrap_or_default();
        let mut values = Vec::with_capacity(groups.len() * most * VECTOR_WIDTH);
        for group in groups {
            values.extend(group.iter().flatten());
            values.resize(values.len() + (most - group.len()) * VECTOR_WIDTH, -1);
        }
        Tensor::new([groups.len(), most, VECTOR_WIDTH], values)
    }

    /// Returns the step of these samples.
    ///
    /// # Errors
    /// As [`TrainingGraph::expand`].
    pub(super) fn step(
        &self,
        position: Position,
        split: Option<String>,
        samples: Vec<u32>,
        form: Form,
        graph: Arc<GraphArrays>,
    ) -> Result<GraphStep> {
        let is_layout = self.graph.kind == GraphKind::Layout;
        let count = samples.len();
        let of = |numbers: &[i64]| {
            let of_sample = |&sample: &u32| numbers.get(sample as usize).copied();
            samples.iter().filter_map(of_sample).collect::<Vec<_>>()
        };
        let (config_ids, runtimes) = (of(&self.config_ids), of(&self.runtimes));
        let normalizers = if is_layout {
            Vec::new()
        } else {
            of(&self.normalizers)
        };
        let codes = if is_layout {
            self.codes(&samples)
        } else {
            Vec::new()
        };
        let expanded = is_layout && form != Form::Codes;
        let layouts = if expanded {
            self.expand(&samples)?
        } else {
            Vec::new()
        };
        let tiles = if is_layout {
            Vec::new()
        } else {
            self.expand(&samples)?
        };
        let only = |is_there: bool| if is_there { count } else { 0 };
        Ok(GraphStep {
            position,
            is_padding: false,
            id: self.id.clone(),
            split,
            graph_id: self.graph_id,
            is_layout,
            config_ids: Tensor::new([count], config_ids),
            runtimes_ns: Tensor::new([count], runtimes),
            normalizers_ns: Tensor::new([only(!is_layout)], normalizers),
            codes: Tensor::new([count, self.group_count()], codes),
            layouts: Tensor::new([only(expanded), self.slot_count(), VECTOR_WIDTH], layouts),
            tiles: Tensor::new([only(!is_layout), tile::WIDTH], tiles),
            samples: Tensor::new([count], samples),
            graph,
        })
    }
}

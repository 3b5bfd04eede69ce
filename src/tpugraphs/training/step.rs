//! What a training step gets: flat arrays with shapes, which numpy and torch take as they are.

use std::sync::Arc;

use tsql_codecs::graph::Kind;
use tsql_codecs::hlo::FEATURE_COUNT;
use tsql_codecs::layout::VECTOR_WIDTH;
use tsql_codecs::tile;

use super::TrainingGraph;
use super::table::Form;
use crate::error::Result;
use crate::training::Position;

/// Numbers of any number of dimensions, the last one varying fastest (C order).
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Tensor<T> {
    /// Numbers along each dimension; their product is the number of `values`.
    pub shape: Vec<usize>,
    /// All numbers.
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

/// The arrays of a graph, which all of its steps share. Names are those of the release's files where these have them.
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
    /// The layouts that codes stand for: (groups, most codes of a group, 18), so that
    /// `layouts[arange(groups), codes][:, group_of_slot]` is `node_config_feat`; -1 where a group has fewer.
    pub layouts: Tensor<i8>,
    /// Groups and layouts as `configurations.sketch` spells them; those of no slots in a tile file.
    pub sketch: String,
}

/// A file with some of its configurations.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct GraphStep {
    /// Its number in the epoch. That of padding is not below the number of steps.
    pub position: Position,
    /// True where it repeats one of the first steps of the epoch, so that all ranks have as many: see
    /// [`RowsOptions::pad`](crate::training::RowsOptions::pad).
    pub is_padding: bool,
    /// The file: `<collection>:<name>`.
    pub id: String,
    /// `train`, `valid` or `test`, where the file's path says so.
    pub split: Option<String>,
    /// Number of the graph in the store.
    pub graph_id: i64,
    /// The file is of layouts, or else of tiles.
    pub is_layout: bool,
    /// Indices of the samples in the file: (k).
    pub samples: Tensor<u32>,
    /// Numbers of their configurations in the store: (k).
    pub config_ids: Tensor<i64>,
    /// `config_runtime`: (k) nanoseconds, 0 where withheld.
    pub runtimes_ns: Tensor<i64>,
    /// `config_runtime_normalizers`: (k) nanoseconds, 1 where withheld; (0) of layouts.
    pub normalizers_ns: Tensor<i64>,
    /// Codes of layouts: (k, groups); (k, 0) of tiles.
    pub codes: Tensor<u16>,
    /// `node_config_feat`: (k, slots, 18); (0, slots, 18) where only codes were asked for, and of tiles.
    pub layouts: Tensor<i8>,
    /// `config_feat`: (k, 24); (0, 24) of layouts.
    pub tiles: Tensor<f32>,
    /// The graph, shared by all of its steps.
    pub graph: Arc<GraphArrays>,
}

impl TrainingGraph {
    /// Number of the graph in the store.
    #[must_use]
    pub fn graph_id(&self) -> i64 {
        self.graph_id
    }

    /// The arrays of the graph. They are made when this is called: 560 bytes a node.
    ///
    /// # Errors
    /// [`Error::Damaged`](crate::Error::Damaged) for features that are not understood.
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
            layouts: self.known_layouts(),
            sketch: self.layouts.text(),
        })
    }

    fn known_layouts(&self) -> Tensor<i8> {
        let groups = &self.layouts.vectors;
        let most = groups.iter().map(Vec::len).max().unwrap_or_default();
        let mut values = Vec::with_capacity(groups.len() * most * VECTOR_WIDTH);
        for group in groups {
            values.extend(group.iter().flatten());
            values.resize(values.len() + (most - group.len()) * VECTOR_WIDTH, -1);
        }
        Tensor::new([groups.len(), most, VECTOR_WIDTH], values)
    }

    /// The step of these samples.
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
        let is_layout = self.graph.kind == Kind::Layout;
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

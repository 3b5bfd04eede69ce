//! Graphs, configurations and samples read back from their columns: what export and training need.

use std::collections::{BTreeMap, HashMap};

use arrow::array::RecordBatch;
use arrow::datatypes::{Float64Type, Int16Type, Int64Type};
use datafusion::prelude::SessionContext;
use tsql_codecs::graph::{
    Graph, Kind, NodeType, unpack_edges, unpack_features, unpack_numbers, unpack_steps,
};
use tsql_codecs::hlo::FEATURE_COUNT;
use tsql_codecs::layout::{self, Layouts};
use tsql_codecs::sketch;
use tsql_codecs::tile::{self, Tile};

use crate::column;
use crate::error::{Error, Result};
use crate::query::collect;
use crate::store::Store;

/// Reads from one snapshot of a store; remembers the node types.
pub(crate) struct Loader {
    context: SessionContext,
    types: Option<HashMap<i64, NodeType>>,
}

/// All configurations of a graph, by their numbers.
#[derive(Debug, Default)]
pub(crate) struct Configurations {
    /// Rising.
    numbers: Vec<i64>,
    /// Sketch and parameters of each.
    rows: Vec<(usize, Box<[u8]>)>,
    sketches: Vec<Sketch>,
}

#[derive(Debug)]
enum Sketch {
    Layouts(Layouts),
    Steps(String),
}

/// The samples of one file, in its order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples {
    pub(crate) config_ids: Vec<i64>,
    /// Nanoseconds; 0 where withheld, as in the file.
    pub(crate) runtimes: Vec<i64>,
    /// Nanoseconds; 1 where withheld with the runtime.
    pub(crate) normalizers: Vec<i64>,
}

impl Loader {
    /// Reads the store as it is now.
    pub(crate) async fn new(store: &Store) -> Result<Self> {
        Ok(Self::of(&store.session().await?))
    }

    /// Reads what a session sees.
    pub(crate) fn of(context: &SessionContext) -> Self {
        Self {
            context: context.clone(),
            types: None,
        }
    }

    pub(crate) async fn collect(&self, sql: &str) -> Result<Vec<RecordBatch>> {
        collect(&self.context, sql).await
    }

    async fn types(&mut self) -> Result<&HashMap<i64, NodeType>> {
        if self.types.is_none() {
            let mut types = HashMap::new();
            let sql = "SELECT node_type_id, opcode, features FROM stored.node_types WHERE opcode IS NOT NULL";
            for batch in self.collect(sql).await? {
                let ids = column::numbers::<Int64Type>(&batch, "node_type_id")?;
                let opcodes = column::numbers::<Int16Type>(&batch, "opcode")?;
                let features = column::bytes(&batch, "features")?;
                for row in 0..batch.num_rows() {
                    let opcode = opcodes.value(row);
                    let features = features.value(row).to_vec();
                    types.insert(ids.value(row), NodeType { opcode, features });
                }
            }
            self.types = Some(types);
        }
        let missing = || Error::damaged("node_types", "cannot be read");
        self.types.as_ref().ok_or_else(missing)
    }

    /// The graph of this number, with the node types as they are in its rows.
    pub(crate) async fn graph(&mut self, graph_id: i64) -> Result<Graph> {
        let sql = format!(
            "SELECT kind, node_count, types, type_of_node, edges, slots, splits \
             FROM stored.graphs WHERE graph_id = {graph_id}"
        );
        let batches = self.collect(&sql).await?;
        let damaged = |what: &str| Error::damaged("graphs", format!("{graph_id}: {what}"));
        let batch = batches.iter().find(|batch| batch.num_rows() > 0);
        let batch = batch.ok_or_else(|| damaged("not there"))?;
        let bytes = |name: &str| -> Result<Vec<u8>> {
            Ok(column::bytes_at(column::bytes(batch, name)?, 0)
                .unwrap_or_default()
                .to_vec())
        };
        let kind = column::text_at(column::text(batch, "kind")?, 0).and_then(Kind::named);
        let kind = kind.ok_or_else(|| damaged("it has no nodes"))?;
        let count = column::value(column::numbers::<Int64Type>(batch, "node_count")?, 0);
        let count = count.and_then(|count| usize::try_from(count).ok());
        let count = count.ok_or_else(|| damaged("no node count"))?;
        let nodes = |name: &str| -> Result<Vec<u32>> {
            let steps = unpack_steps(&bytes(name)?).ok_or_else(|| damaged(name))?;
            let nodes = steps.into_iter().map(u32::try_from);
            nodes
                .collect::<std::result::Result<_, _>>()
                .map_err(|_| damaged(name))
        };
        let (slots, splits) = (nodes("slots")?, nodes("splits")?);
        let edges = unpack_edges(&bytes("edges")?, count).ok_or_else(|| damaged("edges"))?;
        let type_of_node = unpack_numbers(&bytes("type_of_node")?);
        let type_of_node = type_of_node.ok_or_else(|| damaged("type_of_node"))?;
        let ids = unpack_steps(&bytes("types")?).ok_or_else(|| damaged("types"))?;
        let known = self.types().await?;
        let types = ids.iter().map(|id| known.get(id).cloned());
        let types = types.collect::<Option<Vec<_>>>();
        Ok(Graph {
            kind,
            types: types.ok_or_else(|| damaged("a node type that is not there"))?,
            type_of_node,
            edges,
            slots,
            splits,
        })
    }

    /// All configurations of a graph.
    pub(crate) async fn configurations(&self, graph_id: i64) -> Result<Configurations> {
        let sql = format!(
            "SELECT config_id, sketch, params FROM stored.configurations \
             WHERE graph_id = {graph_id} ORDER BY config_id"
        );
        let mut found = Configurations::default();
        let mut places: HashMap<String, usize> = HashMap::new();
        for batch in self.collect(&sql).await? {
            let numbers = column::numbers::<Int64Type>(&batch, "config_id")?;
            let (sketches, params) = (
                column::text(&batch, "sketch")?,
                column::bytes(&batch, "params")?,
            );
            for row in 0..batch.num_rows() {
                let text = sketches.value(row);
                let place = match places.get(text) {
                    Some(&place) => place,
                    None => {
                        found.sketches.push(Sketch::parse(text)?);
                        places.insert(text.to_owned(), found.sketches.len() - 1);
                        found.sketches.len() - 1
                    }
                };
                let params = column::bytes_at(params, row).unwrap_or_default();
                found.numbers.push(numbers.value(row));
                found.rows.push((place, params.into()));
            }
        }
        Ok(found)
    }

    /// The samples of a file of this graph,
    /// with those that were retracted where it is `stored.all_records` that they are read from.
    pub(crate) async fn samples(
        &self,
        records: &str,
        graph_id: i64,
        source_id: i64,
    ) -> Result<Samples> {
        let sql = format!(
            "SELECT config_id, runtime_ns, baseline_ns FROM {records} \
             WHERE graph_id = {graph_id} AND source_id = {source_id} ORDER BY line"
        );
        let mut samples = Samples::default();
        for batch in self.collect(&sql).await? {
            let configs = column::numbers::<Int64Type>(&batch, "config_id")?;
            let times = column::numbers::<Float64Type>(&batch, "runtime_ns")?;
            let baselines = column::numbers::<Float64Type>(&batch, "baseline_ns")?;
            samples.config_ids.extend(configs.values());
            let whole = |time: Option<f64>, withheld| time.map_or(withheld, nanoseconds);
            samples
                .runtimes
                .extend(times.iter().map(|time| whole(time, 0)));
            samples
                .normalizers
                .extend(baselines.iter().map(|time| whole(time, 1)));
        }
        Ok(samples)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "they were whole numbers up to 2^53 when they were stored"
)]
fn nanoseconds(time: f64) -> i64 {
    time as i64
}

impl Sketch {
    fn parse(text: &str) -> Result<Self> {
        if !layout::is_layout(text) {
            return Ok(Self::Steps(text.to_owned()));
        }
        let broken = || Error::damaged("configurations", "a sketch that is not understood");
        Layouts::parse(text).map(Self::Layouts).ok_or_else(broken)
    }
}

impl Configurations {
    /// Place of a configuration among those of the graph.
    pub(crate) fn place(&self, config_id: i64) -> Result<usize> {
        let missing = |_| Error::damaged("configurations", format!("{config_id} is not there"));
        self.numbers.binary_search(&config_id).map_err(missing)
    }

    /// Sketch of layouts (its place among [`layouts`](Self::layouts)) and codes at a place.
    pub(crate) fn codes(&self, place: usize) -> Option<(usize, &[u8])> {
        let (sketch, params) = self.rows.get(place)?;
        Some((*sketch, params))
    }

    /// The layouts of a sketch.
    pub(crate) fn layouts(&self, sketch: usize) -> Option<&Layouts> {
        match self.sketches.get(sketch)? {
            Sketch::Layouts(layouts) => Some(layouts),
            Sketch::Steps(_) => None,
        }
    }

    /// All layouts that occur, with their sketches' places.
    pub(crate) fn all_layouts(&self) -> BTreeMap<usize, &Layouts> {
        let sketches = 0..self.sketches.len();
        sketches
            .filter_map(|sketch| Some((sketch, self.layouts(sketch)?)))
            .collect()
    }

    /// The tile at a place; `None` where it is none.
    pub(crate) fn tile(&self, place: usize) -> Option<Tile> {
        let (sketch, params) = self.rows.get(place)?;
        let Sketch::Steps(steps) = self.sketches.get(*sketch)? else {
            return None;
        };
        let mut text = Vec::new();
        let filled = sketch::fill(steps.as_bytes(), Some(params), &mut text);
        filled.then(|| tile::row(std::str::from_utf8(&text).ok()?))?
    }
}

/// The features of all nodes of a graph, node after node.
pub(crate) fn node_features(graph: &Graph) -> Result<Vec<[i64; FEATURE_COUNT]>> {
    let damaged = || Error::damaged("node_types", "features that are not understood");
    let types = graph.types.iter();
    let types = types.map(|node_type| unpack_features(&node_type.features));
    let types = types.collect::<Option<Vec<_>>>().ok_or_else(damaged)?;
    let rows = graph.type_of_node.iter();
    let rows = rows.map(|&place| types.get(place as usize).copied());
    rows.collect::<Option<Vec<_>>>().ok_or_else(damaged)
}

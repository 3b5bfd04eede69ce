//! Loads graphs, configurations and samples for export and training.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

use arrow::array::RecordBatch;
use arrow::datatypes::{Float64Type, Int16Type, Int64Type};
use datafusion::prelude::SessionContext;
use tsql_codecs::graph::{
    Graph, GraphKind, NodeType, unpack_edges, unpack_features, unpack_numbers, unpack_steps,
};
use tsql_codecs::hlo::FEATURE_COUNT;
use tsql_codecs::layout::{self, Layouts};
use tsql_codecs::sketch;
use tsql_codecs::tile::{self, Tile};
use tsql_dialect::collect;
use tsql_error::{Error, Result};
use tsql_schema::column;
use tsql_session::open_session;
use tsql_store::Store;

/// Reads from one snapshot of a store. Caches the node types.
pub struct Loader {
    context: SessionContext,
    types: Option<HashMap<i64, NodeType>>,
}

/// All configurations of a graph, by number.
#[derive(Debug, Default)]
pub struct Configurations {
    /// Ascending.
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

/// Samples of one file, in its order.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    /// Ids of the configurations, in the order of the file.
    pub config_ids: Vec<i64>,
    /// Nanoseconds; 0 if withheld, as in the file.
    pub runtimes: Vec<i64>,
    /// Nanoseconds; 1 if withheld together with the runtime.
    pub normalizers: Vec<i64>,
}

impl Loader {
    /// Opens the current version of the store.
    pub async fn new(store: &Store) -> Result<Self> {
        Ok(Self::from_context(&open_session(store).await?))
    }

    /// Reads through an existing session.
    pub(crate) fn from_context(context: &SessionContext) -> Self {
        Self {
            context: context.clone(),
            types: None,
        }
    }

    /// Runs a query in the session of the loader.
    ///
    /// # Errors
    /// Failures of the query.
    pub async fn collect(&self, sql: &str) -> Result<Vec<RecordBatch>> {
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

    /// Loads a graph, with the node types in the order of its rows.
    pub(crate) async fn graph(&mut self, graph_id: i64) -> Result<Graph> {
        let graph = self.graphs(&[graph_id]).await?.remove(&graph_id);
        graph.ok_or_else(|| Error::damaged("graphs", format!("{graph_id} is missing")))
    }

    /// Like `Loader::graph`, for several graphs. Missing graphs are left out.
    pub async fn graphs(&mut self, graph_ids: &[i64]) -> Result<HashMap<i64, Graph>> {
        if graph_ids.is_empty() {
            return Ok(HashMap::new());
        }
        let sql = format!(
            "SELECT graph_id, kind, node_count, types, type_of_node, edges, slots, splits \
             FROM stored.graphs WHERE graph_id IN ({})",
            sql_list(graph_ids)
        );
        let batches = self.collect(&sql).await?;
        let known = self.types().await?;
        let mut graphs = HashMap::new();
        for batch in &batches {
            let numbers = column::numbers::<Int64Type>(batch, "graph_id")?;
            for row in 0..batch.num_rows() {
                let graph_id = numbers.value(row);
                let damaged = |what| Error::damaged("graphs", format!("{graph_id}: {what}"));
                let graph = graph_at(batch, row, known)?.map_err(damaged)?;
                graphs.insert(graph_id, graph);
            }
        }
        Ok(graphs)
    }

    /// Loads all configurations of a graph.
    pub(crate) async fn configurations(&self, graph_id: i64) -> Result<Configurations> {
        let mut found = self.configurations_of_graphs(&[graph_id]).await?;
        Ok(found.remove(&graph_id).unwrap_or_default())
    }

    /// Loads all configurations of several graphs. Graphs without any are left out.
    pub async fn configurations_of_graphs(
        &self,
        graph_ids: &[i64],
    ) -> Result<HashMap<i64, Configurations>> {
        if graph_ids.is_empty() {
            return Ok(HashMap::new());
        }
        let sql = format!(
            "SELECT graph_id, config_id, sketch, params FROM stored.configurations \
             WHERE graph_id IN ({})",
            sql_list(graph_ids)
        );
        let mut found: HashMap<i64, Configurations> = HashMap::new();
        let mut places: HashMap<(i64, String), usize> = HashMap::new();
        for batch in self.collect(&sql).await? {
            let graphs = column::numbers::<Int64Type>(&batch, "graph_id")?;
            let numbers = column::numbers::<Int64Type>(&batch, "config_id")?;
            let (sketches, params) = (
                column::text(&batch, "sketch")?,
                column::bytes(&batch, "params")?,
            );
            // Graph and sketch of the previous row, and the index of the sketch. Most rows repeat them.
            let mut last: Option<(i64, &str, usize)> = None;
            for row in 0..batch.num_rows() {
                let (graph, text) = (graphs.value(row), sketches.value(row));
                let of_graph = found.entry(graph).or_default();
                let place = match last.filter(|(of, before, _)| *of == graph && *before == text) {
                    Some((.., place)) => place,
                    None => of_graph.sketch_index(text, places.entry((graph, text.to_owned())))?,
                };
                last = Some((graph, text, place));
                let params = column::bytes_at(params, row).unwrap_or_default();
                of_graph.numbers.push(numbers.value(row));
                of_graph.rows.push((place, params.into()));
            }
        }
        // Files are sorted, and the configurations of a graph are usually in one file. Sorting in the query
        // would take longer than reading them.
        found.values_mut().for_each(Configurations::sort_by_number);
        Ok(found)
    }

    /// Loads the samples of a file of this graph. `stored.all_records` includes retracted ones.
    pub(crate) async fn samples(
        &self,
        records: &str,
        graph_id: i64,
        source_id: i64,
    ) -> Result<Samples> {
        let mut found = self
            .samples_of_files(records, &[(graph_id, source_id)])
            .await?;
        Ok(found.remove(&source_id).unwrap_or_default())
    }

    /// Like `Loader::samples`, for several files given by graph and source identifier. Files without
    /// samples are left out.
    pub async fn samples_of_files(
        &self,
        records: &str,
        files: &[(i64, i64)],
    ) -> Result<HashMap<i64, Samples>> {
        if files.is_empty() {
            return Ok(HashMap::new());
        }
        let (graphs, sources): (Vec<i64>, Vec<i64>) = files.iter().copied().unzip();
        let sql = format!(
            "SELECT source_id, line, config_id, runtime_ns, baseline_ns FROM {records} \
             WHERE graph_id IN ({}) AND source_id IN ({})",
            sql_list(&graphs),
            sql_list(&sources)
        );
        let mut found: HashMap<i64, (Vec<i64>, Samples)> = HashMap::new();
        for batch in self.collect(&sql).await? {
            let lines = column::numbers::<Int64Type>(&batch, "line")?;
            let sources = column::numbers::<Int64Type>(&batch, "source_id")?;
            let configs = column::numbers::<Int64Type>(&batch, "config_id")?;
            let times = column::numbers::<Float64Type>(&batch, "runtime_ns")?;
            let baselines = column::numbers::<Float64Type>(&batch, "baseline_ns")?;
            let whole = |time: Option<f64>, withheld| time.map_or(withheld, nanoseconds);
            for row in 0..batch.num_rows() {
                let (of_lines, samples) = found.entry(sources.value(row)).or_default();
                of_lines.push(lines.value(row));
                samples.config_ids.push(configs.value(row));
                let (time, baseline) = (column::value(times, row), column::value(baselines, row));
                samples.runtimes.push(whole(time, 0));
                samples.normalizers.push(whole(baseline, 1));
            }
        }
        let in_order = found.into_iter().map(|(source, (lines, mut samples))| {
            if !lines.is_sorted() {
                let order = sort_order(&lines);
                for numbers in [
                    &mut samples.config_ids,
                    &mut samples.runtimes,
                    &mut samples.normalizers,
                ] {
                    *numbers = reorder(numbers, &order);
                }
            }
            (source, samples)
        });
        Ok(in_order.collect())
    }
}

/// Indexes that sort these numbers.
fn sort_order(numbers: &[i64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..numbers.len()).collect();
    order.sort_by_key(|&place| numbers.get(place));
    order
}

/// Elements at these indexes.
fn reorder<T: Clone>(values: &[T], places: &[usize]) -> Vec<T> {
    let values = places.iter().filter_map(|&place| values.get(place));
    values.cloned().collect()
}

/// Formats numbers as an SQL list.
fn sql_list(numbers: &[i64]) -> String {
    let texts = numbers.iter().map(i64::to_string);
    texts.collect::<Vec<_>>().join(", ")
}

/// Decodes the graph of a row. The inner error names the damaged part.
fn graph_at(
    batch: &RecordBatch,
    row: usize,
    known: &HashMap<i64, NodeType>,
) -> Result<std::result::Result<Graph, &'static str>> {
    let packed = |name: &str| -> Result<Vec<u8>> {
        let column = column::bytes(batch, name)?;
        Ok(column::bytes_at(column, row).unwrap_or_default().to_vec())
    };
    let kind = column::text_at(column::text(batch, "kind")?, row).and_then(GraphKind::from_name);
    let count = column::value(column::numbers::<Int64Type>(batch, "node_count")?, row);
    let (types, type_of_node) = (packed("types")?, packed("type_of_node")?);
    let (edges, slots, splits) = (packed("edges")?, packed("slots")?, packed("splits")?);
    let nodes = |packed: &[u8]| -> Option<Vec<u32>> {
        let steps = unpack_steps(packed)?.into_iter();
        steps.map(|node| u32::try_from(node).ok()).collect()
    };
    Ok((|| {
        let count = count.and_then(|count| usize::try_from(count).ok());
        let ids = unpack_steps(&types).ok_or("types")?;
        let types = ids.iter().map(|id| known.get(id).cloned());
        let types = types.collect::<Option<Vec<_>>>();
        Ok(Graph {
            kind: kind.ok_or("it has no nodes")?,
            types: types.ok_or("a node type is missing")?,
            type_of_node: unpack_numbers(&type_of_node).ok_or("type_of_node")?,
            edges: unpack_edges(&edges, count.ok_or("it has no node count")?).ok_or("edges")?,
            slots: nodes(&slots).ok_or("slots")?,
            splits: nodes(&splits).ok_or("splits")?,
        })
    })())
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
        let broken = || Error::damaged("configurations", "an invalid sketch");
        Layouts::parse(text).map(Self::Layouts).ok_or_else(broken)
    }
}

impl Configurations {
    /// Sorts configurations by number, and sketches by their first use.
    fn sort_by_number(&mut self) {
        if self.numbers.is_sorted() {
            return;
        }
        let order = sort_order(&self.numbers);
        self.numbers = reorder(&self.numbers, &order);
        self.rows = reorder(&self.rows, &order);
        let mut known: Vec<Option<usize>> = vec![None; self.sketches.len()];
        let mut used = Vec::new();
        for (sketch, _) in &mut self.rows {
            if let Some(new) = known.get_mut(*sketch) {
                let place = new.get_or_insert_with(|| {
                    used.push(*sketch);
                    used.len() - 1
                });
                *sketch = *place;
            }
        }
        let mut old: Vec<Option<Sketch>> = self.sketches.drain(..).map(Some).collect();
        let in_order = used
            .iter()
            .filter_map(|&sketch| old.get_mut(sketch)?.take());
        self.sketches = in_order.collect();
    }

    /// Index of a sketch; adds it if it is new.
    fn sketch_index(
        &mut self,
        text: &str,
        place: Entry<'_, (i64, String), usize>,
    ) -> Result<usize> {
        Ok(match place {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                self.sketches.push(Sketch::parse(text)?);
                *new.insert(self.sketches.len() - 1)
            }
        })
    }

    /// Index of a configuration.
    pub fn index_of(&self, config_id: i64) -> Result<usize> {
        let missing = |_| Error::damaged("configurations", format!("{config_id} is missing"));
        self.numbers.binary_search(&config_id).map_err(missing)
    }

    /// Layout sketch (an index for `layouts`) and parameters at an index.
    pub fn codes(&self, place: usize) -> Option<(usize, &[u8])> {
        let (sketch, params) = self.rows.get(place)?;
        Some((*sketch, params))
    }

    /// Layouts of a sketch. `None` if it is not a layout sketch.
    pub(crate) fn layouts(&self, sketch: usize) -> Option<&Layouts> {
        match self.sketches.get(sketch)? {
            Sketch::Layouts(layouts) => Some(layouts),
            Sketch::Steps(_) => None,
        }
    }

    /// All layouts, by sketch index.
    pub fn all_layouts(&self) -> BTreeMap<usize, &Layouts> {
        let sketches = 0..self.sketches.len();
        sketches
            .filter_map(|sketch| Some((sketch, self.layouts(sketch)?)))
            .collect()
    }

    /// Tile at an index. `None` if it is not a tile.
    pub fn tile(&self, place: usize) -> Option<Tile> {
        let (sketch, params) = self.rows.get(place)?;
        let Sketch::Steps(steps) = self.sketches.get(*sketch)? else {
            return None;
        };
        let mut text = Vec::new();
        let filled = sketch::fill(steps.as_bytes(), Some(params), &mut text);
        filled.then(|| tile::parse_steps(std::str::from_utf8(&text).ok()?))?
    }
}

/// Features of all nodes of a graph, in node order.
pub fn node_features(graph: &Graph) -> Result<Vec<[i64; FEATURE_COUNT]>> {
    let damaged = || Error::damaged("node_types", "invalid features");
    let types = graph.types.iter();
    let types = types.map(|node_type| unpack_features(&node_type.features));
    let types = types.collect::<Option<Vec<_>>>().ok_or_else(damaged)?;
    let rows = graph.type_of_node.iter();
    let rows = rows.map(|&place| types.get(place as usize).copied());
    rows.collect::<Option<Vec<_>>>().ok_or_else(damaged)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configurations_of_several_files_are_put_in_order() {
        let steps = |text: &str| Sketch::Steps(text.to_owned());
        let row =
            |sketch: usize, params: u8| -> (usize, Box<[u8]>) { (sketch, Box::from([params])) };
        let mut found = Configurations {
            numbers: vec![7, 9, 1, 3],
            rows: vec![row(0, 70), row(1, 90), row(2, 10), row(0, 30)],
            sketches: vec![steps("a"), steps("b"), steps("c")],
        };
        found.sort_by_number();
        assert_eq!(found.numbers, [1, 3, 7, 9]);
        assert_eq!(found.rows, [row(0, 10), row(1, 30), row(1, 70), row(2, 90)]);
        let texts = found.sketches.iter().map(|sketch| match sketch {
            Sketch::Steps(text) => text.as_str(),
            Sketch::Layouts(_) => "",
        });
        assert!(texts.eq(["c", "a", "b"]));
    }
}

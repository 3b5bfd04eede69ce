//! Drawing of a graph of the store, with details of its nodes.

use std::collections::HashMap;

use arrow::array::{Array as _, AsArray as _, RecordBatch};
use arrow::datatypes::{Float64Type, Int64Type};
use datafusion::prelude::SessionContext;
use tsql_dialect::collect;
use tsql_error::{Error, Result};
use tsql_plot::{Edge, Graph, Node};
use tsql_schema::column;
use tsql_session::{SessionOptions, open_session_with};
use tsql_store::Store;

use super::module::module;

/// Maximum number of dimensions in the node features of TpuGraphs.
const MAX_DIMENSIONS: usize = 6;

/// Tables that are queried.
const TABLES: &str = "SELECT 1 FROM graphs, nodes, edges, tasks, samples, sample_nodes, tensors, files, sources, records";

/// Returns a graph with its operations and edges, and with shapes, modules and configurable nodes if known.
///
/// `graph` is a graph id (`graphs.graph_id`), the path of a GraphNet sample or a suffix of it, or the id or the name of
/// a TpuGraphs file, or a suffix of it.
///
/// # Errors
/// [`Error::Unknown`] if nothing matches, [`Error::Ambiguous`] for a suffix of several paths, [`Error::Empty`] if
/// the store has no operations of the graph, and failures of the storage.
pub async fn plot_graph(store: &Store, graph: &str) -> Result<Graph> {
    let context = open_session_with(store, &SessionOptions::default().sql(TABLES)).await?;
    let (graph_id, name) = find_graph(&context, graph).await?;
    let known = GraphInfo::load(&context, graph_id).await?;
    let mut graph = Graph {
        title: match &name {
            Some(name) => name.clone(),
            None => known.title.clone(),
        },
        mark: "layout depends on the configuration".to_owned(),
        ..Graph::default()
    };
    let mut shapes = read_nodes(&context, graph_id, &known, &mut graph).await?;
    if graph.nodes.is_empty() {
        return Err(Error::Empty(format!(
            "the store has no operations of graph {graph_id} ({})\n\
             hint: TenSet graphs need network_info, GraphNet graphs need samples",
            known.title
        )));
    }
    if known.dataset == "graphnet" {
        name_nodes(&context, graph_id, &mut graph, &mut shapes).await?;
    }
    read_edges(&context, graph_id, &mut graph, &shapes).await?;
    let (nodes, edges) = (graph.nodes.len(), graph.edges.len());
    graph.notes.push(format!(
        "{nodes} nodes, {edges} edges · graph {graph_id}, {}",
        known.dataset
    ));
    Ok(graph)
}

fn quote_literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Finds the graph id, and the path if it is a sample.
async fn find_graph(context: &SessionContext, graph: &str) -> Result<(i64, Option<String>)> {
    if let Ok(graph_id) = graph.parse::<i64>() {
        return Ok((graph_id, None));
    }
    let name = quote_literal(graph);
    let end = format!("right(concat('/', path), length({name}) + 1) = concat('/', {name})");
    let id = "SELECT DISTINCT graph_id, id AS path FROM sources WHERE graph_id IS NOT NULL AND";
    let asked = [
        format!("{id} id = {name}"),
        format!("SELECT DISTINCT graph_id, path FROM samples WHERE path = {name}"),
        format!("SELECT DISTINCT graph_id, path FROM samples WHERE {end} ORDER BY path LIMIT 20"),
        format!(
            "SELECT DISTINCT r.graph_id, f.path FROM (SELECT source_id, name AS path FROM sources) AS f \
             JOIN records AS r ON r.source_id = f.source_id WHERE {end} OR path = {name} LIMIT 20"
        ),
        format!("{id} right(id, length({name}) + 1) = concat(':', {name}) ORDER BY path LIMIT 20"),
    ];
    for sql in asked {
        let mut all: Vec<(i64, String)> = Vec::new();
        for batch in collect(context, &sql).await? {
            let ids = column::numbers::<Int64Type>(&batch, "graph_id")?;
            let paths = texts(&batch, "path")?;
            all.extend(
                ids.values()
                    .iter()
                    .copied()
                    .zip(paths.into_iter().map(Option::unwrap_or_default)),
            );
        }
        match all.as_slice() {
            [] => {}
            [(graph_id, path)] => return Ok((*graph_id, Some(path.clone()))),
            [(first, path), rest @ ..] if rest.iter().all(|(graph_id, _)| graph_id == first) => {
                return Ok((*first, Some(path.clone())));
            }
            several => {
                let paths: Vec<&str> = several
                    .iter()
                    .take(5)
                    .map(|(_, path)| path.as_str())
                    .collect();
                return Err(Error::Ambiguous(format!(
                    "`{graph}` matches several paths\nhint: use one of {} ...",
                    paths.join(", ")
                )));
            }
        }
    }
    Err(Error::Unknown {
        kind: "graph",
        name: graph.to_owned(),
        known: "numbers (`SELECT graph_id FROM graphs`), samples (`SELECT path FROM samples`) and files (`SELECT id, name FROM sources`)".to_owned(),
    })
}

/// Returns a column as texts.
fn texts(batch: &RecordBatch, name: &str) -> Result<Vec<Option<String>>> {
    let column = batch.column_by_name(name);
    let column = column.ok_or_else(|| Error::damaged(name, "the column is missing"))?;
    let texts = arrow::compute::cast(column, &arrow::datatypes::DataType::Utf8View);
    let texts = texts.map_err(|error| Error::Query(error.into()))?;
    let texts = texts.as_string_view().iter();
    Ok(texts.map(|text| text.map(str::to_owned)).collect())
}

/// Properties of the whole graph.
struct GraphInfo {
    dataset: String,
    title: String,
    slots: Vec<i64>,
}

impl GraphInfo {
    async fn load(context: &SessionContext, graph_id: i64) -> Result<Self> {
        let sql = format!(
            "SELECT dataset, coalesce((SELECT min(path) FROM samples WHERE graph_id = {graph_id}), \
             (SELECT min(f.name) FROM records AS r JOIN sources AS f ON f.source_id = r.source_id WHERE r.graph_id = {graph_id} AND r.dataset = 'tpugraphs'), \
             left(workload_key, 80)) AS title, slot_nodes FROM graphs WHERE graph_id = {graph_id}"
        );
        for batch in collect(context, &sql).await? {
            if batch.num_rows() == 0 {
                continue;
            }
            let first = |name: &str| -> Result<String> {
                let texts = texts(&batch, name)?;
                Ok(texts.into_iter().next().flatten().unwrap_or_default())
            };
            let slots = batch.column_by_name("slot_nodes").and_then(|slots| {
                let slots = slots.as_list_opt::<i32>()?;
                let numbers = slots.is_valid(0).then(|| slots.value(0))?;
                Some(numbers.as_primitive_opt::<Int64Type>()?.values().to_vec())
            });
            return Ok(Self {
                dataset: first("dataset")?,
                title: first("title")?,
                slots: slots.unwrap_or_default(),
            });
        }
        Err(Error::Unknown {
            kind: "graph",
            name: graph_id.to_string(),
            known: "the ids of `SELECT graph_id FROM graphs`".to_owned(),
        })
    }
}

/// Formats a shape: `8×224×224×3`.
fn format_shape(sizes: impl Iterator<Item = String>) -> String {
    sizes.collect::<Vec<String>>().join("×")
}

/// Reads the operations into nodes. Returns the output shape of each.
async fn read_nodes(
    context: &SessionContext,
    graph_id: i64,
    known: &GraphInfo,
    graph: &mut Graph,
) -> Result<Vec<String>> {
    let features = (0..MAX_DIMENSIONS).map(|place| match known.dataset.as_str() {
        "tpugraphs" => format!("node_feature(features, 'shape_dimensions_{place}') AS d{place}"),
        _ => format!("CAST(NULL AS DOUBLE) AS d{place}"),
    });
    let sql = format!(
        "SELECT node, op, target, attributes, shape, dtype, {} FROM nodes WHERE graph_id = {graph_id} ORDER BY node",
        features.collect::<Vec<String>>().join(", ")
    );
    let mut shapes = Vec::new();
    for batch in collect(context, &sql).await? {
        let numbers = column::numbers::<Int64Type>(&batch, "node")?;
        let [ops, targets, attributes, dtypes] =
            ["op", "target", "attributes", "dtype"].map(|name| texts(&batch, name));
        let (ops, targets, attributes, dtypes) = (ops?, targets?, attributes?, dtypes?);
        let lists = column::lists(&batch, "shape")?;
        let mut dimensions = Vec::new();
        for place in 0..MAX_DIMENSIONS {
            let name = format!("d{place}");
            let column = batch.column_by_name(&name);
            let column = column.ok_or_else(|| Error::damaged(&name, "the column is missing"))?;
            let column = arrow::compute::cast(column, &arrow::datatypes::DataType::Float64);
            dimensions.push(column.map_err(|error| Error::Query(error.into()))?);
        }
        for row in 0..batch.num_rows() {
            let text =
                |texts: &[Option<String>]| texts.get(row).cloned().flatten().unwrap_or_default();
            let number = numbers.value(row);
            let shape = if known.dataset == "tpugraphs" {
                let sizes = dimensions.iter().filter_map(|sizes| {
                    let sizes = sizes.as_primitive_opt::<Float64Type>()?;
                    sizes.is_valid(row).then(|| sizes.value(row))
                });
                format_shape(
                    sizes
                        .filter(|size| *size > 0.0)
                        .map(|size| size.to_string()),
                )
            } else if lists.is_valid(row) {
                let sizes = lists.value(row);
                let sizes = sizes
                    .as_primitive_opt::<Int64Type>()
                    .map(|sizes| sizes.iter().collect::<Vec<_>>());
                let sizes = sizes.unwrap_or_default().into_iter();
                format_shape(
                    sizes.map(|size| size.map_or_else(|| "?".to_owned(), |size| size.to_string())),
                )
            } else {
                String::new()
            };
            let (op, target) = (text(&ops), text(&targets));
            let said = [
                format!("{number}: {op}"),
                target,
                text(&attributes).chars().take(300).collect(),
                format!("{} {shape}", text(&dtypes)).trim().to_owned(),
            ];
            let said: Vec<String> = said.into_iter().filter(|line| !line.is_empty()).collect();
            graph.nodes.push(Node {
                name: if op.is_empty() { "?".to_owned() } else { op },
                is_marked: known.slots.contains(&number),
                said: said.join("\n"),
                ..Node::default()
            });
            shapes.push(shape);
        }
    }
    Ok(shapes)
}

/// Adds names of values, types and modules of a GraphNet graph, from its first sample.
async fn name_nodes(
    context: &SessionContext,
    graph_id: i64,
    graph: &mut Graph,
    shapes: &mut [String],
) -> Result<()> {
    let one = format!(
        "(SELECT min(path) FROM samples WHERE graph_id = {graph_id} AND variant_of IS NULL)"
    );
    let sql = format!(
        "SELECT node, name, output_types FROM sample_nodes WHERE graph_id = {graph_id} AND path = {one} ORDER BY node"
    );
    for batch in collect(context, &sql).await? {
        let numbers = column::numbers::<Int64Type>(&batch, "node")?;
        let (names, types) = (texts(&batch, "name")?, texts(&batch, "output_types")?);
        for ((number, name), type_of) in numbers.values().iter().zip(names).zip(types) {
            let Ok(place) = usize::try_from(*number) else {
                continue;
            };
            if let Some((node, name)) = graph.nodes.get_mut(place).zip(name) {
                node.said = format!("{name}\n{}", node.said);
            }
            if let Some((shape, type_of)) = shapes.get_mut(place).zip(type_of) {
                *shape = type_of.replace('x', "×");
            }
        }
    }
    let sql = format!(
        "SELECT e.user, t.name FROM edges AS e JOIN tensors AS t ON t.argument = e.input \
         WHERE e.graph_id = {graph_id} AND t.path = {one} AND e.input IS NOT NULL ORDER BY e.user, e.input"
    );
    let mut modules: HashMap<usize, String> = HashMap::new();
    for batch in collect(context, &sql).await? {
        let users = column::numbers::<Int64Type>(&batch, "user")?;
        for (user, name) in users.values().iter().zip(texts(&batch, "name")?) {
            let (Ok(user), Some(name)) = (usize::try_from(*user), name) else {
                continue;
            };
            if let Some(module) = module(&name) {
                modules.entry(user).or_insert(module);
            }
            if let Some(node) = graph.nodes.get_mut(user) {
                node.said = format!("{}\nuses {name}", node.said);
            }
        }
    }
    // An operation without parameters belongs to the module of the previous one.
    let mut last: Option<String> = None;
    for (place, node) in graph.nodes.iter_mut().enumerate() {
        last = modules.remove(&place).or(last);
        node.group.clone_from(&last);
    }
    Ok(())
}

async fn read_edges(
    context: &SessionContext,
    graph_id: i64,
    graph: &mut Graph,
    shapes: &[String],
) -> Result<()> {
    let sql = format!(
        "SELECT DISTINCT operand, \"user\" FROM edges WHERE graph_id = {graph_id} AND operand IS NOT NULL ORDER BY \"user\", operand"
    );
    for batch in collect(context, &sql).await? {
        let operands = column::numbers::<Int64Type>(&batch, "operand")?;
        let users = column::numbers::<Int64Type>(&batch, "user")?;
        for (operand, user) in operands.values().iter().zip(users.values()) {
            let (Ok(from), Ok(to)) = (usize::try_from(*operand), usize::try_from(*user)) else {
                continue;
            };
            // Operands come before their users.
            if from < to && to < graph.nodes.len() {
                let label = shapes.get(from).cloned().unwrap_or_default();
                graph.edges.push(Edge { from, to, label });
            }
        }
    }
    Ok(())
}

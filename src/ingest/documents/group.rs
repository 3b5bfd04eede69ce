//! The rows of some documents on their way into the store.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use ahash::RandomState;
use arrow::array::Array as _;
use arrow::datatypes::{Int16Type, Int64Type};
use tsql_codecs::graph::NodeType;
use tsql_codecs::identity::{ProgramHash, environment_id, graph_id};
use tsql_codecs::sketch::{self, Scan};
use tsql_codecs::tile::{self, Tile};
use tsql_codecs::varint;
use tsql_formats::rows::Sketch;
use tsql_formats::tpugraphs::{Configurations, Document, NAME, Place};

use super::super::group::{KnownIds, one_file};
use super::super::ledger::Reading;
use super::super::tables::ConfigurationRows;
use super::rows::{TARGET, environment_columns, graph_columns, node_type_columns, record_columns};
use crate::dedupe::{Configurations as Known, next_number};
use crate::error::{Error, Result};
use crate::store::file::{self, DataFile, Effort};
use crate::store::{Snapshot, Store};
use crate::{column, schema};

/// Configurations that are remembered between groups.
const KNOWN_CONFIGURATIONS: usize = 1 << 18;

/// A document that is not committed yet.
pub(super) struct Held {
    pub(super) document: Document,
    pub(super) place: Place,
    pub(super) source_id: i64,
    pub(super) graph_id: i64,
    platform: Arc<str>,
    /// The graph's content hash.
    key: String,
    /// Hash of each row's configuration.
    programs: Vec<ProgramHash>,
}

impl Held {
    pub(super) fn new(document: Document, reading: &Reading, place: &Place) -> Self {
        let key = document.graph.content_hash();
        let source_id = reading.source_id;
        let programs = match &document.configurations {
            Configurations::Layout { layouts, params } => {
                let hasher = layouts.hasher();
                let length = layouts.params_length();
                let row = |row| params.get(row * length..(row + 1) * length).unwrap_or(&[]);
                let rows = 0..document.runtimes.len();
                rows.map(|index| hasher.hash(row(index)).unwrap_or_default())
                    .collect()
            }
            Configurations::Tile(tiles) => {
                let steps = tile_steps(tiles, source_id);
                steps
                    .map(|steps| ProgramHash::of(steps.as_bytes()))
                    .collect()
            }
        };
        Self {
            graph_id: graph_id(NAME, &key),
            key,
            programs,
            document,
            place: place.clone(),
            platform: Arc::from(reading.platform.as_str()),
            source_id,
        }
    }

    /// Runtimes in nanoseconds; 0 stands for a withheld one.
    pub(super) fn runtimes(&self) -> impl Iterator<Item = Option<f64>> {
        let runtimes = self.document.runtimes.iter();
        runtimes.map(|&runtime| (runtime != 0).then(|| exact(runtime)))
    }

    /// Runtimes of the default tile; with the runtime its 1 is withheld.
    pub(super) fn baselines(&self) -> impl Iterator<Item = Option<f64>> {
        let normalizers = self.document.normalizers.as_deref();
        let runtimes = self.document.runtimes.iter().enumerate();
        runtimes.map(move |(row, &runtime)| {
            let normalizer = *normalizers?.get(row)?;
            (runtime != 0 || normalizer != 1).then(|| exact(normalizer))
        })
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "the reader takes up to 2^53 nanoseconds"
)]
fn exact(nanoseconds: i64) -> f64 {
    nanoseconds as f64
}

/// The steps of all tiles of a file. Bounds that say nothing (all 0), or the same of two rows, are
/// not what a configuration is known by: such rows are never merged.
fn tile_steps(tiles: &[Tile], source_id: i64) -> impl Iterator<Item = String> {
    let mut seen: HashMap<&Tile, usize> = HashMap::new();
    for tile in tiles {
        *seen.entry(tile).or_default() += 1;
    }
    tiles.iter().enumerate().map(move |(row, tile)| {
        let vague = seen.get(tile) != Some(&1) || tile.iter().all(|&bound| bound == 0);
        tile::steps(tile, vague.then_some((source_id, row)))
    })
}

/// The numbers of node types at one version of their table.
#[derive(Default)]
struct KnownTypes {
    version: Option<u64>,
    numbers: HashMap<NodeType, i64, RandomState>,
}

impl KnownTypes {
    async fn load(&mut self, store: &Store, at: &Snapshot) -> Result<()> {
        if self.version == Some(at.version()) {
            return Ok(());
        }
        self.numbers.clear();
        self.version = Some(at.version());
        if at.files().is_empty() {
            return Ok(());
        }
        let columns = ["node_type_id", "opcode", "features"];
        for batch in store.read("node_types", at, &columns, None).await? {
            let ids = column::numbers::<Int64Type>(&batch, "node_type_id")?;
            let opcodes = column::numbers::<Int16Type>(&batch, "opcode")?;
            let features = column::bytes(&batch, "features")?;
            for row in (0..batch.num_rows()).filter(|&row| opcodes.is_valid(row)) {
                let node_type = NodeType {
                    opcode: opcodes.value(row),
                    features: features.value(row).to_vec(),
                };
                self.numbers.insert(node_type, ids.value(row));
            }
        }
        Ok(())
    }
}

/// Documents that are not committed yet.
pub(super) struct Group<'a> {
    store: &'a Store,
    held: Vec<Held>,
    rows: usize,
    types: KnownTypes,
    graphs: KnownIds,
    environments: KnownIds,
    configurations: Known,
    pub(super) new_graphs: u64,
    pub(super) new_configurations: u64,
}

impl<'a> Group<'a> {
    pub(super) fn new(store: &'a Store) -> Self {
        Self {
            store,
            held: Vec::new(),
            rows: 0,
            types: KnownTypes::default(),
            graphs: KnownIds::default(),
            environments: KnownIds::default(),
            configurations: Known::default(),
            new_graphs: 0,
            new_configurations: 0,
        }
    }

    pub(super) fn add(&mut self, held: Held) {
        self.rows += held.programs.len();
        self.held.push(held);
    }

    /// Records that a commit would bring.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Commits what records refer to; the files of all records, which nothing refers to yet.
    pub(super) async fn finish(&mut self) -> Result<Vec<DataFile>> {
        let held = std::mem::take(&mut self.held);
        self.rows = 0;
        if held.is_empty() {
            return Ok(Vec::new());
        }
        let environment = self.commit_environment().await?;
        self.commit_graphs(&held).await?;
        self.commit_configurations(&held).await?;
        let files = self.write_records(&held, environment).await?;
        self.configurations.trim(KNOWN_CONFIGURATIONS);
        Ok(files)
    }

    async fn commit_environment(&mut self) -> Result<i64> {
        let id = environment_id(NAME, TARGET);
        let (store, known) = (self.store, &mut self.environments);
        if known.ids.contains(&id) {
            return Ok(id);
        }
        store
            .commit("environments", "ingest", async |snapshot: &Snapshot| {
                known
                    .load(store, "environments", "environment_id", snapshot)
                    .await?;
                if known.ids.contains(&id) {
                    return Ok(None);
                }
                one_file(store, "environments", environment_columns(id))
                    .await
                    .map(Some)
            })
            .await?;
        known.ids.insert(id);
        Ok(id)
    }

    async fn commit_graphs(&mut self, held: &[Held]) -> Result<()> {
        let graphs: BTreeMap<i64, &Held> = held.iter().map(|held| (held.graph_id, held)).collect();
        if graphs.keys().all(|id| self.graphs.ids.contains(id)) {
            return Ok(());
        }
        let store = self.store;
        if let Some(snapshot) = store.snapshot("graphs").await? {
            self.graphs
                .load(store, "graphs", "graph_id", &snapshot)
                .await?;
        }
        let new = graphs.values().copied();
        let new: Vec<&Held> = new
            .filter(|held| !self.graphs.ids.contains(&held.graph_id))
            .collect();
        self.commit_types(&new).await?;
        let numbers = &self.types.numbers;
        let row = |held: &&'_ Held| {
            let graph = &held.document.graph;
            let types = graph.types.iter().map(|one| numbers.get(one).copied());
            types.collect::<Option<Vec<i64>>>()
        };
        let known = &mut self.graphs;
        let mut added = 0;
        store
            .commit("graphs", "ingest", async |snapshot: &Snapshot| {
                known.load(store, "graphs", "graph_id", snapshot).await?;
                let mut rows = Vec::new();
                for held in new
                    .iter()
                    .filter(|held| !known.ids.contains(&held.graph_id))
                {
                    let lost = || Error::damaged("node_types", "numbers were lost");
                    let types = row(held).ok_or_else(lost)?;
                    rows.push((
                        held.graph_id,
                        held.key.as_str(),
                        types,
                        &held.document.graph,
                    ));
                }
                added = rows.len() as u64;
                if rows.is_empty() {
                    return Ok(None);
                }
                one_file(store, "graphs", graph_columns(&rows))
                    .await
                    .map(Some)
            })
            .await?;
        known.ids.extend(graphs.keys());
        self.new_graphs += added;
        Ok(())
    }

    /// Makes sure that all node types of these graphs have a number.
    async fn commit_types(&mut self, new: &[&Held]) -> Result<()> {
        let (store, known) = (self.store, &mut self.types);
        let mut distinct = HashSet::new();
        let types = new.iter().flat_map(|held| &held.document.graph.types);
        let types: Vec<&NodeType> = types.filter(|one| distinct.insert(*one)).collect();
        let mut given: Vec<(&NodeType, i64)> = Vec::new();
        let mut version = None;
        store
            .commit("node_types", "ingest", async |snapshot: &Snapshot| {
                known.load(store, snapshot).await?;
                let missing = types.iter().copied();
                let missing: Vec<&NodeType> = missing
                    .filter(|one| !known.numbers.contains_key(*one))
                    .collect();
                let first = next_number(snapshot, "node_type_id");
                given = missing.iter().copied().zip(first..).collect();
                if missing.is_empty() {
                    return Ok(None);
                }
                version = Some(snapshot.version() + 1);
                one_file(store, "node_types", node_type_columns(first, &missing))
                    .await
                    .map(Some)
            })
            .await?;
        for (node_type, number) in given {
            known.numbers.insert(node_type.clone(), number);
        }
        known.version = version.or(known.version);
        Ok(())
    }

    async fn commit_configurations(&mut self, held: &[Held]) -> Result<()> {
        let graphs: BTreeMap<i64, ()> = held.iter().map(|held| (held.graph_id, ())).collect();
        let graphs: Vec<i64> = graphs.into_keys().collect();
        let (store, known) = (self.store, &mut self.configurations);
        let mut given: Vec<(i64, ProgramHash, i64)> = Vec::new();
        let mut version = None;
        store
            .commit("configurations", "ingest", async |snapshot: &Snapshot| {
                known.load(store, snapshot, &graphs).await?;
                given.clear();
                let mut rows = ConfigurationRows::default();
                let mut number = next_number(snapshot, "config_id");
                let mut seen: HashSet<(i64, ProgramHash), RandomState> = HashSet::default();
                for held in held {
                    let mut new = Vec::new();
                    for (row, &program) in held.programs.iter().enumerate() {
                        let known = known.number(held.graph_id, program).is_some();
                        if known || !seen.insert((held.graph_id, program)) {
                            continue;
                        }
                        new.push((row, number));
                        given.push((held.graph_id, program, number));
                        number += 1;
                    }
                    push_configurations(&mut rows, held, &new)?;
                }
                if given.is_empty() {
                    return Ok(None);
                }
                version = Some(snapshot.version() + 1);
                one_file(store, "configurations", rows.finish()?)
                    .await
                    .map(Some)
            })
            .await?;
        for &(graph, program, number) in &given {
            known.insert(graph, program, number);
        }
        if let Some(version) = version {
            known.advance(version);
        }
        self.new_configurations += given.len() as u64;
        Ok(())
    }

    async fn write_records(&self, held: &[Held], environment: i64) -> Result<Vec<DataFile>> {
        let table = schema::table("records")?;
        let mut batches: BTreeMap<Arc<str>, Vec<_>> = BTreeMap::new();
        for held in held {
            let number = |&program: &ProgramHash| {
                let number = self.configurations.number(held.graph_id, program);
                number.ok_or_else(|| Error::damaged("records", "no configuration for a row"))
            };
            let numbers = held.programs.iter().map(number);
            let numbers: Vec<i64> = numbers.collect::<Result<_>>()?;
            let batch = file::batch(table, record_columns(held, environment, numbers))?;
            if batch.num_rows() > 0 {
                let batches = batches.entry(Arc::clone(&held.platform)).or_default();
                batches.push(batch);
            }
        }
        let mut files = Vec::with_capacity(batches.len());
        for (platform, batches) in batches {
            let partition = [
                ("dataset".to_owned(), Some(NAME.to_owned())),
                ("platform".to_owned(), Some(platform.to_string())),
            ];
            let location = self.store.location();
            files.push(file::write(location, table, &partition, &batches, Effort::Ingest).await?);
        }
        Ok(files)
    }
}

/// Adds the configurations of some rows of a document under their numbers.
fn push_configurations(
    rows: &mut ConfigurationRows,
    held: &Held,
    new: &[(usize, i64)],
) -> Result<()> {
    match &held.document.configurations {
        Configurations::Layout { layouts, params } => {
            let length = layouts.params_length();
            let new = new.iter().map(|&(row, number)| {
                let params = params.get(row * length..(row + 1) * length);
                (number, params.unwrap_or(&[]))
            });
            rows.push_fixed(held.graph_id, &layouts.text(), new);
        }
        Configurations::Tile(tiles) => {
            let mut scan = Scan::default();
            let steps: Vec<String> = tile_steps(tiles, held.source_id).collect();
            for &(row, number) in new {
                let Some(steps) = steps.get(row) else {
                    continue;
                };
                let wrong = |reason| Error::damaged("configurations", reason);
                sketch::scan(steps.as_bytes(), &mut scan).map_err(wrong)?;
                let mut params = Vec::with_capacity(scan.numbers.len());
                for &number in &scan.numbers {
                    varint::write_unsigned(number, &mut params);
                }
                let sketch = Sketch {
                    text: scan.sketch.clone(),
                    literal: false,
                };
                rows.push_open(held.graph_id, number, &sketch, Some(&params), None);
            }
        }
    }
    Ok(())
}

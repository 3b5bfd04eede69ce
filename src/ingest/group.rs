//! The rows of some whole files on their way into the store, all of them or none.
//!
//! ```text
//! rows of chunks ─▶ graphs, environments ─▶ configurations ─▶ batches of records
//!                   (what is new is committed at once: nothing refers to it yet)
//! at a file's end ─▶ records ─▶ lines ─▶ sources
//! ```
//!
//! A crash between two of these commits leaves rows that nothing refers to, or records whose file
//! is not in the ledger yet. The next run over the same file finds the former by their content and
//! puts its own in place of the latter (see `orphans`).

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use arrow::compute::concat_batches;
use tsql_codecs::identity::{ProgramHash, environment_id, graph_id};
use tsql_formats::rows::{Environment, Rows};

use super::tables::{EnvironmentRows, RecordRows};
use crate::dedupe::{Configurations, ReadFiles, next_number};
use crate::error::{Error, Result};
use crate::store::file::{self, DataFile, Effort};
use crate::store::{Change, Snapshot, Store};
use crate::{column, schema};

/// Records that are held as rows before their configurations are looked up.
const FLUSH_ROWS: usize = 1 << 16;

/// Chunks that are: of many small files each is one, which becomes a batch of its own first.
const FLUSH_CHUNKS: usize = 1 << 10;

/// Bytes of lines kept as text that are.
const FLUSH_TEXT_BYTES: usize = 64 << 20;

/// Records that are committed together, if a file ends then.
const GROUP_ROWS: usize = 1 << 18;

/// Records in a data file.
const FILE_ROWS: usize = 1 << 20;

/// Bytes in memory of the rows of a data file.
const FILE_BYTES: usize = 256 << 20;

/// Programs that are remembered between groups.
const KNOWN_PROGRAMS: usize = 1 << 22;

/// Dataset and platform of records: what their files have in common.
type Place = (&'static str, Arc<str>);

/// Rows of one chunk and the file that they belong to.
struct Held {
    rows: Box<Rows>,
    place: Place,
    source_id: i64,
    /// Number of the chunk's first line in the file.
    first_line: u64,
}

impl Held {
    /// Identifiers, datasets and keys of its graphs.
    fn graphs(&self) -> impl Iterator<Item = (i64, (&str, &str))> {
        let dataset = self.place.0;
        let keys = self.rows.graphs.iter();
        keys.map(move |key| (graph_id(dataset, key), (dataset, key.as_str())))
    }

    /// Identifiers and datasets of its environments, and these.
    fn environments(&self) -> impl Iterator<Item = (i64, (&str, &Environment))> {
        let dataset = self.place.0;
        let environments = self.rows.environments.iter();
        environments.map(move |environment| {
            let id = environment_id(dataset, &environment.canonical());
            (id, (dataset, environment))
        })
    }
}

/// Rows that are not committed yet.
pub(super) struct Group<'a> {
    store: &'a Store,
    held: Vec<Held>,
    held_rows: usize,
    held_text_bytes: usize,
    configurations: Configurations,
    graphs: KnownIds,
    environments: KnownIds,
    batches: BTreeMap<Place, Vec<RecordBatch>>,
    files: Vec<DataFile>,
    /// Graphs and configurations that this run was the first to see.
    pub(super) new_graphs: u64,
    pub(super) new_configurations: u64,
}

/// The identifiers in a table at one version.
#[derive(Default)]
pub(super) struct KnownIds {
    read: ReadFiles,
    pub(super) version: Option<u64>,
    pub(super) ids: HashSet<i64>,
}

impl KnownIds {
    pub(super) async fn load(
        &mut self,
        store: &Store,
        table: &str,
        id: &str,
        at: &Snapshot,
    ) -> Result<()> {
        if self.version == Some(at.version()) {
            return Ok(());
        }
        if let Some(new) = self.read.new_at(at) {
            for batch in store.read(table, &new, &[id], None).await? {
                let ids = column::numbers::<arrow::datatypes::Int64Type>(&batch, id)?;
                self.ids.extend(ids.values().iter());
            }
        }
        self.version = Some(at.version());
        Ok(())
    }
}

impl<'a> Group<'a> {
    pub(super) fn new(store: &'a Store) -> Self {
        Self {
            store,
            held: Vec::new(),
            held_rows: 0,
            held_text_bytes: 0,
            configurations: Configurations::default(),
            graphs: KnownIds::default(),
            environments: KnownIds::default(),
            batches: BTreeMap::new(),
            files: Vec::new(),
            new_graphs: 0,
            new_configurations: 0,
        }
    }

    /// Takes the rows of a chunk.
    pub(super) async fn add(
        &mut self,
        rows: Box<Rows>,
        place: Place,
        source_id: i64,
        first_line: u64,
    ) -> Result<()> {
        self.held_rows += rows.records.len();
        let texts = rows.verbatim.iter().map(|(_, text)| text.len());
        self.held_text_bytes += texts.sum::<usize>();
        self.held.push(Held {
            rows,
            place,
            source_id,
            first_line,
        });
        if self.held_rows >= FLUSH_ROWS
            || self.held.len() >= FLUSH_CHUNKS
            || self.held_text_bytes >= FLUSH_TEXT_BYTES
        {
            self.flush().await?;
        }
        Ok(())
    }

    /// Rows that a commit would bring.
    pub(super) fn is_full(&self) -> bool {
        let batched: usize = self
            .batches
            .values()
            .flatten()
            .map(RecordBatch::num_rows)
            .sum();
        self.held_rows + batched >= GROUP_ROWS
    }

    /// Looks up or gives out the identifiers of all held rows and turns these into batches.
    async fn flush(&mut self) -> Result<()> {
        let held = std::mem::take(&mut self.held);
        (self.held_rows, self.held_text_bytes) = (0, 0);
        self.commit_graphs(&held).await?;
        self.commit_environments(&held).await?;
        self.commit_configurations(&held).await?;
        let mut new: BTreeMap<&Place, Vec<RecordBatch>> = BTreeMap::new();
        for held in &held {
            let batch = self.batch(held)?;
            if batch.num_rows() > 0 {
                new.entry(&held.place).or_default().push(batch);
            }
        }
        for (place, batches) in new {
            let Some(schema) = batches.first().map(RecordBatch::schema) else {
                continue;
            };
            let batch = concat_batches(&schema, &batches);
            let batch = batch.map_err(|error| Error::damaged("records", error.to_string()))?;
            self.batches.entry(place.clone()).or_default().push(batch);
        }
        let full = |batches: &Vec<RecordBatch>| {
            let bytes = batches.iter().map(RecordBatch::get_array_memory_size);
            batches.iter().map(RecordBatch::num_rows).sum::<usize>() >= FILE_ROWS
                || bytes.sum::<usize>() >= FILE_BYTES
        };
        let places = self.batches.iter().filter(|(_, batches)| full(batches));
        for place in places.map(|(place, _)| place.clone()).collect::<Vec<_>>() {
            self.write_records(&place).await?;
        }
        self.configurations.trim(KNOWN_PROGRAMS);
        Ok(())
    }

    async fn commit_graphs(&mut self, held: &[Held]) -> Result<()> {
        let keys: BTreeMap<i64, (&str, &str)> =
            held.iter().flat_map(|held| held.graphs()).collect();
        let (store, known) = (self.store, &mut self.graphs);
        if known.version.is_some() && keys.keys().all(|id| known.ids.contains(id)) {
            return Ok(());
        }
        let mut added = (0, 0);
        store
            .commit("graphs", "ingest", async |snapshot: &Snapshot| {
                known.load(store, "graphs", "graph_id", snapshot).await?;
                let new = keys.iter().filter(|(id, _)| !known.ids.contains(id));
                let (ids, new): (Vec<i64>, Vec<_>) = new.map(|(&id, &key)| (id, key)).unzip();
                let (datasets, texts) = new.into_iter().unzip::<_, _, Vec<_>, Vec<_>>();
                if ids.is_empty() {
                    return Ok(None);
                }
                added = (ids.len() as u64, snapshot.version() + 1);
                let columns = BTreeMap::from([
                    ("dataset", super::tables::texts(datasets)),
                    ("workload_key", super::tables::texts(texts)),
                    ("graph_id", Arc::new(Int64Array::from(ids)) as ArrayRef),
                ]);
                one_file(store, "graphs", columns).await.map(Some)
            })
            .await?;
        known.ids.extend(keys.keys());
        known.version = known.version.max(Some(added.1));
        self.new_graphs += added.0;
        Ok(())
    }

    async fn commit_environments(&mut self, held: &[Held]) -> Result<()> {
        let wanted: BTreeMap<i64, (&str, &Environment)> =
            held.iter().flat_map(|held| held.environments()).collect();
        let (store, known) = (self.store, &mut self.environments);
        if known.version.is_some() && wanted.keys().all(|id| known.ids.contains(id)) {
            return Ok(());
        }
        let mut version = 0;
        store
            .commit("environments", "ingest", async |snapshot: &Snapshot| {
                known
                    .load(store, "environments", "environment_id", snapshot)
                    .await?;
                let mut rows = EnvironmentRows::default();
                let new = wanted.iter().filter(|(id, _)| !known.ids.contains(id));
                for (&id, (dataset, environment)) in new {
                    rows.push(id, dataset, environment);
                }
                if rows.is_empty() {
                    return Ok(None);
                }
                version = snapshot.version() + 1;
                one_file(store, "environments", rows.finish())
                    .await
                    .map(Some)
            })
            .await?;
        known.ids.extend(wanted.keys());
        known.version = known.version.max(Some(version));
        Ok(())
    }

    async fn commit_configurations(&mut self, held: &[Held]) -> Result<()> {
        let programs = programs(held);
        let graphs: Vec<i64> = programs.keys().copied().collect();
        let (store, known) = (self.store, &mut self.configurations);
        let mut given: Vec<(i64, ProgramHash, i64)> = Vec::new();
        let mut version = None;
        store
            .commit("configurations", "ingest", async |snapshot: &Snapshot| {
                known.load(store, snapshot, &graphs).await?;
                given.clear();
                let mut rows = super::tables::ConfigurationRows::default();
                let mut number = next_number(snapshot, "config_id");
                for (&graph, programs) in &programs {
                    for &(hash, chunk, row) in programs {
                        if known.number(graph, hash).is_some() {
                            continue;
                        }
                        if let Some(held) = held.get(chunk) {
                            rows.push(graph, number, &held.rows, row);
                        }
                        given.push((graph, hash, number));
                        number += 1;
                    }
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

    fn batch(&self, held: &Held) -> Result<RecordBatch> {
        let graphs: Vec<i64> = held.graphs().map(|(id, _)| id).collect();
        let environments: Vec<i64> = held.environments().map(|(id, _)| id).collect();
        let verbatim: HashMap<usize, &[u8]> = held
            .rows
            .verbatim
            .iter()
            .map(|(row, text)| (*row, text.as_slice()))
            .collect();
        let missing = |what: &str| Error::damaged("records", format!("no {what} for a row"));
        let mut rows = RecordRows::new(held.source_id, held.rows.records.len());
        for (index, row) in held.rows.records.iter().enumerate() {
            let line = held.first_line + row.line;
            let graph = graphs
                .get(row.graph as usize)
                .ok_or_else(|| missing("graph"))?;
            let config = self.configurations.number(*graph, row.program);
            let environment = environments.get(row.environment as usize);
            rows.push(
                *graph,
                config.ok_or_else(|| missing("configuration"))?,
                *environment.ok_or_else(|| missing("environment"))?,
                line,
                row,
                held.rows.repeats(row),
                held.rows.details(row),
                verbatim.get(&index).copied(),
            );
        }
        file::batch(schema::table("records")?, rows.finish())
    }

    async fn write_records(&mut self, place: &Place) -> Result<()> {
        let Some(batches) = self.batches.remove(place) else {
            return Ok(());
        };
        let (dataset, platform) = place;
        let partition = [
            ("dataset".to_owned(), Some((*dataset).to_owned())),
            ("platform".to_owned(), Some(platform.to_string())),
        ];
        let table = schema::table("records")?;
        let location = self.store.location();
        let written = file::write(location, table, &partition, &batches, Effort::Ingest).await?;
        self.files.push(written);
        Ok(())
    }

    /// The files of all records so far, which nothing refers to yet.
    pub(super) async fn finish(&mut self) -> Result<Vec<DataFile>> {
        self.flush().await?;
        let places: Vec<_> = self.batches.keys().cloned().collect();
        for place in places {
            self.write_records(&place).await?;
        }
        Ok(std::mem::take(&mut self.files))
    }
}

/// The distinct programs of each graph in the order of their first records: hash, chunk, record.
fn programs(held: &[Held]) -> BTreeMap<i64, Vec<(ProgramHash, usize, usize)>> {
    let mut programs: BTreeMap<i64, Vec<(ProgramHash, usize, usize)>> = BTreeMap::new();
    let mut seen = HashSet::new();
    for (chunk, held) in held.iter().enumerate() {
        let graphs: Vec<i64> = held.graphs().map(|(id, _)| id).collect();
        for (index, row) in held.rows.records.iter().enumerate() {
            let Some(&graph) = graphs.get(row.graph as usize) else {
                continue;
            };
            if seen.insert((graph, row.program)) {
                programs
                    .entry(graph)
                    .or_default()
                    .push((row.program, chunk, index));
            }
        }
    }
    programs
}

/// Writes the columns as one file of an unpartitioned table; the change that adds it.
pub(super) async fn one_file(
    store: &Store,
    table: &str,
    columns: BTreeMap<&str, ArrayRef>,
) -> Result<Change> {
    let table = schema::table(table)?;
    let batch = file::batch(table, columns)?;
    let written = file::write(store.location(), table, &[], &[batch], Effort::Ingest).await?;
    Ok(Change {
        add: vec![written],
        ..Change::default()
    })
}

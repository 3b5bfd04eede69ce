//! The rows of some samples on their way into the store.

use std::collections::{BTreeMap, HashMap, HashSet};

use ahash::RandomState;
use arrow::array::Array as _;
use arrow::datatypes::{Int32Type, Int64Type};
use tsql_codecs::identity::{graph_id, text_id};
use tsql_codecs::opgraph::OpType;
use tsql_formats::graphnet::NAME;

use super::super::group::{KnownIds, one_file};
use super::super::runs::commit_texts;
use super::read::{Found, Loose};
use super::rows::{GraphRow, SampleRow, graph_columns, node_type_columns, sample_columns};
use crate::column;
use crate::dedupe::next_number;
use crate::error::{Error, Result};
use crate::store::{Snapshot, Store};

/// What an operation type is known by.
type Call = (String, u32);

/// The numbers of operation types at one version of their table.
#[derive(Default)]
struct KnownTypes {
    version: Option<u64>,
    numbers: HashMap<Call, i64, RandomState>,
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
        let columns = ["node_type_id", "signature", "output_count"];
        for batch in store.read("node_types", at, &columns, None).await? {
            let ids = column::numbers::<Int64Type>(&batch, "node_type_id")?;
            let signatures = column::text(&batch, "signature")?;
            let outputs = column::numbers::<Int32Type>(&batch, "output_count")?;
            for row in (0..batch.num_rows()).filter(|&row| signatures.is_valid(row)) {
                let call = (
                    signatures.value(row).to_owned(),
                    outputs.value(row).cast_unsigned(),
                );
                self.numbers.insert(call, ids.value(row));
            }
        }
        Ok(())
    }
}

/// A sample that is not committed yet.
pub(super) struct Held {
    pub(super) found: Found,
    /// Identifier and content hash of the graph of each of its parts that has one.
    pub(super) graphs: Vec<Option<(i64, String)>>,
}

impl Held {
    pub(super) fn new(found: Found) -> Self {
        let graphs = found.taken.samples.iter().map(|sample| {
            let program = sample.program.as_ref()?;
            let key = program.graph.content_hash();
            Some((graph_id(NAME, &key), key))
        });
        let graphs = graphs.collect();
        Self { found, graphs }
    }

    /// The rows of `samples`: the sample itself, then its variants, which share its graph unless
    /// they have one of their own.
    pub(super) fn rows(&self) -> Vec<SampleRow<'_>> {
        let samples = self.found.taken.samples.iter().zip(&self.graphs);
        let main = self.found.taken.samples.first();
        let main_graph = self.graphs.first().and_then(Option::as_ref);
        let rows = samples.map(|(sample, own)| {
            let variant = !sample.folder.is_empty();
            let graph = own.as_ref().or(main_graph.filter(|_| variant));
            let program = sample.program.as_ref();
            let program = program.or(main
                .and_then(|main| main.program.as_ref())
                .filter(|_| variant));
            SampleRow {
                path: if variant {
                    format!("{}/{}", self.found.path, sample.folder)
                } else {
                    self.found.path.clone()
                },
                variant_of: variant.then_some(self.found.path.as_str()),
                files_hash: &self.found.files_hash,
                graph_id: graph.map(|(id, _)| *id),
                size: program
                    .map(|program| (program.arguments.len(), program.graph.type_of_node.len())),
                sample,
                own_types: false,
            }
        });
        rows.collect()
    }

    /// The samples with the texts of their `model.py`.
    fn models(&self) -> impl Iterator<Item = (i64, i64)> {
        let rows = self.rows();
        let ids: Vec<i64> = rows.iter().map(SampleRow::sample_id).collect();
        let files = self.found.files.iter().zip(&self.found.taken.files);
        files.filter_map(move |(file, &(place, _))| {
            let id = *ids.get(place)?;
            is_model(&file.name).then(|| (id, text_id(&file.bytes)))
        })
    }
}

/// Samples and other files that are not committed yet.
pub(super) struct Group<'a> {
    store: &'a Store,
    held: Vec<Held>,
    loose: Vec<Loose>,
    bytes: usize,
    types: KnownTypes,
    graphs: KnownIds,
    texts: KnownIds,
    samples: KnownIds,
    pub(super) new_graphs: u64,
}

impl<'a> Group<'a> {
    pub(super) fn new(store: &'a Store) -> Self {
        Self {
            store,
            held: Vec::new(),
            loose: Vec::new(),
            bytes: 0,
            types: KnownTypes::default(),
            graphs: KnownIds::default(),
            texts: KnownIds::default(),
            samples: KnownIds::default(),
            new_graphs: 0,
        }
    }

    pub(super) fn add(&mut self, held: Held) {
        let bytes = held.found.files.iter().map(|file| file.bytes.len());
        self.bytes += bytes.sum::<usize>();
        self.held.push(held);
    }

    pub(super) fn add_loose(&mut self, loose: Loose) {
        self.bytes += loose.file.bytes.len();
        self.loose.push(loose);
    }

    /// Bytes of all files that a commit would bring.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Commits everything but the ledger. Of samples whose rows an interrupted run has left, maybe
    /// one of an older version, `model.py` is kept as text: gives samples and texts.
    pub(super) async fn finish(&mut self) -> Result<HashMap<i64, i64>> {
        let held = std::mem::take(&mut self.held);
        let loose = std::mem::take(&mut self.loose);
        self.bytes = 0;
        if held.is_empty() {
            self.commit_texts(&held, &loose, &HashSet::new()).await?;
            return Ok(HashMap::new());
        }
        self.commit_types(&held).await?;
        let own = self.commit_graphs(&held).await?;
        let left = self.commit_samples(&held, &own).await?;
        self.commit_texts(&held, &loose, &left).await?;
        let models = held.iter().flat_map(Held::models);
        Ok(models.filter(|(id, _)| left.contains(id)).collect())
    }

    async fn commit_types(&mut self, held: &[Held]) -> Result<()> {
        let (store, known) = (self.store, &mut self.types);
        let mut distinct: BTreeMap<(&str, u32), &OpType> = BTreeMap::new();
        let mut types: Vec<&OpType> = Vec::new();
        for one in programs(held).flat_map(|program| &program.graph.types) {
            let new = distinct.insert((&one.signature, one.outputs), one);
            if new.is_none() {
                types.push(one);
            }
        }
        let mut given: Vec<(Call, i64)> = Vec::new();
        let mut version = None;
        store
            .commit("node_types", "ingest", async |snapshot: &Snapshot| {
                known.load(store, snapshot).await?;
                let missing = types.iter().copied();
                let missing: Vec<&OpType> = missing
                    .filter(|one| !known.numbers.contains_key(&call(one)))
                    .collect();
                let first = next_number(snapshot, "node_type_id");
                given = missing.iter().map(|one| call(one)).zip(first..).collect();
                if missing.is_empty() {
                    return Ok(None);
                }
                version = Some(snapshot.version() + 1);
                one_file(store, "node_types", node_type_columns(first, &missing))
                    .await
                    .map(Some)
            })
            .await?;
        known.numbers.extend(given);
        known.version = version.or(known.version);
        Ok(())
    }

    /// Commits graphs; gives the places (of the sample, and in it) of those whose types of values
    /// are in the rows.
    async fn commit_graphs(&mut self, held: &[Held]) -> Result<HashSet<(usize, usize)>> {
        let (store, known, numbers) = (self.store, &mut self.graphs, &self.types.numbers);
        let mut new: BTreeMap<i64, (GraphRow<'_>, (usize, usize))> = BTreeMap::new();
        for (at, one) in held.iter().enumerate() {
            let samples = one.found.taken.samples.iter().zip(&one.graphs);
            for (part, (sample, graph)) in samples.enumerate() {
                let (Some(program), Some((id, key))) = (&sample.program, graph) else {
                    continue;
                };
                let types = program.graph.types.iter();
                let types = types.map(|one| numbers.get(&call(one)).copied());
                let types: Option<Vec<i64>> = types.collect();
                let lost = || Error::damaged("node_types", "numbers were lost");
                let row = GraphRow {
                    graph_id: *id,
                    key,
                    types: types.ok_or_else(lost)?,
                    graph: &program.graph,
                    output_types: &program.output_types,
                };
                new.entry(*id).or_insert((row, (at, part)));
            }
        }
        let mut added = 0;
        let mut rows: Vec<(GraphRow<'_>, (usize, usize))> = new.into_values().collect();
        store
            .commit("graphs", "ingest", async |snapshot: &Snapshot| {
                known.load(store, "graphs", "graph_id", snapshot).await?;
                rows.retain(|(row, _)| !known.ids.contains(&row.graph_id));
                added = rows.len() as u64;
                if rows.is_empty() {
                    return Ok(None);
                }
                let rows: Vec<&GraphRow<'_>> = rows.iter().map(|(row, _)| row).collect();
                one_file(store, "graphs", graph_columns(&rows))
                    .await
                    .map(Some)
            })
            .await?;
        known.ids.extend(rows.iter().map(|(row, _)| row.graph_id));
        self.new_graphs += added;
        Ok(rows.iter().map(|(_, place)| *place).collect())
    }

    async fn commit_texts(
        &mut self,
        held: &[Held],
        loose: &[Loose],
        left: &HashSet<i64>,
    ) -> Result<()> {
        let (store, known) = (self.store, &mut self.texts);
        let mut texts: BTreeMap<i64, (String, &[u8])> = BTreeMap::new();
        for one in held {
            let rows = one.rows();
            for (file, &(place, rebuilt)) in one.found.files.iter().zip(&one.found.taken.files) {
                let row = rows.get(place).map(SampleRow::sample_id);
                let left = is_model(&file.name) && row.is_some_and(|id| left.contains(&id));
                if !rebuilt || left {
                    let name = || {
                        (
                            format!("{}/{}", one.found.path, file.name),
                            file.bytes.as_slice(),
                        )
                    };
                    texts.entry(text_id(&file.bytes)).or_insert_with(name);
                }
            }
        }
        for one in loose {
            let name = || (one.reading.name.clone(), one.file.bytes.as_slice());
            texts.entry(text_id(&one.file.bytes)).or_insert_with(name);
        }
        commit_texts(store, known, &texts).await
    }

    /// Commits samples; gives those that the store had.
    async fn commit_samples(
        &mut self,
        held: &[Held],
        typed: &HashSet<(usize, usize)>,
    ) -> Result<HashSet<i64>> {
        let (store, known) = (self.store, &mut self.samples);
        let mut rows: Vec<SampleRow<'_>> = Vec::new();
        for (at, one) in held.iter().enumerate() {
            for (part, row) in one.rows().into_iter().enumerate() {
                rows.push(SampleRow {
                    own_types: !typed.contains(&(at, part)),
                    ..row
                });
            }
        }
        let mut left = HashSet::new();
        store
            .commit("samples", "ingest", async |snapshot: &Snapshot| {
                known.load(store, "samples", "sample_id", snapshot).await?;
                rows.retain(|row| {
                    let is_new = !known.ids.contains(&row.sample_id());
                    if !is_new {
                        left.insert(row.sample_id());
                    }
                    is_new
                });
                if rows.is_empty() {
                    return Ok(None);
                }
                one_file(store, "samples", sample_columns(&rows))
                    .await
                    .map(Some)
            })
            .await?;
        Ok(left)
    }
}

/// Is this the file of a graph?
pub(super) fn is_model(name: &str) -> bool {
    name.rsplit('/').next() == Some("model.py")
}

fn call(one: &OpType) -> Call {
    (one.signature.clone(), one.outputs)
}

fn programs(held: &[Held]) -> impl Iterator<Item = &tsql_formats::graphnet::program::Program> {
    let samples = held.iter().flat_map(|held| &held.found.taken.samples);
    samples.filter_map(|sample| sample.program.as_ref())
}

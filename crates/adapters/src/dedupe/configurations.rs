//! Deduplication of configurations, by graph.
//!
//! Two programs are the same configuration if their canonical steps (for layouts: the layout of each node) have the
//! same XXH3-128, together with the program and build of their kernel if these are known. Ids are sequential and take a
//! bit or two in a file instead of eight bytes. With hashes as ids, a record and its configuration would spend 16 bytes
//! on the reference, more than on all other columns.

use std::collections::HashMap;

use ahash::RandomState;
use arrow::array::{RecordBatch, StringViewArray};
use arrow::datatypes::Int64Type;
use datafusion::prelude::{col, lit};
use futures::future::BoxFuture;
use tsql_codecs::identity::ProgramHash;
use tsql_codecs::steps::StepsHasher;
use tsql_error::{Error, Result};
use tsql_formats::rows::Kernel;
use tsql_schema::column;
use tsql_store::{Snapshot, Store};

use super::ReadFiles;
use super::number_allocation::NumberAllocator;

/// Columns of configurations that identify their kernels.
pub struct Kernels<'a> {
    programs: &'a StringViewArray,
    builds: &'a StringViewArray,
}

impl<'a> Kernels<'a> {
    /// Reads the columns `program` and `build` of a batch.
    pub fn from_batch(batch: &'a RecordBatch) -> Result<Self> {
        Ok(Self {
            programs: column::text(batch, "program")?,
            builds: column::text(batch, "build")?,
        })
    }

    /// Returns the kernel of a row, if known.
    pub fn at(&self, row: usize) -> Option<Kernel> {
        let text = |column| column::text_at(column, row).map(str::to_owned);
        let (program, build) = (text(self.programs), text(self.builds));
        (program.is_some() || build.is_some()).then_some(Kernel { program, build })
    }

    /// Returns the hash that identifies the configuration of a row with these steps.
    pub fn hash(&self, row: usize, steps: ProgramHash) -> ProgramHash {
        let text = |column| column::text_at(column, row);
        steps.for_kernel(text(self.programs), text(self.builds))
    }
}

/// Configurations of some graphs at one version of their table.
#[derive(Debug, Default)]
pub struct Configurations {
    version: Option<u64>,
    read: ReadFiles,
    graphs: HashMap<i64, HashMap<ProgramHash, i64, RandomState>>,
}

impl Configurations {
    /// Loads all configurations of these graphs at `snapshot` that are not loaded yet.
    pub fn load_graphs<'a>(
        &'a mut self,
        store: &'a Store,
        snapshot: &'a Snapshot,
        graphs: &'a [i64],
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let columns = [
                "graph_id",
                "config_id",
                "sketch",
                "params",
                "program",
                "build",
            ];
            let among = |graphs: Vec<i64>| {
                let graphs = graphs.into_iter().map(lit).collect();
                Some(col("graph_id").in_list(graphs, false))
            };
            if self.version != Some(snapshot.version()) {
                self.version = Some(snapshot.version());
                let known: Vec<i64> = self.graphs.keys().copied().collect();
                if let Some(new) = self
                    .read
                    .take_unread(snapshot)
                    .filter(|_| !known.is_empty())
                {
                    let read = store.read("configurations", &new, &columns, among(known));
                    for batch in read.await? {
                        self.add_batch(&batch)?;
                    }
                }
            }
            let unknown: Vec<i64> = graphs
                .iter()
                .copied()
                .filter(|graph| !self.graphs.contains_key(graph))
                .collect();
            self.graphs
                .extend(unknown.iter().map(|&graph| (graph, HashMap::default())));
            if unknown.is_empty() || snapshot.files().is_empty() {
                return Ok(());
            }
            let read = store.read("configurations", snapshot, &columns, among(unknown));
            for batch in read.await? {
                self.add_batch(&batch)?;
            }
            Ok(())
        })
    }

    fn add_batch(&mut self, batch: &RecordBatch) -> Result<()> {
        let graphs = column::numbers::<Int64Type>(batch, "graph_id")?;
        let configs = column::numbers::<Int64Type>(batch, "config_id")?;
        let (sketches, params) = (
            column::text(batch, "sketch")?,
            column::bytes(batch, "params")?,
        );
        let kernels = Kernels::from_batch(batch)?;
        let mut hasher = StepsHasher::default();
        for row in 0..batch.num_rows() {
            let number = configs.value(row);
            let sketch = column::text_at(sketches, row).unwrap_or_default();
            let program = hasher.hash(sketch, column::bytes_at(params, row));
            let program = program.ok_or_else(|| {
                let reason = format!("parameters of {number} do not fit their sketch");
                Error::damaged("configurations", reason)
            })?;
            let key = (graphs.value(row), kernels.hash(row, program));
            self.insert(key, number);
        }
        Ok(())
    }

    /// Clears the cache if it has more than `limit` programs.
    pub fn trim(&mut self, limit: usize) {
        if self.graphs.values().map(HashMap::len).sum::<usize>() > limit {
            self.graphs.clear();
        }
    }
}

impl NumberAllocator for Configurations {
    type Key = (i64, ProgramHash);

    fn table() -> (&'static str, &'static str) {
        ("configurations", "config_id")
    }

    async fn load<R>(
        &mut self,
        store: &Store,
        at: &Snapshot,
        rows: &[(Self::Key, R)],
    ) -> Result<()> {
        let mut graphs: Vec<i64> = rows.iter().map(|((graph, _), _)| *graph).collect();
        graphs.dedup();
        graphs.sort_unstable();
        graphs.dedup();
        self.load_graphs(store, at, &graphs).await
    }

    fn number(&self, (graph, program): &Self::Key) -> Option<i64> {
        self.graphs.get(graph)?.get(program).copied()
    }

    fn insert(&mut self, (graph, program): Self::Key, number: i64) {
        let programs = self.graphs.entry(graph).or_default();
        programs.insert(program, number);
    }

    fn advance(&mut self, version: u64) {
        self.version = Some(version);
    }
}

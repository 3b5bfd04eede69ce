//! The numbers of the configurations of the graphs at hand.
//!
//! Two programs are one configuration where their canonical steps (of layouts: what each node gets)
//! have the same XXH3-128, with the program and the build of their kernel where these are known. A number
//! costs a bit or two in a file and not eight bytes: with hashes for numbers, a record and its configuration
//! would spend 16 bytes on naming each other, more than on all else of them.

use std::collections::HashMap;

use ahash::RandomState;
use arrow::array::{RecordBatch, StringViewArray};
use arrow::datatypes::Int64Type;
use datafusion::prelude::{col, lit};
use futures::future::BoxFuture;
use tsql_codecs::identity::ProgramHash;
use tsql_codecs::steps::Hasher;
use tsql_formats::rows::Kernel;

use super::ReadFiles;
use super::numbered::Numbers;
use crate::column;
use crate::error::{Error, Result};
use crate::store::{Snapshot, Store};

/// The columns of configurations that say what their kernels were made of.
pub(crate) struct Kernels<'a> {
    programs: &'a StringViewArray,
    builds: &'a StringViewArray,
}

impl<'a> Kernels<'a> {
    /// Those of a batch with the columns `program` and `build`.
    pub(crate) fn of(batch: &'a RecordBatch) -> Result<Self> {
        Ok(Self {
            programs: column::text(batch, "program")?,
            builds: column::text(batch, "build")?,
        })
    }

    /// What is known of the kernel of a row.
    pub(crate) fn at(&self, row: usize) -> Option<Kernel> {
        let text = |column| column::text_at(column, row).map(str::to_owned);
        let (program, build) = (text(self.programs), text(self.builds));
        (program.is_some() || build.is_some()).then_some(Kernel { program, build })
    }

    /// What tells the configuration of a row with these steps apart.
    pub(crate) fn hash(&self, row: usize, steps: ProgramHash) -> ProgramHash {
        let text = |column| column::text_at(column, row);
        steps.of_kernel(text(self.programs), text(self.builds))
    }
}

/// The configurations of some graphs at one version of their table.
#[derive(Debug, Default)]
pub(crate) struct Configurations {
    version: Option<u64>,
    read: ReadFiles,
    graphs: HashMap<i64, HashMap<ProgramHash, i64, RandomState>>,
}

impl Configurations {
    /// Makes sure that all configurations of these graphs at `snapshot` are known.
    pub(crate) fn load_graphs<'a>(
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
                if let Some(new) = self.read.new_at(snapshot).filter(|_| !known.is_empty()) {
                    let read = store.read("configurations", &new, &columns, among(known));
                    for batch in read.await? {
                        self.learn(&batch)?;
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
                self.learn(&batch)?;
            }
            Ok(())
        })
    }

    fn learn(&mut self, batch: &RecordBatch) -> Result<()> {
        let graphs = column::numbers::<Int64Type>(batch, "graph_id")?;
        let configs = column::numbers::<Int64Type>(batch, "config_id")?;
        let (sketches, params) = (
            column::text(batch, "sketch")?,
            column::bytes(batch, "params")?,
        );
        let kernels = Kernels::of(batch)?;
        let mut hasher = Hasher::default();
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

    /// Forgets everything where it has grown past `limit` programs.
    pub(crate) fn trim(&mut self, limit: usize) {
        if self.graphs.values().map(HashMap::len).sum::<usize>() > limit {
            self.graphs.clear();
        }
    }
}

impl Numbers for Configurations {
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

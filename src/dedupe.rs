//! What a store knows already: the numbers of the configurations of the graphs at hand.
//!
//! Two programs are one configuration where their canonical steps (of layouts: what each node gets)
//! have the same XXH3-128, with the program and the build of their kernel where these are known. Numbers
//! are given out one after the other, so that a column of them costs a bit or two in a file and
//! not eight bytes: with hashes for numbers, a record and its configuration would spend 16 bytes on
//! naming each other, more than on all else of them. Two writers cannot give out the same number:
//! a commit of configurations is an exclusive step (see `store::commit`), after losing it a writer
//! looks up and numbers anew.

use std::collections::{HashMap, HashSet};

use ahash::RandomState;
use arrow::array::{RecordBatch, StringViewArray};
use arrow::datatypes::Int64Type;
use datafusion::prelude::{col, lit};
use serde_json::Value;
use tsql_codecs::identity::ProgramHash;
use tsql_codecs::steps::Hasher;
use tsql_formats::rows::Kernel;

use crate::column;
use crate::error::{Error, Result};
use crate::store::file::DataFile;
use crate::store::{Snapshot, Store};

/// Files of a table that were read: rows never change, so of a newer version only new files are.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReadFiles(HashSet<String>);

impl ReadFiles {
    /// The same version with only those files that were not read yet; they count as read from now
    /// on. `None` where there are none.
    pub(crate) fn new_at(&mut self, at: &Snapshot) -> Option<Snapshot> {
        let new = at
            .files()
            .iter()
            .filter(|file| !self.0.contains(&file.path));
        let new: Vec<DataFile> = new.cloned().collect();
        self.0.extend(new.iter().map(|file| file.path.clone()));
        (!new.is_empty()).then(|| at.only(new))
    }
}

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
    pub(crate) async fn load(
        &mut self,
        store: &Store,
        snapshot: &Snapshot,
        graphs: &[i64],
    ) -> Result<()> {
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
            self.insert(graphs.value(row), kernels.hash(row, program), number);
        }
        Ok(())
    }

    /// The number of a program, where it has one.
    pub(crate) fn number(&self, graph: i64, program: ProgramHash) -> Option<i64> {
        self.graphs.get(&graph)?.get(&program).copied()
    }

    /// Remembers a number that is in the store.
    pub(crate) fn insert(&mut self, graph: i64, program: ProgramHash, number: i64) {
        self.graphs
            .entry(graph)
            .or_default()
            .insert(program, number);
    }

    /// What is known is what `version` of the table holds.
    pub(crate) fn advance(&mut self, version: u64) {
        self.version = Some(version);
    }

    /// Forgets everything where it has grown past `limit` programs.
    pub(crate) fn trim(&mut self, limit: usize) {
        if self.graphs.values().map(HashMap::len).sum::<usize>() > limit {
            self.graphs.clear();
        }
    }
}

/// The number after the greatest that is taken in `column` at `snapshot`.
pub(crate) fn next_number(snapshot: &Snapshot, column: &str) -> i64 {
    let greatest = |file: &DataFile| file.stats.max_values.get(column).and_then(Value::as_i64);
    snapshot
        .files()
        .iter()
        .filter_map(greatest)
        .max()
        .map_or(0, |greatest| greatest + 1)
}

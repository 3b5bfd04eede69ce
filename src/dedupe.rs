//! What a store knows already: the numbers of the configurations of the graphs at hand.
//!
//! Two programs are one configuration where their canonical steps have the same XXH3-128. Numbers
//! are given out in blocks: a block starts at a hash, and its members follow each other, so that a
//! column of them costs a bit or two in a file and not eight bytes (with hashes alone, a record and
//! its configuration would spend 16 bytes on naming each other, more than all else of them).

use std::collections::HashMap;

use arrow::array::RecordBatch;
use arrow::datatypes::Int64Type;
use datafusion::prelude::{col, lit};

use crate::column;
use crate::error::{Error, Result};
use crate::identity::{CONFIG_BLOCK, ProgramHash, config_block};
use crate::sketch;
use crate::store::{Snapshot, Store};

/// The configurations of some graphs at one version of their table.
#[derive(Debug, Default)]
pub(crate) struct Configurations {
    version: Option<u64>,
    graphs: HashMap<i64, Graph>,
}

#[derive(Debug, Default)]
struct Graph {
    numbers: HashMap<ProgramHash, i64>,
    /// First number of each block -> the last that is taken.
    blocks: HashMap<i64, i64>,
}

impl Configurations {
    /// Makes sure that all configurations of these graphs at `snapshot` are known.
    pub(crate) async fn load(
        &mut self,
        store: &Store,
        snapshot: &Snapshot,
        graphs: &[i64],
    ) -> Result<()> {
        if self.version != Some(snapshot.version()) {
            self.graphs.clear();
            self.version = Some(snapshot.version());
        }
        let unknown: Vec<i64> =
            graphs.iter().copied().filter(|graph| !self.graphs.contains_key(graph)).collect();
        self.graphs.extend(unknown.iter().map(|&graph| (graph, Graph::default())));
        if unknown.is_empty() || snapshot.files().is_empty() {
            return Ok(());
        }
        let wanted = col("graph_id").in_list(unknown.into_iter().map(lit).collect(), false);
        let columns = ["graph_id", "config_id", "sketch", "params"];
        for batch in store.read("configurations", snapshot, &columns, Some(wanted)).await? {
            self.learn(&batch)?;
        }
        Ok(())
    }

    fn learn(&mut self, batch: &RecordBatch) -> Result<()> {
        let graphs = column::numbers::<Int64Type>(batch, "graph_id")?;
        let configs = column::numbers::<Int64Type>(batch, "config_id")?;
        let (sketches, params) = (column::text(batch, "sketch")?, column::bytes(batch, "params")?);
        let mut steps = Vec::new();
        for row in 0..batch.num_rows() {
            steps.clear();
            let sketch = column::text_at(sketches, row).unwrap_or_default();
            if !sketch::fill(sketch.as_bytes(), column::bytes_at(params, row), &mut steps) {
                let reason = format!("parameters of {} do not fit their sketch", configs.value(row));
                return Err(Error::damaged("configurations", reason));
            }
            self.insert(graphs.value(row), ProgramHash::of(&steps), configs.value(row));
        }
        Ok(())
    }

    /// The number of a program, where it has one.
    pub(crate) fn number(&self, graph: i64, program: ProgramHash) -> Option<i64> {
        self.graphs.get(&graph)?.numbers.get(&program).copied()
    }

    /// Numbers for programs of `graph` that have none yet, in their order.
    pub(crate) fn numbers_for(&self, graph: i64, programs: &[ProgramHash]) -> Vec<i64> {
        let empty = Graph::default();
        let known = self.graphs.get(&graph).unwrap_or(&empty);
        let unfilled = |&(&block, &last): &(&i64, &i64)| last < block + CONFIG_BLOCK - 1;
        let mut next = known.blocks.iter().filter(unfilled).map(|(_, &last)| last + 1).max();
        let mut begun = Vec::new();
        let mut numbers = Vec::with_capacity(programs.len());
        for &program in programs {
            let number = next.unwrap_or_else(|| {
                let mut block = config_block(graph, program);
                while known.blocks.contains_key(&block) || begun.contains(&block) {
                    block = (block + CONFIG_BLOCK) & i64::MAX;
                }
                begun.push(block);
                block
            });
            numbers.push(number);
            next = Some(number + 1).filter(|next| next % CONFIG_BLOCK != 0);
        }
        numbers
    }

    /// Remembers a number that is in the store.
    pub(crate) fn insert(&mut self, graph: i64, program: ProgramHash, number: i64) {
        let graph = self.graphs.entry(graph).or_default();
        graph.numbers.insert(program, number);
        let last = graph.blocks.entry(number & !(CONFIG_BLOCK - 1)).or_insert(number);
        *last = number.max(*last);
    }

    /// What is known is what `version` of the table holds.
    pub(crate) fn advance(&mut self, version: u64) {
        self.version = Some(version);
    }

    /// Forgets everything where it has grown past `limit` programs.
    pub(crate) fn trim(&mut self, limit: usize) {
        if self.graphs.values().map(|graph| graph.numbers.len()).sum::<usize>() > limit {
            self.graphs.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn programs(count: usize) -> Vec<ProgramHash> {
        (0..count).map(|index| ProgramHash::of(&index.to_le_bytes())).collect()
    }

    #[test]
    fn numbers_follow_each_other_and_are_never_given_twice() {
        let mut known = Configurations::default();
        let block = usize::try_from(CONFIG_BLOCK).unwrap();
        let programs = programs(block * 2 + 5);
        let (first, rest) = programs.split_at(10);
        let mut given = known.numbers_for(7, first);
        assert!(given.windows(2).all(|pair| pair[1] == pair[0] + 1));
        first.iter().zip(&given).for_each(|(&program, &number)| known.insert(7, program, number));
        let more = known.numbers_for(7, rest);
        assert_eq!(more[0], given[9] + 1, "the begun block goes on");
        given.extend(more);
        let distinct: std::collections::HashSet<_> = given.iter().collect();
        assert_eq!(distinct.len(), programs.len());
        assert!(given.iter().all(|&number| number >= 0));
    }

    #[test]
    fn the_same_programs_get_the_same_numbers_anywhere() {
        let programs = programs(20);
        let here = Configurations::default().numbers_for(3, &programs);
        assert_eq!(here, Configurations::default().numbers_for(3, &programs));
        assert_ne!(here, Configurations::default().numbers_for(4, &programs));
    }
}

//! Copy of configurations, with new ids in the other store.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use arrow::datatypes::Int64Type;
use datafusion::logical_expr::Expr;
use datafusion::prelude::col;
use futures::StreamExt as _;
use tsql_adapters::dedupe::{Configurations, Kernels, NumberAllocator as _, next_number};
use tsql_codecs::steps::StepsHasher;
use tsql_error::{Error, Result};
use tsql_schema as schema;
use tsql_schema::column;
use tsql_store::file::DataFile;
use tsql_store::{Change, Snapshot, file};

use super::identified_tables::{filter_marked, replace_column, stored_names};
use super::job::CopyJob;
use super::plan::Plan;

const TABLE: &str = "configurations";

/// Rows per data file.
const FILE_ROWS: usize = 1 << 20;

/// Marks a configuration that is not copied.
const NONE: i64 = i64::MIN;

/// Configuration ids in the other store.
#[derive(Debug, Default)]
pub(super) struct ConfigurationNumbers {
    /// New ids by old id. `None` if all ids stay the same.
    given: Option<Vec<i64>>,
    pub(super) new: u64,
}

impl ConfigurationNumbers {
    /// Returns whether all ids stay the same.
    pub(super) fn are_unchanged(&self) -> bool {
        self.given.is_none()
    }

    /// Maps the configuration ids of some records.
    pub(super) fn map(&self, own: &Int64Array) -> Result<ArrayRef> {
        let Some(given) = &self.given else {
            return Ok(Arc::new(own.clone()));
        };
        let number = |own: &i64| {
            let place = usize::try_from(*own).ok();
            place
                .and_then(|place| given.get(place))
                .copied()
                .filter(|number| *number != NONE)
        };
        let numbers: Option<Vec<i64>> = own.values().iter().map(number).collect();
        let missing = || Error::damaged(TABLE, "no configuration for a record");
        Ok(Arc::new(Int64Array::from(numbers.ok_or_else(missing)?)))
    }
}

impl CopyJob<'_> {
    /// Copies the configurations that the other store does not have.
    pub(super) async fn copy_configurations(&self, plan: &Plan) -> Result<ConfigurationNumbers> {
        let from = self.from.snapshot(TABLE).await?;
        let Some(from) = from.filter(|from| !from.files().is_empty()) else {
            return Ok(ConfigurationNumbers::default());
        };
        let wanted = if plan.is_whole {
            None
        } else {
            Some(self.referenced_configurations().await?)
        };
        let mut known = Configurations::default();
        let mut numbers = ConfigurationNumbers::default();
        self.to
            .commit(TABLE, "copy", async |snapshot: &Snapshot| {
                let add = if snapshot.files().is_empty() && plan.is_whole {
                    numbers = ConfigurationNumbers {
                        new: from.files().iter().map(|file| file.stats.num_records).sum(),
                        given: None,
                    };
                    self.copy_data_files(TABLE, &from).await?
                } else {
                    let written =
                        self.write_new_configurations(&from, snapshot, wanted.as_ref(), &mut known);
                    let (given, add) = written.await?;
                    numbers = given;
                    add
                };
                Ok((!add.is_empty()).then(|| Change {
                    add,
                    ..Change::default()
                }))
            })
            .await?;
        Ok(numbers)
    }

    /// Writes new configurations, with ids that follow those of the other store.
    async fn write_new_configurations(
        &self,
        from: &Snapshot,
        to: &Snapshot,
        wanted: Option<&HashSet<i64>>,
        known: &mut Configurations,
    ) -> Result<(ConfigurationNumbers, Vec<DataFile>)> {
        let graphs = self.common_graphs(to).await?;
        let list: Vec<i64> = graphs.iter().copied().collect();
        known.load_graphs(self.to, to, &list).await?;
        let first = next_number(to, "config_id");
        let (mut next, mut given) = (first, Vec::new());
        let of: u64 = from.files().iter().map(|file| file.stats.num_records).sum();
        let names: Vec<Expr> = stored_names(TABLE)?.into_iter().map(col).collect();
        let rows = self.from.frame(TABLE, from)?.select(names);
        let mut rows = rows
            .map_err(Error::Query)?
            .execute_stream()
            .await
            .map_err(Error::Query)?;
        let (mut hasher, mut done) = (StepsHasher::default(), 0);
        let (mut files, mut waiting): (Vec<DataFile>, Vec<RecordBatch>) = Default::default();
        while let Some(batch) = rows.next().await {
            let batch = batch.map_err(Error::Query)?;
            let own = column::numbers::<Int64Type>(&batch, "config_id")?;
            let of_graphs = column::numbers::<Int64Type>(&batch, "graph_id")?;
            let (sketches, params) = (
                column::text(&batch, "sketch")?,
                column::bytes(&batch, "params")?,
            );
            let kernels = Kernels::from_batch(&batch)?;
            let mut is_new = vec![false; batch.num_rows()];
            let mut numbers = own.values().to_vec();
            for (row, (number, is_new)) in numbers.iter_mut().zip(&mut is_new).enumerate() {
                let id = *number;
                if wanted.is_some_and(|wanted| !wanted.contains(&id)) {
                    continue;
                }
                let graph = of_graphs.value(row);
                let there = if graphs.contains(&graph) {
                    let steps = hasher.hash(sketches.value(row), column::bytes_at(params, row));
                    let steps = steps.ok_or_else(|| {
                        Error::damaged(TABLE, "parameters that do not fit their sketch")
                    })?;
                    known.number(&(graph, kernels.hash(row, steps)))
                } else {
                    None
                };
                *number = there.unwrap_or(next);
                if there.is_none() {
                    (*is_new, next) = (true, next + 1);
                }
                let place =
                    usize::try_from(id).map_err(|_| Error::damaged(TABLE, "a number below 0"))?;
                if given.len() <= place {
                    given.resize(place + 1, NONE);
                }
                if let Some(given) = given.get_mut(place) {
                    *given = *number;
                }
            }
            let numbers: ArrayRef = Arc::new(Int64Array::from(numbers));
            waiting.extend(filter_marked(
                TABLE,
                &replace_column(&batch, "config_id", numbers)?,
                &is_new,
            )?);
            if waiting.iter().map(RecordBatch::num_rows).sum::<usize>() >= FILE_ROWS {
                files.push(self.write_rows(TABLE, &[], &waiting).await?);
                waiting.clear();
            }
            done += batch.num_rows() as u64;
            self.options.report_progress(TABLE, done, of);
        }
        if !waiting.is_empty() {
            files.push(self.write_rows(TABLE, &[], &waiting).await?);
        }
        let numbers = ConfigurationNumbers {
            given: Some(given),
            new: (next - first).unsigned_abs(),
        };
        Ok((numbers, files))
    }

    /// Returns the graphs of this store of which the other one has configurations.
    async fn common_graphs(&self, to: &Snapshot) -> Result<HashSet<i64>> {
        let of = async |store: &tsql_store::Store, at: &Snapshot| -> Result<HashSet<i64>> {
            let mut graphs = HashSet::new();
            if at.files().is_empty() {
                return Ok(graphs);
            }
            let frame = store.frame(TABLE, at)?.select(vec![col("graph_id")]);
            let frame = frame.and_then(datafusion::dataframe::DataFrame::distinct);
            let batches = frame.map_err(Error::Query)?.collect().await;
            for batch in batches.map_err(Error::Query)? {
                graphs.extend(column::numbers::<Int64Type>(&batch, "graph_id")?.values());
            }
            Ok(graphs)
        };
        let theirs = of(self.to, to).await?;
        let Some(from) = self.from.snapshot(TABLE).await? else {
            return Ok(theirs);
        };
        let own = of(self.from, &from).await?;
        Ok(own.intersection(&theirs).copied().collect())
    }

    /// Copies the files of a table unchanged.
    pub(super) async fn copy_data_files(
        &self,
        table: &str,
        from: &Snapshot,
    ) -> Result<Vec<DataFile>> {
        let table = schema::table(table)?;
        let of: u64 = from.files().iter().map(|file| file.stats.num_records).sum();
        let mut files = Vec::with_capacity(from.files().len());
        let mut done = 0;
        for file in from.files().iter() {
            let (from, to) = (self.from.location(), self.to.location());
            files.push(file::copy_to_store(from, to, table, file).await?);
            done += file.stats.num_records;
            self.options.report_progress(&table.name, done, of);
        }
        Ok(files)
    }
}

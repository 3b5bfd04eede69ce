//! Commits the rows of benchmark logs.

use std::collections::BTreeMap;
use std::sync::Arc;

use tsql_codecs::identity::ProgramHash;
use tsql_error::{Error, Result};
use tsql_formats::graphnet::NAME;
use tsql_formats::rows::Sketch;
use tsql_schema as schema;
use tsql_store::{Store, file};

use super::columns::{
    RunRow, environment_columns, graph_columns, graph_key, record_columns, run_columns,
};
use super::read::ParsedLog;
use crate::dedupe::{Configurations as Known, KnownIds, NumberAllocator, assign_numbers};
use crate::formats::configurations::ConfigurationRows;
use crate::formats::format_reader::{CommitBatch, CommitOutput, ParseSummary, TableRows};
use crate::formats::texts::commit_texts;
use crate::ingest_log::SourceSegment;

/// Records per commit; checked at the end of a log.
const GROUP_ROWS: usize = 1 << 14;

/// Log bytes per commit; checked at the end of a log.
const GROUP_BYTES: usize = 64 << 20;

/// Benchmark logs that are not yet committed.
pub(crate) struct PendingRuns {
    /// Rows with their platforms.
    rows: Vec<(Arc<str>, RunRow)>,
    /// Texts by identifier, with the names of their logs.
    texts: BTreeMap<i64, (String, Vec<u8>)>,
    bytes: usize,
    graphs: KnownIds,
    environments: KnownIds,
    known_texts: KnownIds,
}

impl CommitBatch for PendingRuns {
    type Read = ParsedLog;

    async fn begin(_: &Store) -> Result<Self> {
        Ok(Self {
            rows: Vec::new(),
            texts: BTreeMap::new(),
            bytes: 0,
            graphs: KnownIds::graphs(),
            environments: KnownIds::environments(),
            known_texts: KnownIds::texts(),
        })
    }

    fn add(&mut self, read: ParsedLog) -> ParseSummary {
        if let Some(reading) = read.told.closed.first().map(|closed| &closed.reading) {
            let platform: Arc<str> = Arc::from(reading.platform.as_str());
            let rows = read.rows.into_iter();
            self.rows
                .extend(rows.map(|row| (Arc::clone(&platform), row)));
            if let Some((id, text)) = read.text {
                let name = reading.name.clone();
                self.texts.entry(id).or_insert((name, text));
            }
        }
        self.bytes += read.new_bytes;
        read.told
    }

    fn is_full(&self, _: usize) -> bool {
        self.rows.len() >= GROUP_ROWS || self.bytes >= GROUP_BYTES
    }

    async fn commit(&mut self, store: &Store, _: &mut [SourceSegment]) -> Result<CommitOutput> {
        let rows = std::mem::take(&mut self.rows);
        let texts = std::mem::take(&mut self.texts);
        self.bytes = 0;
        let committed = self.commit_rows(store, &rows).await?;
        let texts = texts.iter();
        let texts = texts.map(|(&id, (name, text))| (id, (name.clone(), text.as_slice())));
        commit_texts(&mut self.known_texts, store, texts.collect()).await?;
        Ok(committed)
    }

    fn clear(&mut self) {
        self.rows.clear();
        self.texts.clear();
        self.bytes = 0;
    }
}

impl PendingRuns {
    /// Commits everything that records refer to.
    async fn commit_rows(
        &mut self,
        store: &Store,
        rows: &[(Arc<str>, RunRow)],
    ) -> Result<CommitOutput> {
        if rows.is_empty() {
            return Ok(CommitOutput::default());
        }
        let graphs = rows.iter();
        let graphs: BTreeMap<i64, String> = graphs
            .map(|(_, row)| (row.graph_id, graph_key(&row.run.model_path)))
            .collect();
        let graphs: Vec<(i64, String)> = graphs.into_iter().collect();
        let new_graphs = self.graphs.add(store, &graphs, graph_columns).await?.len();
        let environments = rows.iter().map(|(_, row)| {
            let environment = (row.target.as_str(), row.framework_version.as_str());
            (row.environment_id, environment)
        });
        let environments: BTreeMap<i64, (&str, &str)> = environments.collect();
        let environments: Vec<_> = environments.into_iter().collect();
        let columns = environment_columns;
        self.environments.add(store, &environments, columns).await?;
        let mut known = Known::default();
        let programs = rows
            .iter()
            .map(|(_, row)| ((row.graph_id, row.program), row));
        let programs: Vec<((i64, ProgramHash), &RunRow)> = programs.collect();
        let new_configurations = assign_numbers(&mut known, store, &programs, |new| {
            let mut rows = ConfigurationRows::default();
            for &(number, &((graph, _), row)) in new {
                let sketch = Sketch {
                    text: row.steps.clone().into_bytes(),
                    literal: true,
                };
                rows.push_open(graph, number, &sketch, None, None);
            }
            rows.finish()
        })
        .await?;
        Ok(CommitOutput {
            rows: batches(rows, &known)?,
            new_graphs: new_graphs as u64,
            new_configurations,
        })
    }
}

/// Rows of `records` by platform, and rows of `runs`.
fn batches(rows: &[(Arc<str>, RunRow)], known: &Known) -> Result<Vec<TableRows>> {
    let mut by_platform: BTreeMap<&Arc<str>, Vec<&RunRow>> = BTreeMap::new();
    for (platform, row) in rows {
        by_platform.entry(platform).or_default().push(row);
    }
    let mut batches = Vec::with_capacity(by_platform.len() + 1);
    for (platform, rows) in by_platform {
        let numbers = rows.iter().map(|row| {
            let number = known.number(&(row.graph_id, row.program));
            number.ok_or_else(|| Error::damaged("records", "no configuration for a row"))
        });
        let numbers: Vec<i64> = numbers.collect::<Result<_>>()?;
        batches.push(TableRows {
            table: "records",
            partition: Some((NAME, Arc::clone(platform))),
            rows: file::batch(schema::table("records")?, record_columns(&rows, numbers))?,
        });
    }
    let rows: Vec<&RunRow> = rows.iter().map(|(_, row)| row).collect();
    batches.push(TableRows {
        table: "runs",
        partition: None,
        rows: file::batch(schema::table("runs")?, run_columns(&rows))?,
    });
    Ok(batches)
}

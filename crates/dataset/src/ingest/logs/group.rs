//! Buffers the rows of whole files, and commits all of them or none.
//!
//! ```text
//! rows of chunks ─▶ graphs, environments ─▶ configurations ─▶ batches of records
//!                   (new ones are committed at once: nothing refers to them yet)
//! at a file's end ─▶ records ─▶ lines ─▶ sources
//! ```
//!
//! A crash between two of these commits leaves rows that nothing refers to, or records whose file is not
//! in the ingest log. The next run over the same file finds the former by their content and replaces the
//! latter (see `orphans`).

use std::collections::{BTreeMap, HashMap};

use arrow::array::RecordBatch;
use tsql_adapters::dedupe::{Configurations, KnownIds, NumberAllocator, assign_numbers};
use tsql_adapters::formats::configurations::ConfigurationRows;
use tsql_adapters::formats::format_reader::{Partition, TableRows};
use tsql_adapters::formats::graphs::graph_columns;
use tsql_codecs::identity::{ProgramHash, environment_id, graph_id};
use tsql_error::{Error, Result};
use tsql_formats::rows::{Environment, LogRows};
use tsql_schema as schema;
use tsql_store::{Store, file};

use super::super::commits::RowWriter;

pub(crate) use tsql_adapters::formats::lines::columns::{EnvironmentRows, RecordRows};

/// Maximum number of buffered records before their configurations are looked up.
const FLUSH_ROWS: usize = 1 << 16;

/// Maximum number of buffered chunks. Each small file is a chunk, and first becomes a batch of its own.
const FLUSH_CHUNKS: usize = 1 << 10;

/// Maximum number of buffered bytes of verbatim lines.
const FLUSH_TEXT_BYTES: usize = 64 << 20;

/// Records per commit; checked at the end of a file.
const GROUP_ROWS: usize = 1 << 18;

/// Programs that are cached between commits.
const KNOWN_PROGRAMS: usize = 1 << 22;

/// Rows of one chunk and their file.
struct Chunk {
    rows: Box<LogRows>,
    partition: Partition,
    source_id: i64,
    /// Line number of the chunk's first line in the file.
    first_line: u64,
}

impl Chunk {
    /// Identifiers, datasets and keys of its graphs.
    fn graphs(&self) -> impl Iterator<Item = (i64, (&str, &str))> {
        let dataset = self.partition.0;
        let keys = self.rows.graphs.iter();
        keys.map(move |key| (graph_id(dataset, key), (dataset, key.as_str())))
    }

    /// Identifiers, datasets and columns of its environments.
    fn environments(&self) -> impl Iterator<Item = (i64, (&str, &Environment))> {
        let dataset = self.partition.0;
        let environments = self.rows.environments.iter();
        environments.map(move |environment| {
            let id = environment_id(dataset, &environment.canonical_text());
            (id, (dataset, environment))
        })
    }
}

/// Rows that are not yet committed.
pub(super) struct PendingRecords<'a> {
    store: &'a Store,
    chunks: Vec<Chunk>,
    row_count: usize,
    text_bytes: usize,
    configurations: Configurations,
    graphs: KnownIds,
    environments: KnownIds,
    /// Graphs and configurations that this run has added first.
    pub(super) new_graphs: u64,
    pub(super) new_configurations: u64,
}

impl<'a> PendingRecords<'a> {
    pub(super) fn new(store: &'a Store) -> Self {
        Self {
            store,
            chunks: Vec::new(),
            row_count: 0,
            text_bytes: 0,
            configurations: Configurations::default(),
            graphs: KnownIds::graphs(),
            environments: KnownIds::environments(),
            new_graphs: 0,
            new_configurations: 0,
        }
    }

    /// Adds the rows of a chunk.
    pub(super) async fn add(
        &mut self,
        rows: Box<LogRows>,
        partition: Partition,
        source_id: i64,
        first_line: u64,
        written: &mut RowWriter<'_>,
    ) -> Result<()> {
        self.row_count += rows.records.len();
        let texts = rows.verbatim.iter().map(|(_, text)| text.len());
        self.text_bytes += texts.sum::<usize>();
        self.chunks.push(Chunk {
            rows,
            partition,
            source_id,
            first_line,
        });
        if self.row_count >= FLUSH_ROWS
            || self.chunks.len() >= FLUSH_CHUNKS
            || self.text_bytes >= FLUSH_TEXT_BYTES
        {
            self.flush(written).await?;
        }
        Ok(())
    }

    /// Returns whether there is enough for a commit.
    pub(super) fn is_full(&self, written: &RowWriter<'_>) -> bool {
        self.row_count + written.row_count() >= GROUP_ROWS
    }

    /// Looks up or assigns the identifiers of all rows, and passes the rows on as batches.
    pub(super) async fn flush(&mut self, written: &mut RowWriter<'_>) -> Result<()> {
        let chunks = std::mem::take(&mut self.chunks);
        (self.row_count, self.text_bytes) = (0, 0);
        self.commit_graphs(&chunks).await?;
        self.commit_environments(&chunks).await?;
        self.commit_configurations(&chunks).await?;
        let mut parts: BTreeMap<&Partition, Vec<&Chunk>> = BTreeMap::new();
        for chunk in chunks.iter().filter(|chunk| !chunk.rows.records.is_empty()) {
            parts.entry(&chunk.partition).or_default().push(chunk);
        }
        for (partition, chunks) in parts {
            written.add(TableRows {
                table: "records",
                partition: Some(partition.clone()),
                rows: self.batch(&chunks)?,
            });
        }
        written.write_full().await?;
        self.configurations.trim(KNOWN_PROGRAMS);
        Ok(())
    }

    async fn commit_graphs(&mut self, chunks: &[Chunk]) -> Result<()> {
        let keys: BTreeMap<i64, (&str, &str)> =
            chunks.iter().flat_map(|chunk| chunk.graphs()).collect();
        let rows: Vec<_> = keys.into_iter().collect();
        let columns = |new: &[&(i64, (&str, &str))]| graph_columns(new.iter().map(|row| **row));
        let added = self.graphs.add(self.store, &rows, columns).await?;
        self.new_graphs += added.len() as u64;
        Ok(())
    }

    async fn commit_environments(&mut self, chunks: &[Chunk]) -> Result<()> {
        let environments: BTreeMap<i64, (&str, &Environment)> = chunks
            .iter()
            .flat_map(|chunk| chunk.environments())
            .collect();
        let rows: Vec<_> = environments.into_iter().collect();
        let columns = |new: &[&(i64, (&str, &Environment))]| {
            let mut rows = EnvironmentRows::default();
            for (id, (dataset, environment)) in new {
                rows.push(*id, dataset, environment);
            }
            rows.finish()
        };
        self.environments.add(self.store, &rows, columns).await?;
        Ok(())
    }

    async fn commit_configurations(&mut self, chunks: &[Chunk]) -> Result<()> {
        let programs = programs(chunks);
        let added = assign_numbers(&mut self.configurations, self.store, &programs, |new| {
            let mut rows = ConfigurationRows::default();
            for &(number, &((graph, _), (chunk, row))) in new {
                rows.push(graph, number, &chunk.rows, row);
            }
            rows.finish()
        });
        self.new_configurations += added.await?;
        Ok(())
    }

    /// Builds the records of some chunks.
    fn batch(&self, chunks: &[&Chunk]) -> Result<RecordBatch> {
        let count = chunks.iter().map(|chunk| chunk.rows.records.len()).sum();
        let mut rows = RecordRows::new(count);
        for chunk in chunks {
            self.push_chunk(chunk, &mut rows)?;
        }
        file::batch(schema::table("records")?, rows.finish())
    }

    fn push_chunk(&self, chunk: &Chunk, rows: &mut RecordRows) -> Result<()> {
        let graphs: Vec<i64> = chunk.graphs().map(|(id, _)| id).collect();
        let environments: Vec<i64> = chunk.environments().map(|(id, _)| id).collect();
        let verbatim: HashMap<usize, &[u8]> = chunk
            .rows
            .verbatim
            .iter()
            .map(|(row, text)| (*row, text.as_slice()))
            .collect();
        let missing = |what: &str| Error::damaged("records", format!("no {what} for a row"));
        for (index, row) in chunk.rows.records.iter().enumerate() {
            let line = chunk.first_line + row.line;
            let graph = graphs
                .get(row.graph as usize)
                .ok_or_else(|| missing("graph"))?;
            let config = self.configurations.number(&(*graph, row.program));
            let environment = environments.get(row.environment as usize);
            rows.push(
                chunk.source_id,
                *graph,
                config.ok_or_else(|| missing("configuration"))?,
                *environment.ok_or_else(|| missing("environment"))?,
                line,
                row,
                chunk.rows.repeats(row),
                chunk.rows.details(row),
                verbatim.get(&index).copied(),
            );
        }
        Ok(())
    }
}

/// A record (chunk and index) with the key of its configuration.
type Program<'a> = ((i64, ProgramHash), (&'a Chunk, usize));

/// Programs of all records, by graph, in record order.
fn programs(chunks: &[Chunk]) -> Vec<Program<'_>> {
    let mut programs: Vec<Program<'_>> = Vec::new();
    for chunk in chunks {
        let graphs: Vec<i64> = chunk.graphs().map(|(id, _)| id).collect();
        let rows = chunk.rows.records.iter().enumerate();
        programs.extend(rows.filter_map(|(index, row)| {
            let graph = *graphs.get(row.graph as usize)?;
            Some(((graph, row.program), (chunk, index)))
        }));
    }
    programs.sort_by_key(|((graph, _), _)| *graph);
    programs
}

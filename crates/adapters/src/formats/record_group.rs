//! Buffers parsed records, and converts them to rows of `records`.
//!
//! ```text
//! rows of chunks ─▶ graphs, environments ─▶ configurations ─▶ batches of records
//!                   (new ones are committed at once: nothing refers to them yet)
//! ```
//!
//! A crash between two of these commits leaves rows that nothing refers to. The next run over the same file finds them by
//! their content.

use std::collections::{BTreeMap, HashMap};

use arrow::array::RecordBatch;
use tsql_codecs::identity::{ProgramHash, environment_id, graph_id};
use tsql_error::{Error, Result};
use tsql_formats::rows::{Environment, LogRows};
use tsql_schema as schema;
use tsql_store::{Store, file};

use super::configurations::ConfigurationRows;
use super::format_reader::{Partition, TableRows};
use super::graphs::graph_columns;
use super::lines::columns::{EnvironmentRows, RecordRows};
use crate::dedupe::{Configurations, KnownIds, NumberAllocator, assign_numbers};

/// Maximum number of buffered records before their configurations are looked up.
const FLUSH_ROWS: usize = 1 << 16;

/// Maximum number of buffered chunks. Each small file is a chunk, and first becomes a batch of its own.
const FLUSH_CHUNKS: usize = 1 << 10;

/// Maximum number of buffered bytes of verbatim lines.
const FLUSH_TEXT_BYTES: usize = 64 << 20;

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

/// Records that are not yet converted.
#[derive(Default)]
pub struct RecordGroup {
    chunks: Vec<Chunk>,
    row_count: usize,
    text_bytes: usize,
    configurations: Configurations,
    graphs: Option<KnownIds>,
    environments: Option<KnownIds>,
    /// Graphs that this run has added first.
    pub new_graphs: u64,
    /// Configurations that this run has added first.
    pub new_configurations: u64,
}

impl RecordGroup {
    /// Adds the rows of a chunk of a source.
    pub fn add(
        &mut self,
        rows: Box<LogRows>,
        partition: Partition,
        source_id: i64,
        first_line: u64,
    ) {
        self.row_count += rows.records.len();
        let texts = rows.verbatim.iter().map(|(_, text)| text.len());
        self.text_bytes += texts.sum::<usize>();
        self.chunks.push(Chunk {
            rows,
            partition,
            source_id,
            first_line,
        });
    }

    /// Number of buffered records.
    #[must_use]
    pub fn row_count(&self) -> usize {
        self.row_count
    }

    /// Returns whether the buffered rows should be converted.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.row_count >= FLUSH_ROWS
            || self.chunks.len() >= FLUSH_CHUNKS
            || self.text_bytes >= FLUSH_TEXT_BYTES
    }

    /// Discards the buffered rows.
    pub fn clear(&mut self) {
        self.chunks.clear();
        (self.row_count, self.text_bytes) = (0, 0);
    }

    /// Commits graphs, environments and configurations of the buffered records, and returns the rows of `records`.
    ///
    /// # Errors
    /// Failures of the storage, and rows that are inconsistent.
    pub async fn take_rows(&mut self, store: &Store) -> Result<Vec<TableRows>> {
        let chunks = std::mem::take(&mut self.chunks);
        (self.row_count, self.text_bytes) = (0, 0);
        self.commit_graphs(store, &chunks).await?;
        self.commit_environments(store, &chunks).await?;
        self.commit_configurations(store, &chunks).await?;
        let mut parts: BTreeMap<&Partition, Vec<&Chunk>> = BTreeMap::new();
        for chunk in chunks.iter().filter(|chunk| !chunk.rows.records.is_empty()) {
            parts.entry(&chunk.partition).or_default().push(chunk);
        }
        let mut batches = Vec::with_capacity(parts.len());
        for (partition, chunks) in parts {
            batches.push(TableRows {
                table: "records",
                partition: Some(partition.clone()),
                rows: self.batch(&chunks)?,
            });
        }
        self.configurations.trim(KNOWN_PROGRAMS);
        Ok(batches)
    }

    async fn commit_graphs(&mut self, store: &Store, chunks: &[Chunk]) -> Result<()> {
        let keys: BTreeMap<i64, (&str, &str)> =
            chunks.iter().flat_map(|chunk| chunk.graphs()).collect();
        let rows: Vec<_> = keys.into_iter().collect();
        let columns = |new: &[&(i64, (&str, &str))]| graph_columns(new.iter().map(|row| **row));
        let known = self.graphs.get_or_insert_with(KnownIds::graphs);
        let added = known.add(store, &rows, columns).await?;
        self.new_graphs += added.len() as u64;
        Ok(())
    }

    async fn commit_environments(&mut self, store: &Store, chunks: &[Chunk]) -> Result<()> {
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
        let known = self.environments.get_or_insert_with(KnownIds::environments);
        known.add(store, &rows, columns).await?;
        Ok(())
    }

    async fn commit_configurations(&mut self, store: &Store, chunks: &[Chunk]) -> Result<()> {
        let programs = programs(chunks);
        let added = assign_numbers(&mut self.configurations, store, &programs, |new| {
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

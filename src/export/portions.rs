//! Which sources are rebuilt together, and the records of these as they are needed.
//!
//! A question for each source takes a scan for each, one question for all of them takes all memory. So
//! sources come in portions that fit into memory:
//!
//! - copies of a source (the same bytes under other names) are rebuilt once;
//! - sources of the same graphs are neighbours, as their records are in the files of a table;
//! - a source that is larger than a portion is read bit by bit.

use std::collections::HashMap;

use arrow::array::RecordBatch;
use arrow::datatypes::Int64Type;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::prelude::SessionContext;
use futures::StreamExt as _;

use super::lines;
use super::source::SourceFile;
use crate::column;
use crate::error::{Error, Result};
use crate::query::collect;

/// Lines of a portion at most, and those of a large source that are asked for at once.
const LINES: u64 = 1 << 18;

/// Bytes of a portion's sources at most.
const BYTES: u64 = 64 << 20;

/// Sources of a portion at most: each is a value in its questions.
const SOURCES: usize = 4096;

/// Copies that are written at once: each is an open file.
const COPIES: usize = 64;

/// Least and greatest graph of a source's records.
type Graphs = (i64, i64);

/// Sources that are rebuilt together.
#[derive(Default)]
pub(super) struct Portion<'a> {
    /// Each with its copies; logs by the source whose rows they have, rising.
    pub(super) copies: Vec<Vec<&'a SourceFile>>,
    /// Graphs of the records of all of them.
    graphs: Option<Graphs>,
    lines: u64,
    bytes: u64,
}

/// All that is `wanted`, portion by portion.
pub(super) async fn portions<'a>(
    context: &SessionContext,
    wanted: &[&'a SourceFile],
) -> Result<Vec<Portion<'a>>> {
    let logs = wanted.iter().any(|source| source.is_log());
    let graphs = if logs {
        graphs(context).await?
    } else {
        HashMap::new()
    };
    let mut wanted = wanted.to_vec();
    // What is no log stays in the order of names: files of a sample are neighbours.
    wanted.sort_by_key(|source| {
        let known = graphs.get(&source.rows_of);
        let rows = (known, source.rows_of, source.end_byte());
        source.is_log().then_some(rows)
    });
    let mut portions: Vec<Portion<'_>> = Vec::new();
    for copies in wanted.chunk_by(|a, b| {
        let rows = |source: &SourceFile| (source.rows_of, source.end_byte());
        a.is_log() && b.is_log() && rows(a) == rows(b)
    }) {
        for copies in copies.chunks(COPIES) {
            let graphs = copies.first().and_then(|one| graphs.get(&one.rows_of));
            match portions.last_mut().filter(|last| last.takes(copies)) {
                Some(last) => last.add(copies, graphs.copied()),
                None => {
                    let mut new = Portion::default();
                    new.add(copies, graphs.copied());
                    portions.push(new);
                }
            }
        }
    }
    for portion in &mut portions {
        let by_rows = |copies: &Vec<&SourceFile>| {
            let first = copies.first().filter(|source| source.is_log());
            first.map(|source| source.rows_of)
        };
        portion.copies.sort_by_key(by_rows);
    }
    Ok(portions)
}

/// The graphs of each source's records.
async fn graphs(context: &SessionContext) -> Result<HashMap<i64, Graphs>> {
    let sql = "SELECT source_id, min(graph_id) AS least, max(graph_id) AS most \
               FROM stored.records GROUP BY source_id";
    let mut graphs = HashMap::new();
    for batch in collect(context, sql).await? {
        let numbers = |name| column::numbers::<Int64Type>(&batch, name);
        let (ids, least, most) = (numbers("source_id")?, numbers("least")?, numbers("most")?);
        let rows = ids
            .values()
            .iter()
            .zip(least.values().iter().zip(most.values()));
        graphs.extend(rows.map(|(&id, (&least, &most))| (id, (least, most))));
    }
    Ok(graphs)
}

impl Portion<'_> {
    /// All sources of it.
    pub(super) fn sources(&self) -> impl Iterator<Item = &SourceFile> + Clone {
        self.copies.iter().flatten().copied()
    }

    /// The numbers of the sources whose rows its logs have.
    pub(super) fn ids(&self) -> Vec<String> {
        let first = self.copies.iter().filter_map(|copies| copies.first());
        let logs = first.filter(|source| source.is_log());
        logs.map(|source| source.rows_of.to_string()).collect()
    }
}

impl<'a> Portion<'a> {
    fn takes(&self, copies: &[&SourceFile]) -> bool {
        let (lines, bytes) = size(copies);
        let last = self.copies.last().and_then(|copies| copies.first());
        // Rows pass by once.
        let again = last.is_some_and(|last| {
            last.is_log()
                && copies
                    .first()
                    .is_some_and(|one| one.rows_of == last.rows_of)
        });
        self.lines + lines <= LINES
            && self.bytes + bytes <= BYTES
            && self.copies.len() < SOURCES
            && !again
    }

    fn add(&mut self, copies: &[&'a SourceFile], graphs: Option<Graphs>) {
        let (lines, bytes) = size(copies);
        self.lines += lines;
        self.bytes += bytes;
        self.copies.push(copies.to_vec());
        let both = [self.graphs, graphs].into_iter().flatten();
        self.graphs = both.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
    }
}

/// Lines and bytes of what is rebuilt once.
fn size(copies: &[&SourceFile]) -> (u64, u64) {
    let first = copies.first();
    first.map_or((0, 0), |source| (source.line_count(), source.end_byte()))
}

/// The records of a portion's sources, on their way.
pub(super) struct Records<'a> {
    context: &'a SessionContext,
    ids: String,
    graphs: Option<Graphs>,
    /// Lines that are left to be asked for.
    next_line: u64,
    end: u64,
    stream: Option<SendableRecordBatchStream>,
    /// Rows that nobody has taken.
    rest: Option<RecordBatch>,
}

impl<'a> Records<'a> {
    /// Those of a portion.
    pub(super) fn new(context: &'a SessionContext, portion: &Portion<'_>) -> Self {
        let ids = portion.ids();
        Self {
            context,
            end: if ids.is_empty() { 0 } else { portion.lines },
            ids: ids.join(", "),
            graphs: portion.graphs,
            next_line: 1,
            stream: None,
            rest: None,
        }
    }

    /// The next records of a source by their lines; `None` after the last. Those of sources with lesser
    /// numbers are gone then.
    pub(super) async fn of(&mut self, source_id: i64) -> Result<Option<RecordBatch>> {
        while let Some(batch) = self.next().await? {
            let ids = column::numbers::<Int64Type>(&batch, "source_id")?.values();
            let start = ids.partition_point(|&id| id < source_id);
            let end = ids.partition_point(|&id| id <= source_id);
            let rest = batch.num_rows() - end;
            self.rest = (rest > 0).then(|| batch.slice(end, rest));
            if start < end {
                return Ok(Some(batch.slice(start, end - start)));
            }
            if rest > 0 {
                return Ok(None);
            }
        }
        Ok(None)
    }

    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        if let Some(rest) = self.rest.take() {
            return Ok(Some(rest));
        }
        loop {
            if let Some(stream) = &mut self.stream
                && let Some(batch) = stream.next().await
            {
                return batch.map(Some).map_err(Error::Query);
            }
            if self.next_line > self.end {
                return Ok(None);
            }
            self.ask().await?;
        }
    }

    /// Asks for all records, or for those in the next lines of a large source.
    async fn ask(&mut self) -> Result<()> {
        let mut predicate = format!("r.source_id IN ({})", self.ids);
        if self.end > LINES {
            let (first, last) = (self.next_line, self.next_line + LINES - 1);
            predicate += &format!(" AND r.line BETWEEN {first} AND {last}");
            self.next_line = last + 1;
        } else {
            self.next_line = self.end + 1;
        }
        let stream = lines::among(self.context, &predicate, self.graphs).await?;
        self.stream = Some(stream);
        Ok(())
    }
}

//! Grouping of the sources that are rebuilt together.
//!
//! One query per source takes a scan each, and one query for all sources takes too much memory. So sources are grouped
//! in portions that fit into memory, in the order that their format requires. By graphs:
//!
//! - copies of a source (the same bytes under other names) are rebuilt once;
//! - sources of the same graphs are neighbours, like their records in the files of a table;
//! - a source that is larger than a portion has its own.

use std::collections::HashMap;

use arrow::datatypes::Int64Type;
use datafusion::prelude::SessionContext;
use tsql_adapters::formats::source::SourceFile;
use tsql_adapters::formats::{ExportBatch, ExportOrder};
use tsql_dialect::collect;
use tsql_error::Result;
use tsql_schema::column;

/// Maximum size of a portion's sources in bytes.
const BYTES: u64 = 64 << 20;

/// Maximum number of sources of a portion. Each is a value in its queries.
const SOURCES: usize = 4096;

/// Maximum number of copies that are written at once. Each is an open file.
const COPIES: usize = 64;

/// Minimum and maximum graph id of a source's records.
type Graphs = (i64, i64);

/// Groups the sources in `wanted` to portions.
pub async fn plan_portions<'a>(
    context: &SessionContext,
    wanted: &[&'a SourceFile],
    order: ExportOrder,
) -> Result<Vec<ExportBatch<'a>>> {
    let mut portions: Vec<ExportBatch<'_>> = Vec::new();
    match order {
        ExportOrder::Names => {
            for source in wanted {
                add_to_portion(&mut portions, &[*source], None, false);
            }
        }
        ExportOrder::Graphs => {
            let graphs = graph_ranges(context).await?;
            let mut wanted = wanted.to_vec();
            let rows = |source: &SourceFile| (source.rows_of, source.end_byte());
            wanted.sort_by_key(|source| (graphs.get(&source.rows_of), rows(source)));
            for copies in wanted.chunk_by(|a, b| rows(a) == rows(b)) {
                let own = copies.first().and_then(|one| graphs.get(&one.rows_of));
                for copies in copies.chunks(COPIES) {
                    add_to_portion(&mut portions, copies, own.copied(), true);
                }
            }
            for portion in &mut portions {
                let rows_of = |copies: &Vec<&SourceFile>| copies.first().map(|one| one.rows_of);
                portion.copies.sort_by_key(rows_of);
            }
        }
    }
    Ok(portions)
}

/// Returns the range of graph ids of each source.
async fn graph_ranges(context: &SessionContext) -> Result<HashMap<i64, Graphs>> {
    let sql = "SELECT source_id, min(graph_id) AS least, max(graph_id) AS most \
               FROM stored.all_records GROUP BY source_id";
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

/// Adds a source, with its copies, to the last portion or to a new one. `once`: a source is in a portion at most once.
fn add_to_portion<'a>(
    portions: &mut Vec<ExportBatch<'a>>,
    copies: &[&'a SourceFile],
    graphs: Option<Graphs>,
    once: bool,
) {
    let Some(first) = copies.first() else { return };
    let (lines, bytes) = (first.line_count(), first.end_byte());
    let fits = |last: &&mut ExportBatch<'_>| {
        let before = last.copies.last().and_then(|copies| copies.first());
        let again = once && before.is_some_and(|before| before.rows_of == first.rows_of);
        last.lines + lines <= ExportBatch::MAX_LINES
            && last.bytes + bytes <= BYTES
            && last.copies.len() < SOURCES
            && !again
    };
    if portions.last_mut().filter(fits).is_none() {
        portions.push(ExportBatch::default());
    }
    let Some(last) = portions.last_mut() else {
        return;
    };
    last.lines += lines;
    last.bytes += bytes;
    last.copies.push(copies.to_vec());
    let both = [last.graphs, graphs].into_iter().flatten();
    last.graphs = both.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
}

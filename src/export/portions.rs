//! Which sources of a format are rebuilt together.
//!
//! A question for each source takes a scan for each, one question for all of them takes all memory. So
//! sources come in portions that fit into memory, in the order that their format asks for. By graphs:
//!
//! - copies of a source (the same bytes under other names) are rebuilt once;
//! - sources of the same graphs are neighbours, as their records are in the files of a table;
//! - a source that is larger than a portion is one by itself.

use std::collections::HashMap;

use arrow::datatypes::Int64Type;
use datafusion::prelude::SessionContext;

use crate::column;
use crate::error::Result;
use crate::formats::source::SourceFile;
use crate::formats::{Order, Portion};
use crate::query::collect;

/// Bytes of a portion's sources at most.
const BYTES: u64 = 64 << 20;

/// Sources of a portion at most: each is a value in its questions.
const SOURCES: usize = 4096;

/// Copies that are written at once: each is an open file.
const COPIES: usize = 64;

/// Least and greatest graph of a source's records.
type Graphs = (i64, i64);

/// All that is `wanted`, portion by portion.
pub(crate) async fn portions<'a>(
    context: &SessionContext,
    wanted: &[&'a SourceFile],
    order: Order,
) -> Result<Vec<Portion<'a>>> {
    let mut portions: Vec<Portion<'_>> = Vec::new();
    match order {
        Order::Names => {
            for source in wanted {
                add(&mut portions, &[*source], None, false);
            }
        }
        Order::Graphs => {
            let graphs = graphs(context).await?;
            let mut wanted = wanted.to_vec();
            let rows = |source: &SourceFile| (source.rows_of, source.end_byte());
            wanted.sort_by_key(|source| (graphs.get(&source.rows_of), rows(source)));
            for copies in wanted.chunk_by(|a, b| rows(a) == rows(b)) {
                let own = copies.first().and_then(|one| graphs.get(&one.rows_of));
                for copies in copies.chunks(COPIES) {
                    add(&mut portions, copies, own.copied(), true);
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

/// The graphs of each source's records.
async fn graphs(context: &SessionContext) -> Result<HashMap<i64, Graphs>> {
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

/// Adds a source, with its copies, to the last portion, or to a new one; where rows pass by `once`, a
/// portion takes those of a source once.
fn add<'a>(
    portions: &mut Vec<Portion<'a>>,
    copies: &[&'a SourceFile],
    graphs: Option<Graphs>,
    once: bool,
) {
    let Some(first) = copies.first() else { return };
    let (lines, bytes) = (first.line_count(), first.end_byte());
    let fits = |last: &&mut Portion<'_>| {
        let before = last.copies.last().and_then(|copies| copies.first());
        let again = once && before.is_some_and(|before| before.rows_of == first.rows_of);
        last.lines + lines <= Portion::LINES
            && last.bytes + bytes <= BYTES
            && last.copies.len() < SOURCES
            && !again
    };
    if portions.last_mut().filter(fits).is_none() {
        portions.push(Portion::default());
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

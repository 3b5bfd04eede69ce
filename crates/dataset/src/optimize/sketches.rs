//! Recomputation of the sketches of configurations.

use std::borrow::Cow;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::datatypes::Int64Type;
use tsql_adapters::dedupe::Kernels;
use tsql_adapters::formats::configurations::ConfigurationRows;
use tsql_codecs::{layout, sketch, varint};
use tsql_error::{Error, Result};
use tsql_formats::rows::Sketch;
use tsql_schema as schema;
use tsql_schema::{Table, column};
use tsql_store::file;

/// Rows of a portion, if no graph has more. A whole file, unpacked, does not fit in memory.
const PORTION_ROWS: usize = 1 << 16;

/// Recomputes the sketches of sorted configurations over all of them. At append time, fewer configurations of a graph
/// were known.
pub(super) fn respecialize(batch: &RecordBatch) -> Result<RecordBatch> {
    respecialize_in_portions(batch, PORTION_ROWS)
}

fn respecialize_in_portions(batch: &RecordBatch, portion_rows: usize) -> Result<RecordBatch> {
    let table = schema::table("configurations")?;
    let graphs = column::numbers::<Int64Type>(batch, "graph_id")?.values();
    let (mut portions, mut from, mut to) = (Vec::new(), 0, 0);
    for rows in graphs.chunk_by(PartialEq::eq).map(<[i64]>::len) {
        if to > from && to + rows - from > portion_rows {
            portions.push(respecialize_portion(table, &batch.slice(from, to - from))?);
            from = to;
        }
        to += rows;
    }
    portions.push(respecialize_portion(table, &batch.slice(from, to - from))?);
    concat_batches(&table.row_schema(), &portions)
        .map_err(|error| Error::damaged(&table.name, error.to_string()))
}

/// Recomputes the sketches of whole graphs.
fn respecialize_portion(table: &Table, batch: &RecordBatch) -> Result<RecordBatch> {
    let mut rows = ConfigurationRows::default();
    let mut layouts: Vec<Members<'_>> = Vec::new();
    let graphs = column::numbers::<Int64Type>(batch, "graph_id")?;
    let numbers = column::numbers::<Int64Type>(batch, "config_id")?;
    let sketches = column::text(batch, "sketch")?;
    let params = column::bytes(batch, "params")?;
    let kernels = Kernels::from_batch(batch)?;
    for row in 0..batch.num_rows() {
        let (sketch, own) = (sketches.value(row), column::bytes_at(params, row));
        if layout::is_layout(sketch) {
            let member = (numbers.value(row), own.unwrap_or_default());
            let graph = graphs.value(row);
            match layouts.last_mut() {
                Some((last, text, members)) if *last == graph && *text == sketch => {
                    members.push(member);
                }
                _ => layouts.push((graph, sketch, vec![member])),
            }
            continue;
        }
        let (sketch, packed) = reopen_sketch(sketch, own)?;
        rows.push_open(
            graphs.value(row),
            numbers.value(row),
            &sketch,
            packed.map(Cow::Owned),
            kernels.at(row).as_ref(),
        );
    }
    for (graph, sketch, members) in layouts {
        rows.push_fixed(graph, sketch, members.into_iter());
    }
    file::sort_rows(table, vec![file::batch(table, rows.finish()?)?])
}

/// Configurations of a graph with the same layouts: ids and codes.
type Members<'a> = (i64, &'a str, Vec<(i64, &'a [u8])>);

/// Returns the program's sketch with all holes open, and its packed parameters.
fn reopen_sketch(text: &str, params: Option<&[u8]>) -> Result<(Sketch, Option<Vec<u8>>)> {
    let Some(params) = params else {
        let text = text.as_bytes().to_vec();
        return Ok((
            Sketch {
                text,
                literal: true,
            },
            None,
        ));
    };
    let mut open = Vec::with_capacity(text.len());
    let numbers = sketch::hole_numbers(text.as_bytes(), params, &mut open).ok_or_else(|| {
        Error::damaged("configurations", "parameters that do not fit their sketch")
    })?;
    let mut packed = Vec::with_capacity(numbers.len());
    numbers
        .iter()
        .for_each(|&number| varint::write_unsigned(number, &mut packed));
    let text = open;
    Ok((
        Sketch {
            text,
            literal: false,
        },
        Some(packed),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::create_demo;

    #[tokio::test]
    async fn portions_make_no_difference() {
        let store = create_demo().await.unwrap();
        let at = store.snapshot("configurations").await.unwrap().unwrap();
        let rows = store.frame("configurations", &at).unwrap();
        let rows = rows.collect().await.unwrap();
        let table = schema::table("configurations").unwrap();
        let rows = file::fit_to_schema(table, &file::sort_rows(table, rows).unwrap()).unwrap();
        let graphs = column::numbers::<Int64Type>(&rows, "graph_id").unwrap();
        let graphs = graphs.values().chunk_by(PartialEq::eq).count();
        assert!(
            graphs > 3 && rows.num_rows() > 2 * graphs,
            "{graphs} graphs"
        );
        let whole = respecialize_in_portions(&rows, usize::MAX).unwrap();
        assert_eq!(whole.num_rows(), rows.num_rows());
        for portion_rows in [1, 7, 50] {
            assert_eq!(
                respecialize_in_portions(&rows, portion_rows).unwrap(),
                whole
            );
        }
    }
}

//! Sketches of configurations made anew.

use std::borrow::Cow;

use arrow::array::RecordBatch;
use arrow::datatypes::Int64Type;
use tsql_codecs::{layout, sketch, varint};
use tsql_formats::rows::Sketch;

use crate::dedupe::Kernels;
use crate::error::{Error, Result};
use crate::formats::configurations::ConfigurationRows;
use crate::store::file;
use crate::{column, schema};

/// Configurations with sketches made anew over all of them: what an append saw of a graph is less
/// than what is known of it by now.
pub(super) fn respecialised(batch: &RecordBatch) -> Result<RecordBatch> {
    let table = schema::table("configurations")?;
    let mut rows = ConfigurationRows::default();
    let mut layouts: Vec<Members<'_>> = Vec::new();
    let graphs = column::numbers::<Int64Type>(batch, "graph_id")?;
    let numbers = column::numbers::<Int64Type>(batch, "config_id")?;
    let sketches = column::text(batch, "sketch")?;
    let params = column::bytes(batch, "params")?;
    let kernels = Kernels::of(batch)?;
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
        let (sketch, packed) = reopened(sketch, own)?;
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
    file::batch(table, rows.finish()?)
}

/// Configurations of a graph that have the same layouts: numbers and codes.
type Members<'a> = (i64, &'a str, Vec<(i64, &'a [u8])>);

/// The program's sketch with all holes open, and its packed numbers.
fn reopened(text: &str, params: Option<&[u8]>) -> Result<(Sketch, Option<Vec<u8>>)> {
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
    let numbers = sketch::numbers(text.as_bytes(), params, &mut open).ok_or_else(|| {
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

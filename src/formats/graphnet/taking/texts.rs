//! Rows of `texts`: files, or parts of them, that columns do not give back.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::BinaryArray;

use crate::column::made::{Columns, integers, texts};
use crate::dedupe::Identified;
use crate::error::Result;
use crate::store::Store;

/// The name of a file, and bytes.
pub(super) type Text<'a> = (String, &'a [u8]);

/// Adds those of these texts, by their identifiers, that the store does not have.
pub(super) async fn commit_texts<'a>(
    known: &mut Identified,
    store: &Store,
    texts: BTreeMap<i64, Text<'a>>,
) -> Result<()> {
    let rows: Vec<(i64, Text<'a>)> = texts.into_iter().collect();
    known.add(store, &rows, text_columns).await?;
    Ok(())
}

fn text_columns(rows: &[&(i64, Text<'_>)]) -> Columns {
    let bytes = rows.iter().map(|(_, (_, bytes))| *bytes);
    BTreeMap::from([
        ("text_id", integers(rows.iter().map(|(id, _)| *id))),
        ("name", texts(rows.iter().map(|(_, (name, _))| name))),
        ("text", Arc::new(BinaryArray::from_iter_values(bytes))),
    ])
}

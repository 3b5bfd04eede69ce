//! Rows of `texts`: files, or parts of them, that columns do not give back.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow::array::BinaryArray;
use arrow::datatypes::Int64Type;
use datafusion::prelude::SessionContext;

use crate::column;
use crate::column::made::{Columns, integers, texts};
use crate::dedupe::Identified;
use crate::error::Result;
use crate::query::collect;
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

/// The texts of these identifiers, as far as they are there.
pub(super) async fn load_texts(
    context: &SessionContext,
    ids: &[i64],
) -> Result<HashMap<i64, Vec<u8>>> {
    let mut found = HashMap::new();
    if ids.is_empty() {
        return Ok(found);
    }
    let ids: Vec<String> = ids.iter().map(i64::to_string).collect();
    let ids = ids.join(", ");
    let sql = format!("SELECT text_id, text FROM stored.texts WHERE text_id IN ({ids})");
    for batch in collect(context, &sql).await? {
        let ids = column::numbers::<Int64Type>(&batch, "text_id")?;
        let texts = column::bytes(&batch, "text")?;
        let rows = 0..batch.num_rows();
        found.extend(rows.map(|row| (ids.value(row), texts.value(row).to_vec())));
    }
    Ok(found)
}

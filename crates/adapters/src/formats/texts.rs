//! Rows of `texts`: files, or parts of files, that columns do not restore.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow::array::BinaryArray;
use arrow::datatypes::Int64Type;
use datafusion::prelude::SessionContext;
use tsql_dialect::collect;
use tsql_error::Result;
use tsql_schema::column;
use tsql_schema::column::arrays::{Columns, int64_array, text_array};
use tsql_store::Store;

use crate::dedupe::KnownIds;

/// Name and bytes of a file.
pub(super) type NamedText<'a> = (String, &'a [u8]);

/// Adds those texts, by identifier, that the store does not have.
pub(super) async fn commit_texts<'a>(
    known: &mut KnownIds,
    store: &Store,
    texts: BTreeMap<i64, NamedText<'a>>,
) -> Result<()> {
    let rows: Vec<(i64, NamedText<'a>)> = texts.into_iter().collect();
    known.add(store, &rows, text_columns).await?;
    Ok(())
}

fn text_columns(rows: &[&(i64, NamedText<'_>)]) -> Columns {
    let bytes = rows.iter().map(|(_, (_, bytes))| *bytes);
    BTreeMap::from([
        ("text_id", int64_array(rows.iter().map(|(id, _)| *id))),
        ("name", text_array(rows.iter().map(|(_, (name, _))| name))),
        ("text", Arc::new(BinaryArray::from_iter_values(bytes))),
    ])
}

/// Loads the texts with these identifiers. Missing ones are left out.
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

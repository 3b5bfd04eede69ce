//! Names of TpuGraphs files.

use std::collections::HashMap;

use arrow::datatypes::Int64Type;
use datafusion::prelude::SessionContext;
use tsql_dialect::collect;
use tsql_error::Result;
use tsql_schema::column;

/// Returns the name of each TpuGraphs file, `<collection>:<name>`, by its id.
pub(super) async fn file_ids(context: &SessionContext) -> Result<HashMap<i64, String>> {
    let sql =
        "SELECT source_id, arrow_cast(id, 'Utf8View') AS id FROM sources WHERE id IS NOT NULL";
    let mut named = HashMap::new();
    for batch in collect(context, sql).await? {
        let sources = column::numbers::<Int64Type>(&batch, "source_id")?;
        let ids = column::text(&batch, "id")?;
        let each = sources.values().iter().zip(ids);
        named.extend(each.filter_map(|(source, id)| Some((*source, id?.to_owned()))));
    }
    Ok(named)
}

/// Collection of a file.
pub(super) fn collection(id: &str) -> &str {
    id.rsplit_once(':').map_or(id, |(collection, _)| collection)
}

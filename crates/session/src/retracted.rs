//! Views that include retracted rows, from which the original files are reconstructed.

use datafusion::prelude::SessionContext;
use tsql_error::{Error, Result};
use tsql_schema as schema;
use tsql_store::{RETRACTED, Snapshots};

/// Names and SQL of `stored.all_records` and `stored.all_runs`: the tables including retracted rows.
pub(super) fn retracted_views(
    context: &SessionContext,
    snapshots: &Snapshots,
) -> Result<Vec<(String, String)>> {
    let mut views = Vec::new();
    for (name, kept) in RETRACTED {
        let exists = |name| {
            let exists = context.table_exist(format!("stored.{name}"));
            exists.map_err(Error::Query)
        };
        // A query that references only one of them does not need either.
        if !exists(name)? || !exists(kept)? {
            continue;
        }
        let table = schema::table(name)?;
        let columns: Vec<&str> = table
            .stored_columns()
            .map(|column| column.name.as_str())
            .collect();
        let columns = columns.join(", ");
        let mut sql = format!("SELECT {columns} FROM stored.{name}");
        if snapshots
            .get(kept)
            .is_some_and(|kept| !kept.files().is_empty())
        {
            sql += &format!(
                " UNION ALL SELECT {columns} FROM stored.{kept} AS k WHERE NOT EXISTS \
                 (SELECT 1 FROM stored.{name} AS r WHERE r.source_id = k.source_id AND r.line = k.line)"
            );
        }
        views.push((format!("stored.all_{name}"), sql));
    }
    Ok(views)
}

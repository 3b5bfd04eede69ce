//! A session with only the tables that a split needs: planning all views takes longer than most queries.

use datafusion::prelude::SessionContext;
use tsql_dialect::referenced_tables::references_store;
use tsql_error::Result;
use tsql_session::{SessionOptions, open_session_with};
use tsql_store::Store;

/// Tables that any split may need.
const SPLITS_SQL: &str = "SELECT split('') FROM records JOIN splits ON false";

/// Creates a session for splits and these user queries.
///
/// # Errors
/// [`Error::Sql`](tsql_error::Error::Sql) for invalid SQL, and failures of the storage.
pub(super) async fn split_session(
    store: &Store,
    queries: &[Option<&str>],
) -> Result<SessionContext> {
    let mut sql = SPLITS_SQL.to_owned();
    for query in queries.iter().flatten() {
        // Checked separately, so that an error refers to this query alone.
        references_store(query)?;
        sql += &format!(";\n{}", query.trim().trim_end_matches(';'));
    }
    let options = SessionOptions::default().sql(sql);
    open_session_with(store, &options).await
}

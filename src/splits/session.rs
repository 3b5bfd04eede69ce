//! A session that has what a split is made of, and no more: to plan all views takes longer than most answers.

use datafusion::prelude::SessionContext;

use crate::error::Result;
use crate::query::{SessionOptions, names_tables};
use crate::store::Store;

/// What any split may need.
const OF_SPLITS: &str = "SELECT split('') FROM records JOIN splits ON false";

/// A session for splits, and for these queries of somebody's.
///
/// # Errors
/// [`Error::Sql`](crate::Error::Sql) for a query that is no SQL, and failures of the storage.
pub(super) async fn session(store: &Store, queries: &[Option<&str>]) -> Result<SessionContext> {
    let mut sql = OF_SPLITS.to_owned();
    for query in queries.iter().flatten() {
        // What is wrong with it is told of it alone.
        names_tables(query)?;
        sql += &format!(";\n{}", query.trim().trim_end_matches(';'));
    }
    let options = SessionOptions::default().sql(sql);
    store.session_with(&options).await
}

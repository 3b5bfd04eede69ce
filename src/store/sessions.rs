//! Sessions over a store.

use datafusion::prelude::SessionContext;
use tsql_session::{LiveSession, SessionOptions};

use super::Store;
use crate::error::Result;

impl Store {
    /// Creates a DataFusion session over the current state of the store.
    ///
    /// It has the tables under their names, their stored columns as `stored.<table>`, the views, and the functions of
    /// tsql. A path is a table too: `FROM 'predictions.parquet'`.
    ///
    /// All tables have the versions as of this call. Later commits are not visible.
    ///
    /// # Errors
    /// [`crate::Error::TooNew`] for a table of a newer tsql, and storage failures.
    pub async fn session(&self) -> Result<SessionContext> {
        tsql_session::open_session(self).await
    }

    /// Like [`Store::session`], for one query or with limits.
    ///
    /// # Errors
    /// As [`Store::session`]; [`crate::Error::Query`] if `sql` cannot be parsed.
    pub async fn session_with(&self, options: &SessionOptions) -> Result<SessionContext> {
        tsql_session::open_session_with(self, options).await
    }

    /// Creates a session with all tables of the store, which can be refreshed.
    ///
    /// ```
    /// # use tsql::{Store, query::SessionOptions};
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let store = Store::create("memory:").await?;
    /// let mut session = store.live_session(&SessionOptions::default()).await?;
    /// session.context().sql("CREATE VIEW mine AS SELECT count(*) AS n FROM records").await.unwrap();
    /// session.track_changes().await?;
    /// assert!(!session.refresh().await?, "nobody has written");
    /// # Ok::<(), tsql::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`Store::session`].
    pub async fn live_session(&self, options: &SessionOptions) -> Result<LiveSession> {
        tsql_session::open_live_session(self, options).await
    }
}

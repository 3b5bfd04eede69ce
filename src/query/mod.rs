//! SQL over a store: one DataFusion session with the tables, the views and the functions.
//!
//! A session sees the store as it was when the session was made, a [`LiveSession`] what others commit, too. [`questions`] are ready-made.
//!
//! ```
//! use tsql::{Store, query};
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let store = Store::demo().await?;
//! let context = store.session().await?;
//! let summary = query::question("platform-summary")?;
//! let rows = summary.ask(&context, &[]).await?.collect().await.unwrap();
//! assert!(rows.iter().any(|batch| batch.num_rows() > 0));
//! # Ok::<(), tsql::Error>(()) }).unwrap();
//! ```

mod dialect;
mod distinct;
mod engine;
mod files;
mod functions;
mod library;
pub(crate) mod limits;
mod live;
mod mended;
mod mistakes;
mod names;
mod placeholders;
mod relations;
mod retracted;
mod session;
#[cfg(test)]
mod slt;
mod spilling;
pub(crate) mod statement;
mod sums;
#[cfg(test)]
mod tests;
mod view;

#[cfg(feature = "cluster")]
pub(crate) use engine::{of_part, runtime};
pub use functions::{Function, FunctionKind, function, functions};
pub(crate) use library::among as question_among;
pub use library::{
    Need, OwnQuestions, Parameter, Question, own_questions, platforms, question, questions,
};
pub use live::LiveSession;
pub(crate) use names::names_tables;
pub(crate) use placeholders::match_placeholders;
pub use session::SessionOptions;

use arrow::array::RecordBatch;
use datafusion::dataframe::DataFrame;
use datafusion::prelude::SessionContext;

use crate::error::{Error, Result};

/// The version of this program and of what plans name: the same for a worker and whoever asks it.
#[cfg(feature = "cluster")]
pub(crate) fn version() -> String {
    let functions = functions()
        .into_iter()
        .filter(|function| function.is_ours)
        .map(|function| function.name);
    let tables = crate::schema::tables().into_iter().flatten();
    let tables = tables.map(|table| format!("{}@{}", table.name, table.version));
    crate::cluster::version(functions.chain(tables))
}

/// The plan of a query as people type it.
pub(crate) async fn frame(context: &SessionContext, sql: &str) -> Result<DataFrame> {
    let statement = statement::statements(sql)?.pop_front();
    let statement = statement.ok_or_else(|| Error::Refused("the query is empty".to_owned()))?;
    statement::planned(context, statement, sql).await
}

/// All rows of a query.
pub(crate) async fn collect(context: &SessionContext, sql: &str) -> Result<Vec<RecordBatch>> {
    let frame = frame(context, sql).await?;
    frame.collect().await.map_err(Error::Query)
}

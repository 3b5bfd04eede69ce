//! SQL over a store: one DataFusion session with the tables, the views and the functions.

mod distinct;
mod engine;
mod functions;
mod library;
mod mended;
mod names;
mod session;
mod sums;
#[cfg(test)]
mod tests;

pub use library::{Parameter, Question, question, questions};
pub use session::SessionOptions;

use arrow::array::RecordBatch;
use datafusion::prelude::SessionContext;

use crate::error::{Error, Result};

/// All rows of a query.
pub(crate) async fn collect(context: &SessionContext, sql: &str) -> Result<Vec<RecordBatch>> {
    let frame = context.sql(sql).await.map_err(Error::Query)?;
    frame.collect().await.map_err(Error::Query)
}

#![doc = include_str!("../README.md")]
#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::string_slice,
        reason = "a test fails by panicking"
    )
)]

pub mod completion;
mod diagnostics;
mod json_functions;
mod macros;
pub mod placeholders;
pub mod referenced_tables;
pub mod session_statements;
pub mod session_versions;
pub mod splits;
pub mod statement;
mod syntax;

use arrow::array::RecordBatch;
use datafusion::dataframe::DataFrame;
use datafusion::prelude::SessionContext;
use tsql_error::{Error, Result};

/// Plans a query in tsql's SQL dialect.
///
/// # Errors
/// [`Error::Sql`] if the text cannot be parsed or planned, [`Error::Refused`] if it is empty.
pub async fn plan_query(context: &SessionContext, sql: &str) -> Result<DataFrame> {
    let statement = statement::parse_statements(sql)?.pop_front();
    let statement = statement.ok_or_else(|| Error::Refused("the query is empty".to_owned()))?;
    statement::plan_statement(context, statement, sql).await
}

/// Collects all rows of a query.
///
/// # Errors
/// As [`plan_query`]; [`Error::Query`] if the query fails.
pub async fn collect(context: &SessionContext, sql: &str) -> Result<Vec<RecordBatch>> {
    let frame = plan_query(context, sql).await?;
    frame.collect().await.map_err(Error::Query)
}

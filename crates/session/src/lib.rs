//! SQL over a store: a DataFusion session with the tables, views and functions.
//!
//! A session shows the store as of its creation, a [`LiveSession`] also later commits. [`built_in_queries`] are ready
//! to run.
//!
//! ```
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let store = tsql_dataset::demo::create_demo().await?;
//! let context = tsql_session::open_session(&store).await?;
//! let summary = tsql_session::built_in_query("platform-summary")?;
//! let rows = summary.run(&context, &[]).await?.collect().await.unwrap();
//! assert!(rows.iter().any(|batch| batch.num_rows() > 0));
//! # Ok::<(), tsql_error::Error>(()) }).unwrap();
//! ```

#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::string_slice,
        clippy::print_stdout,
        reason = "a test fails by panicking, and may print counts"
    )
)]

#[cfg(test)]
mod engine_tests;
#[cfg(test)]
mod function_tests;
pub mod key_columns;
mod library;
mod live_session;
pub mod noise;
mod plain_types;
mod query_threads;
mod read_only_sql;
mod retracted;
mod search_spaces;
mod session;
#[cfg(test)]
mod slt;
mod units;
mod view;

pub use live_session::open_live_session;
pub use session::{open_for_query, open_session, open_session_at, open_session_with};

pub use library::find_query;
pub use library::{
    NamedQuery, Parameter, RequiredRows, UserQueries, built_in_queries, built_in_query, platforms,
    query_folders, user_queries,
};
pub use live_session::LiveSession;
pub use plain_types::plain_schema;
pub use query_threads::QueryThreads;
pub use read_only_sql::{check_reads, query_read_only, run_read_only};
pub use session::SessionOptions;
#[cfg(feature = "cluster")]
pub use tsql_cluster::Workers;
pub use tsql_dialect::placeholders::{count_placeholders, number_placeholders};
pub use tsql_dialect::referenced_tables::other_tables;
pub use tsql_dialect::session_statements::ends_with_session;
pub use tsql_dialect::splits::SplitUnit;
pub use tsql_engine::{execute_stream_cancellable, memory_guard_bytes};
pub use tsql_functions::{ElementNames, Function, FunctionKind, function, functions};
pub use units::{column_units, schema_with_units};

use datafusion::common::{ParamValues, ScalarValue};
use datafusion::dataframe::DataFrame;
use datafusion::logical_expr::LogicalPlan;
use datafusion::prelude::SessionContext;
use tsql_dialect::{placeholders, statement};
use tsql_error::{Error, Result};

/// Version of the program, its functions and its tables. A worker must have the same version as its client.
#[cfg(feature = "cluster")]
pub fn plan_version() -> String {
    let functions = functions()
        .into_iter()
        .filter(|function| function.is_tsql)
        .map(|function| function.name);
    let tables = tsql_schema::tables().into_iter().flatten();
    let tables = tables.map(|table| format!("{}@{}", table.name, table.version));
    tsql_cluster::plan_version(functions.chain(tables))
}

/// Runs SQL in tsql's dialect (`FROM t SELECT a`, `PIVOT`, `SELECT * EXCLUDE (b)`), with `values` for `$NAME`.
///
/// If there are several statements, the last one is returned as a plan. The others run first.
///
/// ```
/// use datafusion::common::ScalarValue;
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let store = tsql_dataset::demo::create_demo().await?;
/// let context = tsql_session::open_session(&store).await?;
/// let values = [("platform".to_owned(), ScalarValue::from("epyc-1t"))];
/// let frame = tsql_session::run_sql(&context, "FROM records SELECT line WHERE platform = $platform", &values).await?;
/// assert_eq!(frame.count().await.unwrap(), 240);
/// # Ok::<(), tsql_error::Error>(()) }).unwrap();
/// ```
///
/// # Errors
/// [`Error::Sql`] if a statement cannot be planned, [`Error::Argument`] and [`Error::Unknown`] if the values do
/// not match the text, [`Error::Query`] if a statement before the last one fails.
pub async fn run_sql(
    context: &SessionContext,
    sql: &str,
    values: &[(String, ScalarValue)],
) -> Result<DataFrame> {
    placeholders::match_values(sql, values)?;
    let parameters = ParamValues::from(values.to_vec());
    let bind = |plan: LogicalPlan| match values {
        [] => Ok(plan),
        _ => plan
            .with_param_values(parameters.clone())
            .map_err(Error::Query),
    };
    let mut statements = statement::parse_statements(sql)?;
    for statement in &mut statements {
        statement::cast_list_arguments(statement, values);
    }
    let last = statements.pop_back();
    let last = last.ok_or_else(|| Error::Refused("the query is empty".to_owned()))?;
    for statement in statements {
        let frame = statement::plan_with(context, statement, sql, bind).await?;
        frame.collect().await.map_err(Error::Query)?;
    }
    statement::plan_with(context, last, sql, bind).await
}

//! SQL over a store: a DataFusion session with the tables, views and functions.
//!
//! A session shows the store as of its creation, a [`LiveSession`] also later commits. [`built_in_queries`] are ready
//! to run.
//!
//! ```
//! use tsql::{Store, query};
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let store = Store::demo().await?;
//! let context = store.session().await?;
//! let summary = query::built_in_query("platform-summary")?;
//! let rows = summary.run(&context, &[]).await?.collect().await.unwrap();
//! assert!(rows.iter().any(|batch| batch.num_rows() > 0));
//! # Ok::<(), tsql::Error>(()) }).unwrap();
//! ```

mod bitmap_distinct;
mod cancellation;
mod cardinality;
mod common_subplan;
pub(crate) mod completion;
mod copy_to;
mod diagnostics;
mod dialect;
mod distinct_on;
mod eager_aggregation;
mod engine;
mod fallible;
mod files;
mod full_sort;
#[cfg(test)]
mod function_tests;
mod join_selection;
pub(crate) mod key_columns;
mod library;
pub(crate) mod limits;
mod live_session;
mod memory;
mod not_in;
mod operator_substitution;
mod partition_top_k;
mod per_column_pruning;
mod placeholders;
#[cfg(any(test, debug_assertions))]
mod plan_validator;
mod preaggregates;
mod range_join;
#[cfg(feature = "ui")]
mod read_only_sql;
mod referenced_tables;
mod relations;
mod retracted;
mod rule;
mod rules;
mod run_aggregate;
mod session;
mod session_statements;
mod session_versions;
#[cfg(test)]
mod slt;
mod split_pruning;
pub(crate) mod splits;
pub(crate) mod statement;
mod streaming_window;
#[cfg(test)]
mod tests;
pub(crate) mod text_values;
mod topk_file_order;
mod units;
mod upstream_workarounds;
mod view;

#[cfg(any(feature = "cli", feature = "ui"))]
pub(crate) use cancellation::execute_cancellable;
pub use cancellation::execute_stream_cancellable;
#[cfg(feature = "cluster")]
pub(crate) use engine::{build_runtime, worker_state};
pub(crate) use library::find_query;
pub use library::{
    NamedQuery, Parameter, RequiredRows, UserQueries, built_in_queries, built_in_query, platforms,
    query_folders, user_queries,
};
pub use live_session::LiveSession;
pub use memory::memory_guard_bytes;
pub(crate) use placeholders::match_placeholders;
pub use placeholders::number_placeholders;
#[cfg(test)]
pub(crate) use preaggregates::tests::round_floats;
#[cfg(feature = "ui")]
pub(crate) use read_only_sql::{check_reads, run_read_only};
pub use referenced_tables::other_tables;
pub(crate) use referenced_tables::references_store;
pub use session::SessionOptions;
pub use session_statements::ends_with_session;
pub use splits::SplitUnit;
pub use tsql_functions::{ElementNames, Function, FunctionKind, function, functions};
pub use units::{column_units, schema_with_units};

use arrow::array::RecordBatch;
use datafusion::common::{ParamValues, ScalarValue};
use datafusion::dataframe::DataFrame;
use datafusion::logical_expr::LogicalPlan;
use datafusion::prelude::SessionContext;

use crate::error::{Error, Result};

/// Version of the program, its functions and its tables. A worker must have the same version as its client.
#[cfg(feature = "cluster")]
pub(crate) fn plan_version() -> String {
    let functions = functions()
        .into_iter()
        .filter(|function| function.is_ours)
        .map(|function| function.name);
    let tables = crate::schema::tables().into_iter().flatten();
    let tables = tables.map(|table| format!("{}@{}", table.name, table.version));
    crate::cluster::plan_version(functions.chain(tables))
}

/// Plans a query in tsql's SQL dialect.
pub(crate) async fn plan_query(context: &SessionContext, sql: &str) -> Result<DataFrame> {
    let statement = statement::parse_statements(sql)?.pop_front();
    let statement = statement.ok_or_else(|| Error::Refused("the query is empty".to_owned()))?;
    statement::plan_statement(context, statement, sql).await
}

/// Runs SQL in tsql's dialect (`FROM t SELECT a`, `PIVOT`, `SELECT * EXCLUDE (b)`), with `given` values for `$NAME`.
///
/// If there are several statements, the last one is returned as a plan. The others run first.
///
/// ```
/// use tsql::datafusion::common::ScalarValue;
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let context = tsql::Store::demo().await?.session().await?;
/// let given = [("platform".to_owned(), ScalarValue::from("epyc-1t"))];
/// let frame = tsql::query::run_sql(&context, "FROM records SELECT line WHERE platform = $platform", &given).await?;
/// assert_eq!(frame.count().await.unwrap(), 240);
/// # Ok::<(), tsql::Error>(()) }).unwrap();
/// ```
///
/// # Errors
/// [`Error::Sql`] if a statement cannot be planned, [`Error::Argument`] and [`Error::Unknown`] if the given values do
/// not match the text, [`Error::Query`] if a statement before the last one fails.
pub async fn run_sql(
    context: &SessionContext,
    sql: &str,
    given: &[(String, ScalarValue)],
) -> Result<DataFrame> {
    placeholders::match_values(sql, given)?;
    let values = ParamValues::from(given.to_vec());
    let bind = |plan: LogicalPlan| match given {
        [] => Ok(plan),
        _ => plan.with_param_values(values.clone()).map_err(Error::Query),
    };
    let mut statements = statement::parse_statements(sql)?;
    let last = statements.pop_back();
    let last = last.ok_or_else(|| Error::Refused("the query is empty".to_owned()))?;
    for statement in statements {
        let frame = statement::plan_with(context, statement, sql, bind).await?;
        frame.collect().await.map_err(Error::Query)?;
    }
    statement::plan_with(context, last, sql, bind).await
}

/// Collects all rows of a query.
pub(crate) async fn collect(context: &SessionContext, sql: &str) -> Result<Vec<RecordBatch>> {
    let frame = plan_query(context, sql).await?;
    frame.collect().await.map_err(Error::Query)
}

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

mod bitmap_distinct;
mod cancellation;
mod cardinality;
mod common_subplan;
pub(crate) mod completion;
mod copy_to;
mod dialect;
mod distinct_on;
mod eager_aggregation;
mod engine;
mod fallible;
mod files;
mod full_sort;
pub(crate) mod functions;
mod join_selection;
pub(crate) mod keyed;
mod library;
pub(crate) mod limits;
mod live;
mod memory;
mod mistakes;
mod names;
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
mod reading;
mod relations;
mod retracted;
mod rule;
mod rules;
mod run_aggregate;
mod session;
mod session_statements;
mod shown;
#[cfg(test)]
mod slt;
mod sort_keys;
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

pub use cancellation::ending_rows;
#[cfg(any(feature = "cli", feature = "ui"))]
pub(crate) use cancellation::led;
#[cfg(feature = "cluster")]
pub(crate) use engine::{of_part, runtime};
pub use functions::{Elements, Function, FunctionKind, function, functions};
pub(crate) use library::among as question_among;
pub use library::{
    Need, OwnQuestions, Parameter, Question, own_questions, platforms, question, question_folders,
    questions,
};
pub use live::LiveSession;
pub use memory::memory_guard_bytes;
pub(crate) use names::names_tables;
pub use names::other_tables;
pub(crate) use placeholders::match_placeholders;
pub use placeholders::numbered;
#[cfg(test)]
pub(crate) use preaggregates::tests::rounded;
#[cfg(feature = "ui")]
pub(crate) use reading::{ask_reading, reads};
pub use session::SessionOptions;
pub use session_statements::ends_with_session;
pub use splits::SplitUnit;
pub use units::{schema_with_units, units};

use arrow::array::RecordBatch;
use datafusion::common::{ParamValues, ScalarValue};
use datafusion::dataframe::DataFrame;
use datafusion::logical_expr::LogicalPlan;
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

/// Answers SQL as people type it (`FROM t SELECT a`, `PIVOT`, `SELECT * EXCLUDE (b)`), with `given` values for its `$NAME`.
/// Of several statements the last one is the question; those before it are run first.
///
/// ```
/// use tsql::datafusion::common::ScalarValue;
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let context = tsql::Store::demo().await?.session().await?;
/// let given = [("platform".to_owned(), ScalarValue::from("epyc-1t"))];
/// let frame = tsql::query::ask(&context, "FROM records SELECT line WHERE platform = $platform", &given).await?;
/// assert_eq!(frame.count().await.unwrap(), 240);
/// # Ok::<(), tsql::Error>(()) }).unwrap();
/// ```
///
/// # Errors
/// [`Error::Sql`] where it cannot be answered, [`Error::Argument`] and [`Error::Unknown`] where the given values are not
/// those of the text, [`Error::Query`] where one of the statements before the last fails.
pub async fn ask(
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
    let mut statements = statement::statements(sql)?;
    let last = statements.pop_back();
    let last = last.ok_or_else(|| Error::Refused("the query is empty".to_owned()))?;
    for statement in statements {
        let frame = statement::planned_by(context, statement, sql, bind).await?;
        frame.collect().await.map_err(Error::Query)?;
    }
    statement::planned_by(context, last, sql, bind).await
}

/// All rows of a query.
pub(crate) async fn collect(context: &SessionContext, sql: &str) -> Result<Vec<RecordBatch>> {
    let frame = frame(context, sql).await?;
    frame.collect().await.map_err(Error::Query)
}

//! Queries over the newest version of the store.

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow_flight::error::FlightError;
use datafusion::common::ScalarValue;
use datafusion::dataframe::DataFrame;
use datafusion::error::Result as QueryResult;
use futures::{Stream, StreamExt as _, TryStreamExt as _, stream};
use tokio::sync::watch;
use tonic::Status;
use tsql_engine::execute_stream_cancellable;
use tsql_error::{Error, Result};
use tsql_session::{
    QueryThreads, SessionOptions, count_placeholders, number_placeholders, open_session_with,
    plain_schema, query_read_only, schema_with_units,
};
use tsql_store::Store;

use super::error_status::status;

/// Columns of a query and its parameters.
pub(crate) struct QuerySchemas {
    pub(crate) result: SchemaRef,
    pub(crate) parameters: Schema,
}

/// Rows of a query.
pub(crate) struct QueryRows<S> {
    pub(crate) schema: SchemaRef,
    pub(crate) batches: S,
}

/// Queries of all clients.
#[derive(Debug)]
pub(crate) struct Queries {
    store: Store,
    session: SessionOptions,
    threads: QueryThreads,
    /// Closed when the server ends.
    serving: watch::Receiver<()>,
}

impl Queries {
    /// Queries run on the runtime that calls this function, until the sender of `serving` is dropped.
    pub(crate) fn new(store: Store, session: SessionOptions, serving: watch::Receiver<()>) -> Self {
        Self {
            store,
            session,
            threads: QueryThreads::current(),
            serving,
        }
    }

    /// Plans a query without running it.
    pub(crate) async fn describe(&self, sql: String) -> Result<QuerySchemas> {
        let (store, session) = (self.store.clone(), self.session.clone());
        let plan = async move || {
            let count = count_placeholders(&sql);
            let sql = number_placeholders(&sql, count)?;
            let frame = query_read_only(&store, &session, &sql, &[]).await?;
            Ok(QuerySchemas {
                result: result_schema(&frame),
                parameters: parameter_schema(&frame, count)?,
            })
        };
        self.threads.run(plan).await
    }

    /// Runs a query with values of its positional parameters. It ends when its rows are dropped.
    pub(crate) async fn run(
        &self,
        sql: String,
        values: Vec<ScalarValue>,
    ) -> Result<QueryRows<impl Stream<Item = Result<RecordBatch, FlightError>> + Send + 'static>>
    {
        let (store, session) = (self.store.clone(), self.session.clone());
        let run = async move || {
            let sql = number_placeholders(&sql, values.len())?;
            let names = (1..).map(|number: usize| number.to_string());
            let values: Vec<(String, ScalarValue)> = names.zip(values).collect();
            let frame = query_read_only(&store, &session, &sql, &values).await?;
            let schema = result_schema(&frame);
            // Its own tasks compute the rows, on the runtime of queries.
            Ok((schema, execute_stream_cancellable(frame).await?))
        };
        let (schema, rows) = self.threads.run(run).await?;
        let plain = Arc::clone(&schema);
        let batches = rows.map(move |batch| batch.and_then(|batch| with_schema(&batch, &plain)));
        let batches = batches.map_err(|error| status(&Error::Query(error)));
        let batches = until_closed(batches, self.serving.clone());
        let batches = batches.map_err(|status| FlightError::Tonic(Box::new(status)));
        Ok(QueryRows { schema, batches })
    }

    /// Returns the columns of tables and views by name.
    pub(crate) async fn table_schemas(
        &self,
        names: Vec<String>,
    ) -> Result<Vec<(String, SchemaRef)>> {
        let (store, session) = (self.store.clone(), self.session.clone());
        let read = async move || {
            let context = open_session_with(&store, &session).await?;
            let mut schemas = Vec::new();
            for name in names {
                let frame = context.table(name.as_str()).await.map_err(Error::Query)?;
                schemas.push((name, result_schema(&frame)));
            }
            Ok(schemas)
        };
        self.threads.run(read).await
    }
}

/// Ends rows with an error when the server ends.
fn until_closed<T: Send + 'static>(
    rows: impl Stream<Item = Result<T, Status>> + Send + 'static,
    mut serving: watch::Receiver<()>,
) -> impl Stream<Item = Result<T, Status>> + Send + 'static {
    let closed = stream::once(async move {
        while serving.changed().await.is_ok() {}
        Some(Err(Status::unavailable("the server has ended")))
    });
    let rows = rows.map(Some).chain(stream::once(async { None }));
    stream::select(rows, closed)
        .take_while(|row| std::future::ready(row.is_some()))
        .filter_map(std::future::ready)
}

/// Returns the schema of the rows that clients get: types that any Arrow library reads, with units.
fn result_schema(frame: &DataFrame) -> SchemaRef {
    let schema = plain_schema(&schema_with_units(frame));
    // Plans promise columns without NULLs that rows of outer joins have.
    let fields = schema.fields().iter();
    let fields = fields.map(|field| field.as_ref().clone().with_nullable(true));
    Arc::new(Schema::new(fields.collect::<Vec<Field>>()))
}

/// Returns the parameters `$1`, `$2`, ... with the types of their use. Without one, a parameter is text.
fn parameter_schema(frame: &DataFrame, count: usize) -> Result<Schema> {
    let types = frame.logical_plan().get_parameter_types();
    let types = types.map_err(Error::Query)?;
    let is_number = |name: &str| {
        name.strip_prefix('$')
            .is_some_and(|name| name.parse::<usize>().is_ok())
    };
    if let Some(name) = types.keys().find(|name| !is_number(name)) {
        return Err(Error::Argument {
            name: "parameters",
            reason: format!(
                "`{name}` has no value here, expected parameters by position: `?` or `$1`"
            ),
        });
    }
    let fields = (1..=count).map(|number| {
        let name = format!("${number}");
        let data_type = types.get(&name).cloned().flatten();
        Field::new(name, data_type.unwrap_or(DataType::Utf8), true)
    });
    Ok(plain_schema(&Schema::new(fields.collect::<Vec<Field>>())))
}

fn with_schema(batch: &RecordBatch, schema: &SchemaRef) -> QueryResult<RecordBatch> {
    let columns = batch.columns().iter().zip(schema.fields());
    let columns = columns.map(|(column, field)| cast(column, field.data_type()));
    let columns = columns.collect::<std::result::Result<Vec<_>, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(
        Arc::clone(schema),
        columns,
        &options,
    )?)
}

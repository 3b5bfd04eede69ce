//! Tools that run queries.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use arrow::array::RecordBatch;
use arrow::json::LineDelimitedWriter;
use arrow::json::writer::{LineDelimited, WriterBuilder};
use datafusion::dataframe::DataFrame;
use datafusion::logical_expr::LogicalPlan;
use datafusion::prelude::SessionContext;
use futures::StreamExt as _;
use serde::Serialize;
use serde_json::Value;
use tsql_engine::execute_stream_cancellable;
use tsql_engine::text_values::TsqlEncoders;
use tsql_error::{Error, Result};
use tsql_session::{
    NamedQuery, check_reads, column_units, find_query, open_session_with, query_read_only,
};

use super::arguments::{self, RunQuery};
use super::server_state::ServerState;

/// Maximum size of the rows of a result, in bytes of JSON.
const MAX_RESULT_BYTES: usize = 1 << 20;

/// A result as the client gets it.
#[derive(Debug, Serialize)]
pub(crate) struct QueryResult {
    /// Values of the parameters of a built-in query.
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<BTreeMap<String, String>>,
    columns: Vec<ResultColumn>,
    row_count: usize,
    is_truncated: bool,
    /// The reason for missing rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    rows: Vec<Value>,
}

#[derive(Debug, Serialize)]
struct ResultColumn {
    name: String,
    #[serde(rename = "type")]
    type_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    unit: Option<String>,
}

/// A planned built-in query.
pub(crate) struct NamedPlan {
    pub(crate) frame: DataFrame,
    pub(crate) query: NamedQuery,
    context: SessionContext,
    /// Values of all parameters.
    values: Vec<(String, String)>,
}

/// Runs SQL.
pub(crate) async fn query(state: &ServerState, arguments: arguments::Query) -> Result<QueryResult> {
    let (rows, time) = (arguments.limits.rows()?, arguments.limits.timeout()?);
    with_timeout(time, async {
        let frame = plan_sql(state, &arguments.sql).await?;
        collect_rows(frame, rows).await
    })
    .await
}

/// Runs a built-in query.
pub(crate) async fn run_query(state: &ServerState, arguments: RunQuery) -> Result<QueryResult> {
    let (rows, time) = (arguments.limits.rows()?, arguments.limits.timeout()?);
    let given = arguments::parameter_texts(arguments.parameters)?;
    with_timeout(time, async {
        let plan = plan_named(state, &arguments.name, &given).await?;
        let mut result = collect_rows(plan.frame, rows).await?;
        result.parameters = Some(plan.values.into_iter().collect());
        if result.row_count == 0
            && let Some(missing) = plan.query.missing_data(&plan.context).await?
        {
            result.note = Some(format!("no rows, because the store has no {missing}"));
        }
        Ok(result)
    })
    .await
}

/// Ends `work` after a time.
pub(crate) async fn with_timeout<T>(
    time: Duration,
    work: impl Future<Output = Result<T>>,
) -> Result<T> {
    match tokio::time::timeout(time, work).await {
        Ok(result) => result,
        Err(_) => Err(Error::Refused(format!(
            "the query was cancelled after {} s\nhint: a larger `timeout_seconds` allows more time; fewer rows or columns need less",
            time.as_secs_f64()
        ))),
    }
}

/// Plans read-only SQL over the newest version of the store.
pub(crate) async fn plan_sql(state: &ServerState, sql: &str) -> Result<DataFrame> {
    query_read_only(&state.store, &state.session, sql, &[]).await
}

/// Plans a built-in query over the newest version of the store.
pub(crate) async fn plan_named(
    state: &ServerState,
    name: &str,
    given: &[(String, String)],
) -> Result<NamedPlan> {
    let query = find_query(state.queries.clone(), name)?;
    // It may be a user-defined query with arbitrary SQL.
    check_reads(&query.sql)?;
    if !query.files.is_empty() {
        return Err(Error::Refused(format!(
            "query `{name}` reads a file, but queries can read only the store here\n\
             hint: `tsql queries {name}` on the command line reads files"
        )));
    }
    let options = state.session.clone().sql(query.referenced_sql());
    let context = open_session_with(&state.store, &options).await?;
    let values = query.parameter_values(&context, given).await?;
    let frame = query.run(&context, &values).await?;
    Ok(NamedPlan {
        frame,
        query,
        context,
        values,
    })
}

/// Returns the columns and the first rows of a result. The query ends as soon as it has more.
async fn collect_rows(frame: DataFrame, max_rows: usize) -> Result<QueryResult> {
    let units = column_units(frame.logical_plan());
    // One row more shows that rows were left out.
    let frame = match frame.logical_plan() {
        LogicalPlan::Explain(_) | LogicalPlan::Analyze(_) | LogicalPlan::DescribeTable(_) => frame,
        _ => frame.limit(0, Some(max_rows + 1)).map_err(Error::Query)?,
    };
    let mut stream = execute_stream_cancellable(frame).await?;
    let schema = stream.schema();
    let fields = schema.fields().iter().enumerate();
    let columns = fields.map(|(index, field)| ResultColumn {
        name: field.name().clone(),
        type_name: field.data_type().to_string(),
        unit: units.get(index).cloned().flatten(),
    });
    let mut rows: Vec<Value> = Vec::new();
    let (mut bytes, mut note) = (0_usize, None);
    'batches: while let Some(batch) = stream.next().await {
        let batch = batch.map_err(Error::Query)?;
        for line in json_lines(&batch.slice(0, batch.num_rows().min(max_rows + 1)))? {
            if rows.len() == max_rows {
                note = Some(format!(
                    "more than {max_rows} rows: further rows were left out"
                ));
                break 'batches;
            }
            bytes += line.len();
            if bytes > MAX_RESULT_BYTES {
                note = Some(format!(
                    "more than {MAX_RESULT_BYTES} bytes: further rows were left out; select fewer columns"
                ));
                break 'batches;
            }
            let row = serde_json::from_str(&line);
            rows.push(row.map_err(|error| Error::Internal(error.to_string()))?);
        }
    }
    Ok(QueryResult {
        parameters: None,
        columns: columns.collect(),
        row_count: rows.len(),
        is_truncated: note.is_some(),
        note,
        rows,
    })
}

/// Returns each row as a JSON object, as the command line prints it.
fn json_lines(batch: &RecordBatch) -> Result<Vec<String>> {
    let mut text = Vec::new();
    let builder = WriterBuilder::new()
        .with_explicit_nulls(true)
        .with_encoder_factory(Arc::new(TsqlEncoders));
    let mut writer: LineDelimitedWriter<&mut Vec<u8>> =
        builder.build::<_, LineDelimited>(&mut text);
    let written = writer.write(batch).and_then(|()| writer.finish());
    written.map_err(|error| Error::Query(error.into()))?;
    drop(writer);
    let text = String::from_utf8_lossy(&text);
    Ok(text.lines().map(str::to_owned).collect())
}

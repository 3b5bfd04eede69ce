//! Query execution: the rows go to disk, and JSON lines report the progress.
//!
//! ```text
//! {"started": {"id": 7, "columns": [...]}}   planned; rows can be read from here on
//! {"rows": 81920, "seconds": 0.5}          progress, four times a second
//! {"done": {"rows": 1000000, ...}}         or {"error": {...}}
//! ```
//!
//! The query is cancelled when the client stops reading the lines.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::dataframe::DataFrame;
use futures::StreamExt as _;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::mpsc::Sender;
use tsql_engine::execute_cancellable;
use tsql_error::{Error, Result};
use tsql_session::{NamedQuery, check_reads, column_units, find_query, run_read_only};

use super::app_state::AppState;
use super::error_body::ErrorBody;

/// Interval of progress reports.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(250);

/// Request body: SQL, or a built-in query with the values of its parameters.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub(super) enum QueryRequest {
    Sql(String),
    Query {
        name: String,
        #[serde(default)]
        values: BTreeMap<String, String>,
    },
}

/// Description of a result column.
#[derive(Debug, Serialize)]
struct ResultColumn {
    name: String,
    #[serde(rename = "type")]
    type_name: String,
    unit: Option<String>,
    is_number: bool,
}

/// Built-in query, to explain an empty result.
struct BuiltinQuery {
    query: NamedQuery,
    values: Vec<(String, String)>,
}

/// Runs a query and sends its progress as lines.
pub(super) async fn stream_query(
    served: Arc<AppState>,
    request: QueryRequest,
    lines: Sender<String>,
) {
    let _running = served.start_query();
    if let Err(error) = run_query(&served, request, &lines).await {
        send_line(&lines, &json!({"error": ErrorBody::from(&error)})).await;
    }
}

async fn send_line(lines: &Sender<String>, line: &serde_json::Value) {
    // Without a receiver the query is cancelled.
    let _ = lines.send(format!("{line}\n")).await;
}

async fn run_query(
    served: &Arc<AppState>,
    request: QueryRequest,
    lines: &Sender<String>,
) -> Result<()> {
    let began = Instant::now();
    let (frame, about) = plan_query(served, request).await?;
    let units = column_units(frame.logical_plan());
    let task = Arc::new(frame.task_ctx());
    let plan = frame.create_physical_plan().await.map_err(Error::Query)?;
    let mut rows = execute_cancellable(plan, task).map_err(Error::Query)?;
    let schema = nullable(&rows.schema());
    let columns = describe_columns(&schema, &units);
    let (result, mut writer) = served.results.begin_result(schema, units)?;
    let started = json!({
        "id": result.id,
        "columns": columns,
        "query": about.as_ref().map(|about| json!({
            "name": about.query.name,
            "sql": about.query.sql,
            "plot": about.query.plot,
            "values": about.values.iter().cloned().collect::<BTreeMap<_, _>>(),
        })),
    });
    send_line(lines, &json!({"started": started})).await;
    let mut ticks = tokio::time::interval(PROGRESS_INTERVAL);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    let mut is_truncated = false;
    loop {
        tokio::select! {
            biased;
            _ = ticks.tick() => {
                writer.flush()?;
                let seconds = began.elapsed().as_secs_f64();
                send_line(lines, &json!({"rows": result.rows.rows(), "seconds": seconds})).await;
            }
            batch = rows.next() => {
                let Some(batch) = batch else { break };
                writer.push(batch.map_err(Error::Query)?)?;
                if result.rows.bytes() > served.options.result_bytes {
                    is_truncated = true;
                    break;
                }
            }
        }
    }
    drop(rows);
    writer.flush()?;
    let count = result.rows.rows();
    let done = json!({
        "rows": count,
        "seconds": began.elapsed().as_secs_f64(),
        "is_truncated": is_truncated,
        "empty_reason": match &about {
            Some(about) if count == 0 => why_empty(served, about).await?,
            _ => None,
        },
    });
    send_line(lines, &json!({"done": done})).await;
    Ok(())
}

async fn plan_query(
    served: &AppState,
    request: QueryRequest,
) -> Result<(DataFrame, Option<BuiltinQuery>)> {
    let store_only = !served.options.files;
    let (name, values) = match request {
        QueryRequest::Sql(sql) => {
            let context = served.session(Some(&sql)).await?;
            return Ok((run_read_only(&context, &sql, store_only).await?, None));
        }
        QueryRequest::Query { name, values } => (name, values),
    };
    let query = find_query(served.queries(), &name)?;
    // It may be a user-defined query with arbitrary SQL.
    check_reads(&query.sql)?;
    if store_only && !query.files.is_empty() {
        return Err(Error::Refused(format!(
            "query `{name}` reads a file\nhint: `tsql ui --allow-files` allows queries to read files"
        )));
    }
    let context = served.session(Some(&query.referenced_sql())).await?;
    let given: Vec<_> = values
        .into_iter()
        .filter(|(_, value)| !value.is_empty())
        .collect();
    let values = query.parameter_values(&context, &given).await?;
    let files = given
        .into_iter()
        .filter(|(name, _)| query.files.iter().any(|(file, _)| file == name));
    let given: Vec<_> = files.chain(values.clone()).collect();
    let frame = query.run(&context, &given).await?;
    Ok((frame, Some(BuiltinQuery { query, values })))
}

/// Reason why a built-in query has no rows.
async fn why_empty(served: &AppState, about: &BuiltinQuery) -> Result<Option<String>> {
    let context = served.session(Some(&about.query.referenced_sql())).await?;
    let lacks = about.query.missing_data(&context).await?;
    Ok(lacks.map(|what| format!("no rows, because the store has no {what}")))
}

/// Schema with nullable columns, because executed rows may differ from the plan.
fn nullable(schema: &SchemaRef) -> SchemaRef {
    let fields = schema.fields().iter();
    let fields = fields.map(|field| Field::clone(field).with_nullable(true));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

fn describe_columns(schema: &SchemaRef, units: &[Option<String>]) -> Vec<ResultColumn> {
    let fields = schema.fields().iter().enumerate();
    let shown = fields.map(|(place, field)| ResultColumn {
        name: field.name().clone(),
        type_name: type_name(field.data_type()),
        unit: units
            .get(place)
            .cloned()
            .flatten()
            .or_else(|| field.metadata().get("unit").cloned()),
        is_number: field.data_type().is_numeric(),
    });
    shown.collect()
}

/// Readable name of a type.
fn type_name(data_type: &DataType) -> String {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "text".to_owned(),
        DataType::Dictionary(_, values) => type_name(values),
        DataType::List(field) | DataType::LargeList(field) | DataType::ListView(field) => {
            format!("list of {}", type_name(field.data_type()))
        }
        DataType::Timestamp(..) => "time".to_owned(),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => "bytes".to_owned(),
        DataType::Struct(_) => "struct".to_owned(),
        other => other.to_string(),
    }
}

//! Query execution: the rows go to disk, and JSON lines report the progress.
//!
//! ```text
//! {"begun": {"id": 7, "columns": [...]}}   planned; rows can be read from here on
//! {"rows": 81920, "seconds": 0.5}          progress, four times a second
//! {"done": {"rows": 1000000, ...}}         or {"failed": {...}}
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

use super::app_state::AppState;
use super::error_body::ErrorBody;
use crate::error::{Error, Result};
use crate::query::{
    NamedQuery, check_reads, column_units, execute_cancellable, find_query, run_read_only,
};

/// Interval of progress reports.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(250);

/// Request body: SQL, or a built-in query with the values of its parameters.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub(super) enum QueryRequest {
    Sql(String),
    Question {
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
    question: NamedQuery,
    values: Vec<(String, String)>,
}

/// Runs a query and sends its progress as lines.
pub(super) async fn stream_query(
    served: Arc<AppState>,
    asked: QueryRequest,
    lines: Sender<String>,
) {
    let _running = served.start_query();
    if let Err(error) = run_query(&served, asked, &lines).await {
        send_line(&lines, &json!({"failed": ErrorBody::from(&error)})).await;
    }
}

async fn send_line(lines: &Sender<String>, line: &serde_json::Value) {
    // Without a receiver the query is cancelled.
    let _ = lines.send(format!("{line}\n")).await;
}

async fn run_query(
    served: &Arc<AppState>,
    asked: QueryRequest,
    lines: &Sender<String>,
) -> Result<()> {
    let began = Instant::now();
    let (frame, about) = plan_query(served, asked).await?;
    let units = column_units(frame.logical_plan());
    let task = Arc::new(frame.task_ctx());
    let plan = frame.create_physical_plan().await.map_err(Error::Query)?;
    let mut rows = execute_cancellable(plan, task).map_err(Error::Query)?;
    let schema = nullable(&rows.schema());
    let columns = describe_columns(&schema, &units);
    let (answer, mut keeping) = served.answers.begin_result(schema, units)?;
    let begun = json!({
        "id": answer.id,
        "columns": columns,
        "question": about.as_ref().map(|about| json!({
            "name": about.question.name,
            "sql": about.question.sql,
            "plot": about.question.plot,
            "values": about.values.iter().cloned().collect::<BTreeMap<_, _>>(),
        })),
    });
    send_line(lines, &json!({"begun": begun})).await;
    let mut ticks = tokio::time::interval(PROGRESS_INTERVAL);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    let mut is_cut = false;
    loop {
        tokio::select! {
            biased;
            _ = ticks.tick() => {
                keeping.flush()?;
                let seconds = began.elapsed().as_secs_f64();
                send_line(lines, &json!({"rows": answer.rows.rows(), "seconds": seconds})).await;
            }
            batch = rows.next() => {
                let Some(batch) = batch else { break };
                keeping.push(batch.map_err(Error::Query)?)?;
                if answer.rows.bytes() > served.options.answer_bytes {
                    is_cut = true;
                    break;
                }
            }
        }
    }
    drop(rows);
    keeping.flush()?;
    let count = answer.rows.rows();
    let done = json!({
        "rows": count,
        "seconds": began.elapsed().as_secs_f64(),
        "is_cut": is_cut,
        "note": match &about {
            Some(about) if count == 0 => why_empty(served, about).await?,
            _ => None,
        },
    });
    send_line(lines, &json!({"done": done})).await;
    Ok(())
}

async fn plan_query(
    served: &AppState,
    asked: QueryRequest,
) -> Result<(DataFrame, Option<BuiltinQuery>)> {
    let store_only = !served.options.files;
    let (name, values) = match asked {
        QueryRequest::Sql(sql) => {
            let context = served.session(Some(&sql)).await?;
            return Ok((run_read_only(&context, &sql, store_only).await?, None));
        }
        QueryRequest::Question { name, values } => (name, values),
    };
    let question = find_query(served.queries(), &name)?;
    // It may be a user-defined query with arbitrary SQL.
    check_reads(&question.sql)?;
    if store_only && !question.files.is_empty() {
        return Err(Error::Refused(format!(
            "query `{name}` reads a file\nhint: `tsql ui --allow-files` allows queries to read files"
        )));
    }
    let context = served.session(Some(&question.referenced_sql())).await?;
    let given: Vec<_> = values
        .into_iter()
        .filter(|(_, value)| !value.is_empty())
        .collect();
    let values = question.parameter_values(&context, &given).await?;
    let files = given
        .into_iter()
        .filter(|(name, _)| question.files.iter().any(|(file, _)| file == name));
    let given: Vec<_> = files.chain(values.clone()).collect();
    let frame = question.run(&context, &given).await?;
    Ok((frame, Some(BuiltinQuery { question, values })))
}

/// Reason why a built-in query has no rows.
async fn why_empty(served: &AppState, about: &BuiltinQuery) -> Result<Option<String>> {
    let context = served
        .session(Some(&about.question.referenced_sql()))
        .await?;
    let lacks = about.question.missing_data(&context).await?;
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

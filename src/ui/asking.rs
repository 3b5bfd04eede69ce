//! A question is asked: its rows go to the disk, and lines of JSON say how far it is.
//!
//! ```text
//! {"begun": {"id": 7, "columns": [...]}}   it is planned; rows can be read from now on
//! {"rows": 81920, "seconds": 0.5}          so far, four times a second
//! {"done": {"rows": 1000000, ...}}         or {"failed": {...}}
//! ```
//!
//! Whoever stops reading the lines ends the question.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::dataframe::DataFrame;
use futures::StreamExt as _;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::mpsc::Sender;

use super::served::Served;
use super::told::Told;
use crate::error::{Error, Result};
use crate::query::{Question, ask_reading, led, question_among, reads, units};

/// How often it is told how far a question is.
const TOLD: Duration = Duration::from_millis(250);

/// What is asked: SQL, or a ready-made question with the values of its parameters.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub(super) enum Asked {
    Sql(String),
    Question {
        name: String,
        #[serde(default)]
        values: BTreeMap<String, String>,
    },
}

/// A column of an answer.
#[derive(Debug, Serialize)]
struct Shown {
    name: String,
    #[serde(rename = "type")]
    type_name: String,
    unit: Option<String>,
    is_number: bool,
}

/// What is known of a ready-made question when it is asked.
struct About {
    question: Question,
    values: Vec<(String, String)>,
}

/// Answers a question, and says so.
pub(super) async fn ask(served: Arc<Served>, asked: Asked, lines: Sender<String>) {
    let _running = served.begun();
    if let Err(error) = answer(&served, asked, &lines).await {
        say(&lines, &json!({"failed": Told::from(&error)})).await;
    }
}

async fn say(lines: &Sender<String>, line: &serde_json::Value) {
    // Nobody listens: the question ends.
    let _ = lines.send(format!("{line}\n")).await;
}

async fn answer(served: &Arc<Served>, asked: Asked, lines: &Sender<String>) -> Result<()> {
    let began = Instant::now();
    let (frame, about) = planned(served, asked).await?;
    let units = units(frame.logical_plan());
    let task = Arc::new(frame.task_ctx());
    let plan = frame.create_physical_plan().await.map_err(Error::Query)?;
    let mut rows = led(plan, task).map_err(Error::Query)?;
    let schema = nullable(&rows.schema());
    let columns = shown(&schema, &units);
    let (answer, mut keeping) = served.answers.begin(schema, units)?;
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
    say(lines, &json!({"begun": begun})).await;
    let mut ticks = tokio::time::interval(TOLD);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    let mut is_cut = false;
    loop {
        tokio::select! {
            biased;
            _ = ticks.tick() => {
                keeping.flush()?;
                let seconds = began.elapsed().as_secs_f64();
                say(lines, &json!({"rows": answer.rows.rows(), "seconds": seconds})).await;
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
    say(lines, &json!({"done": done})).await;
    Ok(())
}

async fn planned(served: &Served, asked: Asked) -> Result<(DataFrame, Option<About>)> {
    let store_only = !served.options.files;
    let (name, values) = match asked {
        Asked::Sql(sql) => {
            let context = served.session(Some(&sql)).await?;
            return Ok((ask_reading(&context, &sql, store_only).await?, None));
        }
        Asked::Question { name, values } => (name, values),
    };
    let question = question_among(served.questions(), &name)?;
    // It may be one of the user's own, who may have written anything there.
    reads(&question.sql)?;
    if store_only && !question.files.is_empty() {
        let reason =
            format!("{name} reads a file\nhint: `tsql ui --files` lets questions read files");
        return Err(Error::Refused(reason));
    }
    let context = served.session(Some(&question.names())).await?;
    let given: Vec<_> = values
        .into_iter()
        .filter(|(_, value)| !value.is_empty())
        .collect();
    let values = question.values(&context, &given).await?;
    let files = given
        .into_iter()
        .filter(|(name, _)| question.files.iter().any(|(file, _)| file == name));
    let given: Vec<_> = files.chain(values.clone()).collect();
    let frame = question.ask(&context, &given).await?;
    Ok((frame, Some(About { question, values })))
}

/// Why a ready-made question has no rows.
async fn why_empty(served: &Served, about: &About) -> Result<Option<String>> {
    let context = served.session(Some(&about.question.names())).await?;
    let lacks = about.question.lacks(&context).await?;
    Ok(lacks.map(|what| format!("no answer, because the store has no {what}")))
}

/// The schema of rows that may come otherwise than they were planned.
fn nullable(schema: &SchemaRef) -> SchemaRef {
    let fields = schema.fields().iter();
    let fields = fields.map(|field| Field::clone(field).with_nullable(true));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

fn shown(schema: &SchemaRef, units: &[Option<String>]) -> Vec<Shown> {
    let fields = schema.fields().iter().enumerate();
    let shown = fields.map(|(place, field)| Shown {
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

/// A type as people read it.
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

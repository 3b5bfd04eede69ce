//! What the page knows of the store: tables with units and meaning, the ready-made questions, and words to type.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::news::tables;
use super::served::Served;
use crate::error::Result;
use crate::plot::Kind;
use crate::query::completion::of_sql;
use crate::query::{Question, platforms};
use crate::schema::{self, Column};

/// Words that are suggested at a time.
const SUGGESTED: usize = 40;

#[derive(Debug, Serialize)]
struct ShownColumn<'a> {
    name: &'a str,
    #[serde(rename = "type")]
    type_name: &'a str,
    unit: Option<&'a str>,
    doc: &'a str,
}

fn columns(columns: &[Column]) -> Vec<ShownColumn<'_>> {
    let shown = columns.iter().filter(|column| !column.hidden);
    let shown = shown.map(|column| ShownColumn {
        name: &column.name,
        type_name: &column.type_name,
        unit: column.unit.as_deref(),
        doc: &column.doc,
    });
    shown.collect()
}

/// Everything that does not change while the page is open, and the rows as they are now.
pub(super) async fn catalog(served: &Served) -> Result<Value> {
    let all = schema::relations()?.map(|relation| {
        let kind = if relation.is_view { "view" } else { "table" };
        let columns = columns(relation.columns);
        json!({"name": relation.name, "kind": kind, "doc": relation.doc, "columns": columns})
    });
    let all: Vec<Value> = all.collect();
    let questions = served.questions();
    let questions: Vec<Value> = questions.iter().map(question).collect();
    Ok(json!({
        "name": served.options.name,
        "location": served.store.location().as_str(),
        "version": env!("CARGO_PKG_VERSION"),
        "files": served.options.files,
        "kinds": Kind::ALL.map(Kind::name),
        "platforms": platforms(&served.store).await?,
        "rows": tables(&served.store).await?,
        "tables": all,
        "questions": questions,
    }))
}

fn question(question: &Question) -> Value {
    let parameters = question.parameters.iter().map(|parameter| {
        json!({
            "name": parameter.name,
            "default": parameter.default,
            "doc": parameter.doc,
            "is_platform": parameter.is_platform(),
        })
    });
    let files = question
        .files
        .iter()
        .map(|(name, doc)| json!({"name": name, "doc": doc}));
    json!({
        "name": question.name,
        "title": question.title,
        "sql": question.sql,
        "plot": question.plot,
        "is_own": question.path.is_some(),
        "parameters": parameters.collect::<Vec<_>>(),
        "files": files.collect::<Vec<_>>(),
    })
}

/// A text, and what of it stands before the cursor.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Typed {
    text: String,
    before: String,
}

/// Words that fit what was begun.
pub(super) async fn suggested(served: &Served, typed: &Typed) -> Result<Value> {
    let words = served.words().await?;
    let (begun, mut found) = of_sql(&words, &typed.text, &typed.before, |_| Vec::new());
    found.retain(|candidate| candidate.fits(begun));
    let words = found.iter().take(SUGGESTED).map(|candidate| {
        let space = if candidate.has_space() { " " } else { "" };
        json!({"value": format!("{}{space}", candidate.typed(begun)), "doc": candidate.doc})
    });
    Ok(json!({"begun": begun, "words": words.collect::<Vec<_>>()}))
}

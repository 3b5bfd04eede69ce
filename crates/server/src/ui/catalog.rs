//! Catalog for the page: tables with units and descriptions, built-in queries, and completions.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tsql_dialect::completion::complete_sql;
use tsql_error::Result;
use tsql_schema as schema;
use tsql_schema::Column;
use tsql_session::{NamedQuery, platforms};

use super::app_state::AppState;
use super::live_updates::tables;
use crate::plot::ChartKind;

/// Maximum number of completions.
const MAX_SUGGESTIONS: usize = 40;

#[derive(Debug, Serialize)]
struct CatalogColumn<'a> {
    name: &'a str,
    #[serde(rename = "type")]
    type_name: &'a str,
    unit: Option<&'a str>,
    doc: &'a str,
}

fn columns(columns: &[Column]) -> Vec<CatalogColumn<'_>> {
    let shown = columns.iter().filter(|column| !column.hidden);
    let shown = shown.map(|column| CatalogColumn {
        name: &column.name,
        type_name: &column.type_name,
        unit: column.unit.as_deref(),
        doc: &column.doc,
    });
    shown.collect()
}

/// Returns all constant data of the page, and the current row counts.
pub(super) async fn catalog(served: &AppState) -> Result<Value> {
    let all = schema::relations()?.map(|relation| {
        let kind = if relation.is_view { "view" } else { "table" };
        let columns = columns(relation.columns);
        json!({"name": relation.name, "kind": kind, "doc": relation.doc, "columns": columns})
    });
    let all: Vec<Value> = all.collect();
    let queries = served.queries();
    let queries: Vec<Value> = queries.iter().map(query_info).collect();
    Ok(json!({
        "name": served.options.name,
        "location": served.store.location().as_str(),
        "version": env!("CARGO_PKG_VERSION"),
        "allows_files": served.options.files,
        "chart_kinds": ChartKind::ALL.map(ChartKind::name),
        "platforms": platforms(&served.store).await?,
        "rows": tables(&served.store).await?,
        "tables": all,
        "queries": queries,
    }))
}

fn query_info(query: &NamedQuery) -> Value {
    let parameters = query.parameters.iter().map(|parameter| {
        json!({
            "name": parameter.name,
            "default": parameter.default,
            "doc": parameter.doc,
            "is_platform": parameter.is_platform(),
        })
    });
    let files = query
        .files
        .iter()
        .map(|(name, doc)| json!({"name": name, "doc": doc}));
    json!({
        "name": query.name,
        "title": query.title,
        "sql": query.sql,
        "plot": query.plot,
        "is_user_query": query.path.is_some(),
        "parameters": parameters.collect::<Vec<_>>(),
        "files": files.collect::<Vec<_>>(),
    })
}

/// Text of the editor, and the position of the cursor.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CompletionRequest {
    text: String,
    before: String,
}

/// Completions of the current word.
pub(super) async fn suggest_words(served: &AppState, typed: &CompletionRequest) -> Result<Value> {
    let words = served.vocabulary().await?;
    let (begun, mut found) = complete_sql(&words, &typed.text, &typed.before, |_| Vec::new());
    found.retain(|candidate| candidate.matches_prefix(begun));
    let words = found.iter().take(MAX_SUGGESTIONS).map(|candidate| {
        let space = if candidate.has_space() { " " } else { "" };
        json!({"value": format!("{}{space}", candidate.completion_text(begun)), "doc": candidate.doc})
    });
    Ok(json!({"prefix": begun, "candidates": words.collect::<Vec<_>>()}))
}

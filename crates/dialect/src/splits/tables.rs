//! Parts of all graphs, configurations or sources of a store, as tables for `part_in_table`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use arrow::datatypes::Int64Type;
use datafusion::prelude::SessionContext;
use futures::StreamExt as _;

use super::definition::{SplitDefinition, StoredKind, number_column, run_internal, text_column};
use super::labels::labels_of_graphs;
use super::parts::SplitParts;
use super::unit::SplitUnit;
use crate::session_versions::SessionVersions;
use tsql_error::{Error, Result};
use tsql_functions::part_in_table::{
    NO_PART, encode_configurations, encode_graphs, encode_lines, encode_tasks,
};
use tsql_schema::column;

/// Key of a workload on a target kind.
pub fn task_key(workload_key: &str, target_kind: &str) -> String {
    format!("{workload_key} {target_kind}")
}

/// Key of a file.
pub fn line_key(source_id: i64) -> String {
    source_id.to_string()
}

/// Table of a split whose parts are by graph, configuration or file.
///
/// # Errors
/// [`Error::Damaged`] for an invalid split, and storage failures.
pub(super) async fn part_table(
    context: &SessionContext,
    split: &SplitDefinition,
) -> Result<Vec<u8>> {
    match split.unit {
        SplitUnit::Config => configuration_table(context, split).await,
        SplitUnit::Task => task_table(context, split).await,
        SplitUnit::Line => line_table(split),
        _ => graph_table(context, split).await,
    }
}

async fn graph_table(context: &SessionContext, split: &SplitDefinition) -> Result<Vec<u8>> {
    let mut parts = SplitParts::from_definition(split)?;
    let labels = labels_of_graphs(context, split.unit).await?;
    let placed = labels
        .iter()
        .map(|(graph, labels)| (*graph, parts.part_of_labels(labels)));
    Ok(encode_graphs(placed))
}

async fn task_table(context: &SessionContext, split: &SplitDefinition) -> Result<Vec<u8>> {
    let mut parts = SplitParts::from_definition(split)?;
    let mut places: BTreeMap<String, u8> = BTreeMap::new();
    let mut environments = BTreeMap::new();
    let sql = "SELECT environment_id, target_kind FROM environments";
    for batch in run_internal(context, sql).await? {
        let pairs = number_column(&batch, 0)?
            .into_iter()
            .zip(text_column(&batch, 1)?);
        for (environment, kind) in pairs {
            let (Some(environment), Some(kind)) = (environment, kind) else {
                continue;
            };
            let next = u8::try_from(places.len())
                .ok()
                .filter(|next| *next < u8::MAX);
            let place = match (places.get(&kind), next) {
                (Some(place), _) => *place,
                (None, Some(next)) => *places.entry(kind).or_insert(next),
                (None, None) => {
                    let reason = "a split by task supports at most 254 kinds of targets".to_owned();
                    return Err(Error::Unsupported(reason));
                }
            };
            environments.insert(environment, place);
        }
    }
    // Sorted by index.
    let mut kinds: Vec<(u8, String)> = places.into_iter().map(|(kind, at)| (at, kind)).collect();
    kinds.sort();
    let mut placed = BTreeMap::new();
    for batch in run_internal(context, "SELECT graph_id, workload_key FROM graphs").await? {
        for (graph, key) in number_column(&batch, 0)?
            .into_iter()
            .zip(text_column(&batch, 1)?)
        {
            let Some((graph, key)) = graph.zip(key) else {
                continue;
            };
            let on_kinds = kinds.iter();
            let on_kinds =
                on_kinds.map(|(_, kind)| parts.part_of_task(&key, &task_key(&key, kind)));
            placed.insert(graph, on_kinds.collect::<Vec<u8>>());
        }
    }
    let environments: Vec<(i64, u8)> = environments.into_iter().collect();
    let count = u8::try_from(kinds.len()).unwrap_or(u8::MAX);
    Ok(encode_tasks(&environments, count, placed))
}

fn line_table(split: &SplitDefinition) -> Result<Vec<u8>> {
    let cuts = split
        .stored
        .iter()
        .filter(|one| one.kind == StoredKind::Cut);
    let cuts = cuts.map(|cut| {
        let source: i64 = cut.key.parse().ok()?;
        let last: i64 = cut.value.as_ref()?.parse().ok()?;
        Some((source, last))
    });
    let cuts: Option<BTreeMap<i64, i64>> = cuts.collect();
    let broken = || Error::damaged("splits", "the cut of a file is not a number");
    Ok(encode_lines(cuts.ok_or_else(broken)?))
}

/// The last table of configurations, with its identity.
type LastTable = Mutex<Option<(String, Arc<Vec<u8>>)>>;

/// Cached for the next query, because hashing millions of configurations takes seconds.
static LAST_TABLE: LastTable = Mutex::new(None);

async fn configuration_table(context: &SessionContext, split: &SplitDefinition) -> Result<Vec<u8>> {
    let shown = SessionVersions::from_session(context);
    let of = shown.and_then(|shown| {
        let version = shown.version("configurations")?;
        Some(format!("{} {version} {}", shown.store(), split.digest))
    });
    let known = LAST_TABLE.lock().ok().and_then(|last| last.clone());
    if let Some((known, table)) = known
        && Some(&known) == of.as_ref()
    {
        return Ok(table.as_ref().clone());
    }
    let mut parts = SplitParts::from_definition(split)?;
    let mut placed: Vec<u8> = Vec::new();
    let sql = "SELECT config_id, config_key(graph_id, sketch, params, program, build) AS key FROM stored.configurations";
    let frame = context.sql(sql).await.map_err(Error::Query)?;
    let mut batches = frame.execute_stream().await.map_err(Error::Query)?;
    while let Some(batch) = batches.next().await {
        let batch = batch.map_err(Error::Query)?;
        let ids = column::numbers::<Int64Type>(&batch, "config_id")?;
        let keys = column::text(&batch, "key")?;
        for (id, key) in ids.values().iter().zip(keys) {
            let Some((id, key)) = usize::try_from(*id).ok().zip(key) else {
                continue;
            };
            if placed.len() <= id {
                placed.resize(id + 1, NO_PART);
            }
            if let Some(place) = placed.get_mut(id) {
                *place = parts.part_of_key(key);
            }
        }
    }
    let table = encode_configurations(&placed);
    if let (Some(of), Ok(mut last)) = (of, LAST_TABLE.lock()) {
        *last = Some((of, Arc::new(table.clone())));
    }
    Ok(table)
}

//! The parts of all that a store has, as tables that `part_in_table` reads.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use arrow::datatypes::Int64Type;
use datafusion::prelude::SessionContext;
use futures::StreamExt as _;

use super::definition::{Definition, Kind, numbers, rows, texts};
use super::labels::labels_of_graphs;
use super::parts::Parts;
use super::unit::SplitUnit;
use crate::column;
use crate::error::{Error, Result};
use crate::query::functions::part_in_table::{
    NONE, of_configurations, of_graphs, of_lines, of_tasks,
};
use crate::query::shown::Shown;

/// The key of a workload on a kind of target.
pub(crate) fn task_key(workload_key: &str, target_kind: &str) -> String {
    format!("{workload_key} {target_kind}")
}

/// The key of a file.
pub(crate) fn line_key(source_id: i64) -> String {
    source_id.to_string()
}

/// The table of a split whose parts are by graph, configuration or file.
///
/// # Errors
/// [`Error::Damaged`] for a split that is none, and failures of the storage.
pub(super) async fn table(context: &SessionContext, split: &Definition) -> Result<Vec<u8>> {
    match split.unit {
        SplitUnit::Config => configurations(context, split).await,
        SplitUnit::Task => tasks(context, split).await,
        SplitUnit::Line => lines(split),
        _ => graphs(context, split).await,
    }
}

async fn graphs(context: &SessionContext, split: &Definition) -> Result<Vec<u8>> {
    let mut parts = Parts::of(split)?;
    let labels = labels_of_graphs(context, split.unit).await?;
    let placed = labels
        .iter()
        .map(|(graph, labels)| (*graph, parts.of_labels(labels)));
    Ok(of_graphs(placed))
}

async fn tasks(context: &SessionContext, split: &Definition) -> Result<Vec<u8>> {
    let mut parts = Parts::of(split)?;
    let mut places: BTreeMap<String, u8> = BTreeMap::new();
    let mut environments = BTreeMap::new();
    let sql = "SELECT environment_id, target_kind FROM environments";
    for batch in rows(context, sql).await? {
        let pairs = numbers(&batch, 0)?.into_iter().zip(texts(&batch, 1)?);
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
                    let reason = "a split by task knows up to 254 kinds of targets".to_owned();
                    return Err(Error::Unsupported(reason));
                }
            };
            environments.insert(environment, place);
        }
    }
    // By their places.
    let mut kinds: Vec<(u8, String)> = places.into_iter().map(|(kind, at)| (at, kind)).collect();
    kinds.sort();
    let mut placed = BTreeMap::new();
    for batch in rows(context, "SELECT graph_id, workload_key FROM graphs").await? {
        for (graph, key) in numbers(&batch, 0)?.into_iter().zip(texts(&batch, 1)?) {
            let Some((graph, key)) = graph.zip(key) else {
                continue;
            };
            let on_kinds = kinds.iter();
            let on_kinds = on_kinds.map(|(_, kind)| parts.of_task(&key, &task_key(&key, kind)));
            placed.insert(graph, on_kinds.collect::<Vec<u8>>());
        }
    }
    let environments: Vec<(i64, u8)> = environments.into_iter().collect();
    let count = u8::try_from(kinds.len()).unwrap_or(u8::MAX);
    Ok(of_tasks(&environments, count, placed))
}

fn lines(split: &Definition) -> Result<Vec<u8>> {
    let cuts = split.stored.iter().filter(|one| one.kind == Kind::Cut);
    let cuts = cuts.map(|cut| {
        let source: i64 = cut.key.parse().ok()?;
        let last: i64 = cut.value.as_ref()?.parse().ok()?;
        Some((source, last))
    });
    let cuts: Option<BTreeMap<i64, i64>> = cuts.collect();
    let broken = || Error::damaged("splits", "a cut in a file is no number");
    Ok(of_lines(cuts.ok_or_else(broken)?))
}

/// The last table of configurations: what it is of, and its bytes.
type Last = Mutex<Option<(String, Arc<Vec<u8>>)>>;

/// Hashing millions of configurations takes seconds, so those of one question are there for the next.
static LAST: Last = Mutex::new(None);

async fn configurations(context: &SessionContext, split: &Definition) -> Result<Vec<u8>> {
    let shown = Shown::of(context);
    let of = shown.and_then(|shown| {
        let version = shown.version("configurations")?;
        Some(format!("{} {version} {}", shown.store(), split.digest))
    });
    let known = LAST.lock().ok().and_then(|last| last.clone());
    if let Some((known, table)) = known
        && Some(&known) == of.as_ref()
    {
        return Ok(table.as_ref().clone());
    }
    let mut parts = Parts::of(split)?;
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
                placed.resize(id + 1, NONE);
            }
            if let Some(place) = placed.get_mut(id) {
                *place = parts.of_key(key);
            }
        }
    }
    let table = of_configurations(&placed);
    if let (Some(of), Ok(mut last)) = (of, LAST.lock()) {
        *last = Some((of, Arc::new(table.clone())));
    }
    Ok(table)
}

//! The rows of some benchmark logs on their way into the store.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use tsql_codecs::identity::ProgramHash;
use tsql_formats::graphnet::NAME;
use tsql_formats::rows::Sketch;

use super::super::group::{KnownIds, one_file};
use super::super::tables::ConfigurationRows;
use super::rows::{
    Row, environment_columns, graph_columns, graph_key, record_columns, run_columns,
};
use crate::dedupe::{Configurations as Known, next_number};
use crate::error::{Error, Result};
use crate::schema;
use crate::store::file::{self, DataFile, Effort};
use crate::store::{Change, Snapshot, Store};

/// What a commit has brought.
#[derive(Default)]
pub(super) struct Done {
    /// Files of all records and runs, which nothing refers to yet.
    pub(super) records: Vec<DataFile>,
    pub(super) runs: Vec<DataFile>,
    pub(super) graphs: u64,
    pub(super) configurations: u64,
}

/// Commits everything that records refer to. `rows` go with their platforms.
pub(super) async fn commit(store: &Store, rows: &[(Arc<str>, Row)]) -> Result<Done> {
    if rows.is_empty() {
        return Ok(Done::default());
    }
    let graphs = commit_graphs(store, rows).await?;
    commit_environments(store, rows).await?;
    let mut known = Known::default();
    let configurations = commit_configurations(store, rows, &mut known).await?;
    Ok(Done {
        records: write_records(store, rows, &known).await?,
        runs: vec![write_runs(store, rows).await?],
        graphs,
        configurations,
    })
}

async fn commit_graphs(store: &Store, rows: &[(Arc<str>, Row)]) -> Result<u64> {
    let all = rows.iter();
    let all: BTreeMap<i64, String> = all
        .map(|(_, row)| (row.graph_id, graph_key(&row.run.model_path)))
        .collect();
    let mut known = KnownIds::default();
    let mut added = 0;
    store
        .commit("graphs", "ingest", async |snapshot: &Snapshot| {
            known.load(store, "graphs", "graph_id", snapshot).await?;
            let new = all.iter().filter(|(id, _)| !known.ids.contains(id));
            let new: Vec<(i64, String)> = new.map(|(id, key)| (*id, key.clone())).collect();
            added = new.len() as u64;
            if new.is_empty() {
                return Ok(None);
            }
            one_file(store, "graphs", graph_columns(&new))
                .await
                .map(Some)
        })
        .await?;
    Ok(added)
}

async fn commit_environments(store: &Store, rows: &[(Arc<str>, Row)]) -> Result<()> {
    let all: BTreeMap<i64, (&str, &str)> = rows
        .iter()
        .map(|(_, row)| {
            let environment = (row.target.as_str(), row.framework_version.as_str());
            (row.environment_id, environment)
        })
        .collect();
    let mut known = KnownIds::default();
    store
        .commit("environments", "ingest", async |snapshot: &Snapshot| {
            known
                .load(store, "environments", "environment_id", snapshot)
                .await?;
            let new = all.iter().filter(|(id, _)| !known.ids.contains(id));
            let new: Vec<(i64, &str, &str)> = new
                .map(|(&id, &(target, version))| (id, target, version))
                .collect();
            if new.is_empty() {
                return Ok(None);
            }
            one_file(store, "environments", environment_columns(&new))
                .await
                .map(Some)
        })
        .await
}

async fn commit_configurations(
    store: &Store,
    rows: &[(Arc<str>, Row)],
    known: &mut Known,
) -> Result<u64> {
    let graphs: BTreeSet<i64> = rows.iter().map(|(_, row)| row.graph_id).collect();
    let graphs: Vec<i64> = graphs.into_iter().collect();
    let mut given: Vec<(i64, ProgramHash, i64)> = Vec::new();
    store
        .commit("configurations", "ingest", async |snapshot: &Snapshot| {
            known.load(store, snapshot, &graphs).await?;
            given.clear();
            let mut new = ConfigurationRows::default();
            let mut seen = HashSet::new();
            let mut number = next_number(snapshot, "config_id");
            for (_, row) in rows {
                let known = known.number(row.graph_id, row.program).is_some();
                if known || !seen.insert((row.graph_id, row.program)) {
                    continue;
                }
                let sketch = Sketch {
                    text: row.steps.clone().into_bytes(),
                    literal: true,
                };
                new.push_open(row.graph_id, number, &sketch, None, None);
                given.push((row.graph_id, row.program, number));
                number += 1;
            }
            if given.is_empty() {
                return Ok(None);
            }
            one_file(store, "configurations", new.finish()?)
                .await
                .map(Some)
        })
        .await?;
    for &(graph, program, number) in &given {
        known.insert(graph, program, number);
    }
    Ok(given.len() as u64)
}

/// The file of the runs, which nothing refers to yet.
async fn write_runs(store: &Store, rows: &[(Arc<str>, Row)]) -> Result<DataFile> {
    let table = schema::table("runs")?;
    let rows: Vec<&Row> = rows.iter().map(|(_, row)| row).collect();
    let batch = file::batch(table, run_columns(&rows))?;
    file::write(store.location(), table, &[], &[batch], Effort::Ingest).await
}

async fn write_records(
    store: &Store,
    rows: &[(Arc<str>, Row)],
    known: &Known,
) -> Result<Vec<DataFile>> {
    let table = schema::table("records")?;
    let mut by_platform: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for (platform, row) in rows {
        by_platform.entry(platform).or_default().push(row);
    }
    let mut files = Vec::new();
    for (platform, rows) in by_platform {
        let numbers = rows.iter().map(|row| {
            let number = known.number(row.graph_id, row.program);
            number.ok_or_else(|| Error::damaged("records", "no configuration for a row"))
        });
        let numbers: Vec<i64> = numbers.collect::<Result<_>>()?;
        let batch = file::batch(table, record_columns(&rows, numbers))?;
        let partition = [
            ("dataset".to_owned(), Some(NAME.to_owned())),
            ("platform".to_owned(), Some(platform.to_owned())),
        ];
        let location = store.location();
        files.push(file::write(location, table, &partition, &[batch], Effort::Ingest).await?);
    }
    Ok(files)
}

/// Texts that files consist of: those that the store does not have are added.
pub(in crate::ingest) async fn commit_texts(
    store: &Store,
    known: &mut KnownIds,
    texts: &BTreeMap<i64, (String, &[u8])>,
) -> Result<()> {
    store
        .commit("texts", "ingest", async |snapshot: &Snapshot| {
            known.load(store, "texts", "text_id", snapshot).await?;
            let rows = texts.iter().filter(|(id, _)| !known.ids.contains(id));
            let rows: Vec<(i64, &str, &[u8])> = rows
                .map(|(&id, (name, text))| (id, name.as_str(), *text))
                .collect();
            if rows.is_empty() {
                return Ok(None::<Change>);
            }
            let columns = super::super::samples::text_columns(&rows);
            one_file(store, "texts", columns).await.map(Some)
        })
        .await
}

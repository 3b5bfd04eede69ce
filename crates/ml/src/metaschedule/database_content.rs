//! Content of a store that its databases are written from.

use std::collections::{BTreeSet, HashMap};

use arrow::datatypes::Int64Type;
use datafusion::prelude::SessionContext;
use tsql_adapters::formats::source;
use tsql_adapters::formats::source::SourceFile;
use tsql_dialect::collect;
use tsql_error::Result;
use tsql_formats::metaschedule::{NAME, structural_hash, workload_place};
use tsql_schema::column;

pub(crate) use tsql_adapters::formats::metaschedule::stored_workloads::{
    WorkloadLine, workload_lines, workloads_beside,
};

/// Content of a store that its databases are written from.
pub(super) struct DatabaseContent {
    pub(super) sources: HashMap<i64, SourceFile>,
    /// Workloads source of each records source of the same database.
    pub(super) beside: HashMap<i64, i64>,
    /// Number of records of each source.
    pub(super) record_counts: HashMap<i64, u64>,
    pub(super) targets: HashMap<i64, String>,
    /// Structural hashes of graphs.
    pub(super) hashes: HashMap<i64, u64>,
    /// Ordered by name of the source, then line.
    pub(super) workloads: Vec<WorkloadLine>,
}

impl DatabaseContent {
    pub(super) async fn load(context: &SessionContext) -> Result<Self> {
        let all = source::load_sources(context).await?;
        let order: HashMap<i64, usize> = (0..)
            .zip(&all)
            .map(|(at, one)| (one.source_id, at))
            .collect();
        let beside = workloads_beside(&all);
        let mut workloads = workload_lines(context).await?;
        workloads.sort_by_key(|one| (order.get(&one.source_id).copied(), one.line));
        let mut record_counts = HashMap::new();
        let sql = format!(
            "SELECT source_id, count(*) AS rows FROM records WHERE dataset = '{NAME}' GROUP BY source_id"
        );
        for batch in collect(context, &sql).await? {
            let ids = column::numbers::<Int64Type>(&batch, "source_id")?.values();
            let rows = column::numbers::<Int64Type>(&batch, "rows")?.values();
            let rows = rows.iter().map(|rows| rows.unsigned_abs());
            record_counts.extend(ids.iter().copied().zip(rows));
        }
        let by_place = hashes_by_position(&workloads);
        let mut hashes = HashMap::new();
        for (graph_id, key) in text_column(context, "graphs", "graph_id", "workload_key").await? {
            // Records ingested before their workloads refer to them by folder and line.
            let of_place = || by_place.get(&workload_place(&key)?).copied();
            let hash = structural_hash(&key).or_else(of_place);
            hashes.extend(hash.map(|hash| (graph_id, hash)));
        }
        let targets = text_column(context, "environments", "environment_id", "target").await?;
        Ok(Self {
            sources: all.into_iter().map(|one| (one.source_id, one)).collect(),
            beside,
            record_counts,
            targets: targets.into_iter().collect(),
            hashes,
            workloads,
        })
    }
}

/// Returns the structural hashes of workloads by the hash of their folder and their position in the file, from
/// 0. Folders with several workloads files are left out.
pub(super) fn hashes_by_position(workloads: &[WorkloadLine]) -> HashMap<(String, i32), u64> {
    let mut files: HashMap<&str, BTreeSet<i64>> = HashMap::new();
    for line in workloads {
        let files = files.entry(&line.folder_hash).or_default();
        files.insert(line.source_id);
    }
    let is_only = |line: &&WorkloadLine| {
        let files = files.get(line.folder_hash.as_str());
        files.is_some_and(|files| files.len() == 1)
    };
    let places = workloads.iter().filter(is_only).filter_map(|line| {
        let index = i32::try_from(line.line - 1).ok()?;
        Some(((line.folder_hash.clone(), index), line.hash))
    });
    places.collect()
}

/// Returns the texts of a column of the stored rows of MetaSchedule, by identifier.
pub(super) async fn text_column(
    context: &SessionContext,
    table: &str,
    id: &str,
    name: &str,
) -> Result<Vec<(i64, String)>> {
    let sql = format!("SELECT {id}, {name} FROM stored.{table} WHERE dataset = '{NAME}'");
    let mut found = Vec::new();
    for batch in collect(context, &sql).await? {
        let ids = column::numbers::<Int64Type>(&batch, id)?;
        let texts = column::text(&batch, name)?;
        let rows = 0..batch.num_rows();
        found.extend(rows.map(|row| (ids.value(row), texts.value(row).to_owned())));
    }
    Ok(found)
}

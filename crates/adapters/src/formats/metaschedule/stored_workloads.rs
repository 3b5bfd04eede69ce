//! Workloads of a store, independent of their files, and their lines.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use arrow::datatypes::Int64Type;
use datafusion::prelude::SessionContext;
use tsql_dialect::collect;
use tsql_error::{Error, Result};
use tsql_formats::Dialect;
use tsql_formats::metaschedule::{self, workload::NAME};
use tsql_schema::column;

use super::lines::lines_where;
use crate::formats::source;
use crate::formats::source::SourceFile;
use crate::formats::texts::load_texts;

/// Position of a workload: a line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadLine {
    /// Source of the workload.
    pub source_id: i64,
    /// Line number, from 1.
    pub line: i64,
    /// TVM's structural hash of the module.
    pub hash: u64,
    /// Hash of the folder of the file.
    pub folder_hash: String,
}

/// Returns all workloads of a store, by source and line.
pub async fn workload_lines(context: &SessionContext) -> Result<Vec<WorkloadLine>> {
    let sql = "SELECT source_id, line, structural_hash, folder_hash FROM stored.workloads \
               ORDER BY source_id, line";
    let mut found = Vec::new();
    for batch in collect(context, sql).await? {
        let ids = column::numbers::<Int64Type>(&batch, "source_id")?;
        let lines = column::numbers::<Int64Type>(&batch, "line")?;
        let hashes = column::text(&batch, "structural_hash")?;
        let folders = column::text(&batch, "folder_hash")?;
        for row in 0..batch.num_rows() {
            let hash = hashes.value(row).parse().map_err(|_| {
                let reason = format!("`{}` is not a structural hash", hashes.value(row));
                Error::damaged("workloads", reason)
            })?;
            found.push(WorkloadLine {
                source_id: ids.value(row),
                line: lines.value(row),
                hash,
                folder_hash: folders.value(row).to_owned(),
            });
        }
    }
    Ok(found)
}

/// Returns the text of each of these lines, without its line ending.
///
/// # Errors
/// [`Error::Damaged`] where a line or its module is missing.
pub async fn workload_texts(
    context: &SessionContext,
    wanted: &[WorkloadLine],
) -> Result<Vec<Vec<u8>>> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let list = |number: fn(&WorkloadLine) -> i64| {
        let numbers: Vec<String> = wanted.iter().map(|one| number(one).to_string()).collect();
        numbers.join(", ")
    };
    let (sources, lines) = (list(|one| one.source_id), list(|one| one.line));
    let predicate = format!("source_id IN ({sources}) AND line IN ({lines})");
    let mut spelled = BTreeMap::new();
    for (source_id, lines) in lines_where(context, &predicate).await? {
        let own = lines.into_iter();
        spelled.extend(own.map(|line| ((source_id, line.number.cast_signed()), line.spelled)));
    }
    let own = |one: &WorkloadLine| spelled.get(&(one.source_id, one.line));
    let modules = wanted.iter().filter_map(|one| own(one)?.module());
    let modules = load_texts(context, &modules.collect::<Vec<_>>()).await?;
    let text = |one: &WorkloadLine| {
        let mut text = own(one).and_then(|spelled| spelled.text(&modules, false));
        while text.as_ref().is_some_and(|text| text.ends_with(b"\r")) {
            text.as_mut().and_then(Vec::pop);
        }
        text.ok_or_else(|| {
            let (line, source_id) = (one.line, one.source_id);
            let reason = format!("line {line} of source {source_id}: its module is missing");
            Error::damaged("workloads", reason)
        })
    };
    wanted.iter().map(text).collect()
}

/// Maps each source with records to the source with its workloads, matched by name.
pub fn workloads_beside(sources: &[SourceFile]) -> HashMap<i64, i64> {
    let own = sources.iter().filter(|source| source.dataset == NAME);
    let workloads: HashMap<&str, i64> = own
        .map(|source| (plain_name(&source.name), source.rows_of))
        .collect();
    let mut found = HashMap::new();
    for source in sources {
        let beside = Dialect::METASCHEDULE.companion_file_name(plain_name(&source.name));
        if source.dataset == metaschedule::NAME
            && let Some(workloads) = beside.and_then(|name| workloads.get(name.as_str()))
        {
            found.entry(source.rows_of).or_insert(*workloads);
        }
    }
    found
}

/// Returns the name of a file without its compression suffix.
fn plain_name(name: &str) -> &str {
    let mut endings = [".gz", ".zst"].into_iter();
    let plain = endings.find_map(|ending| name.strip_suffix(ending));
    plain.unwrap_or(name)
}

/// Returns the sources with the workloads that the records of some sources refer to.
pub(super) async fn referenced_workloads(
    context: &SessionContext,
    records: &BTreeSet<i64>,
) -> Result<BTreeSet<i64>> {
    let beside = workloads_beside(&source::load_sources(context).await?);
    let own = records.iter().filter_map(|id| beside.get(id));
    let mut found: BTreeSet<i64> = own.copied().collect();
    let others = records.iter().filter(|&id| !beside.contains_key(id));
    let others: Vec<String> = others.map(i64::to_string).collect();
    if others.is_empty() {
        return Ok(found);
    }
    let sql = format!(
        "SELECT min(w.source_id) AS source_id FROM stored.workloads AS w JOIN \
         (SELECT DISTINCT graph_id FROM stored.all_records WHERE source_id IN ({})) AS r \
         ON r.graph_id = w.graph_id GROUP BY w.graph_id",
        others.join(", ")
    );
    for batch in collect(context, &sql).await? {
        found.extend(column::numbers::<Int64Type>(&batch, "source_id")?.values());
    }
    Ok(found)
}

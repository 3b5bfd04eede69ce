//! Orders the workloads of a database, and assigns their positions in its file.

use std::collections::{BTreeMap, HashMap, HashSet};

use tsql_error::{Error, Result};

use super::database_content::DatabaseContent;
use super::selection::SelectedRecords;

pub(crate) use tsql_adapters::formats::metaschedule::stored_workloads::WorkloadLine;

/// Returns the workloads of a database in file order, and the workload position of each graph.
///
/// # Errors
/// [`Error::Refused`] if the store lacks a workload.
pub(super) fn order_workloads(
    known: &DatabaseContent,
    rows: &[SelectedRecords],
) -> Result<(Vec<WorkloadLine>, HashMap<i64, i32>)> {
    let mut counts: BTreeMap<i64, u64> = BTreeMap::new();
    for rows in rows {
        *counts.entry(rows.source_id).or_default() += rows.records;
    }
    let is_whole = |source: i64, count: u64| known.record_counts.get(&source) == Some(&count);
    // Workloads sources of the records, and whether all of their workloads are needed.
    let mut own: HashMap<i64, bool> = HashMap::new();
    for (&source, &count) in &counts {
        if let Some(&beside) = known.beside.get(&source) {
            *own.entry(beside).or_default() |= is_whole(source, count);
        }
    }
    let wanted: HashSet<u64> = rows
        .iter()
        .filter_map(|rows| known.hashes.get(&rows.graph_id).copied())
        .collect();
    let mut workloads: Vec<WorkloadLine> = Vec::new();
    let mut places: HashMap<u64, i32> = HashMap::new();
    for is_own in [true, false] {
        for line in &known.workloads {
            let whole = own.get(&line.source_id).copied();
            let is_wanted = wanted.contains(&line.hash) || whole == Some(true);
            if whole.is_some() != is_own || !is_wanted || places.contains_key(&line.hash) {
                continue;
            }
            let place = i32::try_from(workloads.len()).map_err(|_| {
                Error::Refused(format!("a database has more than {} workloads", i32::MAX))
            })?;
            places.insert(line.hash, place);
            workloads.push(line.clone());
        }
    }
    let place = |rows: &SelectedRecords| {
        let hash = known.hashes.get(&rows.graph_id)?;
        places.get(hash).copied()
    };
    let missing: Vec<&SelectedRecords> = rows.iter().filter(|rows| place(rows).is_none()).collect();
    if let Some(first) = missing.first() {
        let count: u64 = missing.iter().map(|rows| rows.records).sum();
        let source = known.sources.get(&first.source_id);
        let name = source.map_or("", |source| source.name.as_str());
        return Err(Error::Refused(format!(
            "the store does not have the workloads of {count} of the selected records, the first \
             in `{name}`\n\
             hint: ingest both files of that database into a new store, or exclude the records: \
             --where \"source_id <> {}\"",
            first.source_id
        )));
    }
    let graphs = rows
        .iter()
        .filter_map(|rows| Some((rows.graph_id, place(rows)?)));
    Ok((workloads, graphs.collect()))
}

//! Names of graphs and configurations.

use std::collections::{HashMap, HashSet};

use arrow::datatypes::Int64Type;
use datafusion::prelude::SessionContext;
use tsql_dialect::collect;
use tsql_error::Result;
use tsql_schema::column;

use super::comparison::{Change, PairGroup, PairTally};

/// Operators of graphs: from their task, or else the name of the function or template that created them. Hashes do not
/// count as names.
const OPERATORS: &str = "SELECT g.graph_id, arrow_cast(coalesce(t.op, CASE WHEN NOT regexp_like(g.workload_name, '^(0x|-)?[0-9a-f]{12,}$') \
     THEN g.workload_name END), 'Utf8View') AS name FROM graphs AS g LEFT JOIN tasks AS t ON t.graph_id = g.graph_id";

/// Networks that contain a graph: those of tasks, of programs with the kernel, and of samples that a log names.
const NETWORKS: &str = "SELECT DISTINCT graph_id, arrow_cast(name, 'Utf8View') AS name FROM ( \
     SELECT graph_id, network AS name FROM network_tasks WHERE network IS NOT NULL \
     UNION ALL SELECT graph_id, network AS name FROM sources WHERE network IS NOT NULL AND graph_id IS NOT NULL \
     UNION ALL SELECT graph_id, regexp_replace(workload_key, '^sample:((paddle_)?samples/)?', '') AS name FROM graphs \
     WHERE starts_with(workload_key, 'sample:'))";

/// Summarizes pairs by operator, and by network; the slowest first.
pub(super) async fn summarize_groups(
    context: &SessionContext,
    graphs: &HashMap<i64, PairTally>,
) -> Result<[Vec<PairGroup>; 2]> {
    let operators = merge_by_name(context, OPERATORS, graphs).await?;
    let networks = merge_by_name(context, NETWORKS, graphs).await?;
    Ok([operators, networks])
}

async fn merge_by_name(
    context: &SessionContext,
    sql: &str,
    graphs: &HashMap<i64, PairTally>,
) -> Result<Vec<PairGroup>> {
    let mut tallies: HashMap<Option<String>, PairTally> = HashMap::new();
    for batch in collect(context, sql).await? {
        let ids = column::numbers::<Int64Type>(&batch, "graph_id")?;
        let names = column::text(&batch, "name")?;
        for row in 0..batch.num_rows() {
            if let Some(tally) = graphs.get(&ids.value(row)) {
                let name = column::text_at(names, row).map(str::to_owned);
                tallies.entry(name).or_default().merge(tally);
            }
        }
    }
    let parts = tallies.into_iter().map(|(name, tally)| PairGroup {
        name,
        summary: tally.summary(),
    });
    let mut parts: Vec<PairGroup> = parts.collect();
    let speedup = |part: &PairGroup| part.summary.speedup.unwrap_or(f64::INFINITY);
    parts.sort_by(|one, other| {
        let by_speedup = speedup(one).total_cmp(&speedup(other));
        by_speedup.then_with(|| one.name.cmp(&other.name))
    });
    Ok(parts)
}

/// Fills in the names of the compared configurations.
pub(super) async fn name_changes(
    context: &SessionContext,
    lists: [&mut Vec<Change>; 4],
) -> Result<()> {
    let all = || lists.iter().flat_map(|list| list.iter());
    let graphs: HashSet<i64> = all().map(|change| change.graph_id).collect();
    let configs: HashSet<i64> = all().map(|change| change.config_id).collect();
    if graphs.is_empty() {
        return Ok(());
    }
    let keys = format!(
        "SELECT graph_id AS id, arrow_cast(workload_key, 'Utf8View') AS name FROM graphs WHERE graph_id IN ({})",
        join_ids(&graphs)
    );
    let steps = format!(
        "SELECT config_id AS id, arrow_cast(steps, 'Utf8View') AS name FROM configurations WHERE config_id IN ({})",
        join_ids(&configs)
    );
    let (keys, steps) = (names(context, &keys).await?, names(context, &steps).await?);
    for change in lists.into_iter().flatten() {
        change.workload_key = keys.get(&change.graph_id).cloned().unwrap_or_default();
        change.steps = steps.get(&change.config_id).cloned();
    }
    Ok(())
}

fn join_ids(ids: &HashSet<i64>) -> String {
    let mut ids: Vec<i64> = ids.iter().copied().collect();
    ids.sort_unstable();
    let ids: Vec<String> = ids.iter().map(i64::to_string).collect();
    ids.join(", ")
}

async fn names(context: &SessionContext, sql: &str) -> Result<HashMap<i64, String>> {
    let mut found = HashMap::new();
    for batch in collect(context, sql).await? {
        let ids = column::numbers::<Int64Type>(&batch, "id")?;
        let names = column::text(&batch, "name")?;
        for row in 0..batch.num_rows() {
            if let Some(name) = column::text_at(names, row) {
                found.insert(ids.value(row), name.to_owned());
            }
        }
    }
    Ok(found)
}

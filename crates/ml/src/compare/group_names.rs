//! Names of graphs and configurations.

use std::collections::{HashMap, HashSet};

use arrow::datatypes::Int64Type;
use datafusion::prelude::SessionContext;
use tsql_dialect::collect;
use tsql_error::{Error, Result};
use tsql_schema::column;

use super::comparison::{Change, PairGroup, PairTally};
use super::options::Rule;

/// Maximum number of ids of a condition; for more, all names are read.
const MAX_FILTERED_IDS: usize = 1000;

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
    rule: Rule,
) -> Result<[Vec<PairGroup>; 2]> {
    let operators = merge_by_name(context, OPERATORS, graphs, rule).await?;
    let networks = merge_by_name(context, NETWORKS, graphs, rule).await?;
    Ok([operators, networks])
}

async fn merge_by_name(
    context: &SessionContext,
    sql: &str,
    graphs: &HashMap<i64, PairTally>,
    rule: Rule,
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
        summary: tally.summary(rule),
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
pub(super) async fn name_changes<const N: usize>(
    context: &SessionContext,
    lists: [&mut Vec<Change>; N],
) -> Result<()> {
    let all = || lists.iter().flat_map(|list| list.iter());
    let programs = all().map(|change| (change.graph_id, change.config_id));
    let names = program_names(context, programs.collect()).await?;
    for change in lists.into_iter().flatten() {
        change.workload_key = names.workload_key(change.graph_id);
        change.steps = names.steps(change.config_id);
    }
    Ok(())
}

/// Workload keys and steps of programs.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProgramNames {
    workload_keys: HashMap<i64, String>,
    steps: HashMap<i64, String>,
}

impl ProgramNames {
    pub(crate) fn workload_key(&self, graph_id: i64) -> String {
        let key = self.workload_keys.get(&graph_id);
        key.cloned().unwrap_or_default()
    }

    pub(crate) fn steps(&self, config_id: i64) -> Option<String> {
        self.steps.get(&config_id).cloned()
    }
}

/// Reads the names of graphs and configurations.
pub(crate) async fn program_names(
    context: &SessionContext,
    programs: Vec<(i64, i64)>,
) -> Result<ProgramNames> {
    if programs.is_empty() {
        return Ok(ProgramNames::default());
    }
    let (graphs, configs): (HashSet<i64>, HashSet<i64>) = programs.into_iter().unzip();
    let keys = "SELECT graph_id AS id, arrow_cast(workload_key, 'Utf8View') AS name FROM graphs";
    let steps = "SELECT config_id AS id, arrow_cast(steps, 'Utf8View') AS name FROM configurations";
    Ok(ProgramNames {
        workload_keys: names(context, keys, "graph_id", &graphs).await?,
        steps: names(context, steps, "config_id", &configs).await?,
    })
}

/// Returns the graphs of control programs: by operator, workload name or workload key.
///
/// # Errors
/// [`Error::Unknown`] for a name that no graph has.
pub(super) async fn anchor_graphs(
    context: &SessionContext,
    anchors: &[String],
) -> Result<HashSet<i64>> {
    let mut graphs = HashSet::new();
    for anchor in anchors {
        let name = anchor.replace('\'', "''");
        let sql = format!(
            "SELECT graph_id FROM graphs WHERE workload_key = '{name}' OR workload_name = '{name}' \
             UNION SELECT graph_id FROM tasks WHERE op = '{name}'"
        );
        let mut is_known = false;
        for batch in collect(context, &sql).await? {
            let ids = column::numbers::<Int64Type>(&batch, "graph_id")?;
            is_known |= !ids.values().is_empty();
            graphs.extend(ids.values().iter().copied());
        }
        if !is_known {
            return Err(Error::Unknown {
                kind: "program",
                name: anchor.clone(),
                known: "operators, workload names and workload keys of `graphs`".to_owned(),
            });
        }
    }
    Ok(graphs)
}

async fn names(
    context: &SessionContext,
    sql: &str,
    id: &str,
    ids: &HashSet<i64>,
) -> Result<HashMap<i64, String>> {
    let condition = if ids.len() > MAX_FILTERED_IDS {
        "true".to_owned()
    } else {
        let mut sorted: Vec<i64> = ids.iter().copied().collect();
        sorted.sort_unstable();
        let sorted: Vec<String> = sorted.iter().map(i64::to_string).collect();
        format!("{id} IN ({})", sorted.join(", "))
    };
    let mut found = HashMap::new();
    for batch in collect(context, &format!("{sql} WHERE {condition}")).await? {
        let all = column::numbers::<Int64Type>(&batch, "id")?;
        let names = column::text(&batch, "name")?;
        for row in 0..batch.num_rows() {
            if ids.contains(&all.value(row))
                && let Some(name) = column::text_at(names, row)
            {
                found.insert(all.value(row), name.to_owned());
            }
        }
    }
    Ok(found)
}

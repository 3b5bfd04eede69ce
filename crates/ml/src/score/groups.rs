//! Grouping of units that are scored together.

use std::collections::{BTreeMap, HashMap};

use arrow::datatypes::Int64Type;
use datafusion::prelude::SessionContext;
use tsql_dialect::collect;
use tsql_error::Result;
use tsql_schema::column;

use super::matched::MatchedPredictions;
use super::networks::{GraphTarget, networks, target_kind};
use super::options::Scoring;
use super::tasks::{TaskKey, Tasks};
use super::tpugraphs::COLLECTIONS;
use super::unit::{GroupMember, GroupTotal, UnitGroup};

/// Groups with their kind, and the totals over all.
pub(super) struct ScoreGroups {
    pub(super) of: &'static str,
    pub(super) groups: Vec<UnitGroup>,
    pub(super) totals: Vec<GroupTotal>,
}

/// Name of the total over all groups of tuning records.
const RATIO_OF_SUMS: &str = "ratio of sums";

/// Groups tasks by network, or each by itself if no network contains any.
pub(super) async fn group_tasks(
    context: &SessionContext,
    matched: &MatchedPredictions,
    tasks: &Tasks,
    scoring: Scoring,
) -> Result<ScoreGroups> {
    let platform = |key: &TaskKey| match matched.has_platforms() {
        true => matched.platform_name(key.platform).map(str::to_owned),
        false => None,
    };
    let mut places: BTreeMap<(usize, GraphTarget), Vec<usize>> = BTreeMap::new();
    for (unit, task) in tasks.tasks.iter().enumerate() {
        let work = (task.key.graph_id, target_kind(tasks.target(&task.key)));
        let same = places.entry((task.key.platform, work)).or_default();
        same.push(unit);
    }
    let mut platforms: Vec<usize> = tasks.tasks.iter().map(|task| task.key.platform).collect();
    platforms.dedup();
    let networks = networks(context).await?;
    let mut weights = vec![0.0; tasks.tasks.len()];
    let mut groups = Vec::new();
    for number in platforms {
        for (network, works) in &networks {
            let mut members = Vec::new();
            for (work, weight) in works {
                let same = places.get(&(number, work.clone()));
                for unit in same.into_iter().flatten() {
                    let (unit, weight) = (*unit, *weight);
                    members.push(GroupMember { unit, weight });
                    if let Some(known) = weights.get_mut(unit) {
                        *known += weight;
                    }
                }
            }
            if !members.is_empty() {
                groups.push(UnitGroup {
                    name: network.name.clone(),
                    platform: matched
                        .platform_name(number)
                        .filter(|_| matched.has_platforms())
                        .map(str::to_owned),
                    network_tasks: Some(works.len() as u64),
                    members,
                });
            }
        }
    }
    let of = match groups.is_empty() {
        true => "task",
        false => "network",
    };
    if groups.is_empty() {
        let keys = workload_keys(context).await?;
        weights.fill(1.0);
        groups = tasks
            .tasks
            .iter()
            .enumerate()
            .map(|(unit, task)| UnitGroup {
                name: keys.get(&task.key.graph_id).cloned().unwrap_or_default(),
                platform: platform(&task.key),
                network_tasks: None,
                members: vec![GroupMember { unit, weight: 1.0 }],
            })
            .collect();
    }
    let all = weights.into_iter().enumerate();
    let together = GroupTotal::Together(UnitGroup {
        name: RATIO_OF_SUMS.to_owned(),
        platform: None,
        network_tasks: None,
        members: all
            .map(|(unit, weight)| GroupMember { unit, weight })
            .collect(),
    });
    let mean = GroupTotal::Mean {
        name: format!("mean of {of}s"),
        least_groups: 1,
    };
    let totals = match scoring {
        Scoring::Tlp => vec![together],
        _ => vec![mean, together],
    };
    Ok(ScoreGroups { of, groups, totals })
}

async fn workload_keys(context: &SessionContext) -> Result<HashMap<i64, String>> {
    let sql = "SELECT graph_id, arrow_cast(workload_key, 'Utf8View') AS workload_key FROM graphs";
    let mut keys = HashMap::new();
    for batch in collect(context, sql).await? {
        let graphs = column::numbers::<Int64Type>(&batch, "graph_id")?;
        let names = column::text(&batch, "workload_key")?;
        for (graph, name) in graphs.values().iter().zip(names.iter().flatten()) {
            keys.insert(*graph, name.to_owned());
        }
    }
    Ok(keys)
}

/// Groups units by name.
pub(super) fn group_by_name(of: &'static str, names: &[String]) -> ScoreGroups {
    let mut groups: BTreeMap<&str, Vec<GroupMember>> = BTreeMap::new();
    for (unit, name) in names.iter().enumerate() {
        let members = groups.entry(name).or_default();
        members.push(GroupMember { unit, weight: 1.0 });
    }
    let group = |(name, members): (&str, Vec<GroupMember>)| UnitGroup {
        name: name.to_owned(),
        platform: None,
        network_tasks: None,
        members,
    };
    let all = (0..names.len()).map(|unit| GroupMember { unit, weight: 1.0 });
    let together = |name: &str| GroupTotal::Together(group((name, all.collect())));
    let totals = match of {
        "collection" => vec![
            GroupTotal::Mean {
                name: "mean of collections".to_owned(),
                least_groups: COLLECTIONS,
            },
            together("all files"),
        ],
        _ => vec![together("all graphs")],
    };
    ScoreGroups {
        of,
        totals,
        groups: groups.into_iter().map(group).collect(),
    }
}

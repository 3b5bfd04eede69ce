//! Which units have a score together.

use std::collections::{BTreeMap, HashMap};

use arrow::datatypes::Int64Type;
use datafusion::prelude::SessionContext;

use super::matched::Matched;
use super::networks::{Work, kind_of, networks};
use super::options::Scoring;
use super::tasks::{Key, Tasks};
use super::tpugraphs::COLLECTIONS;
use super::unit::{Group, Member, Total};
use crate::column;
use crate::error::Result;
use crate::query::collect;

/// Groups, what they are, and what is said of all.
pub(super) struct Groups {
    pub(super) of: &'static str,
    pub(super) groups: Vec<Group>,
    pub(super) totals: Vec<Total>,
}

/// What is over all groups of tuning records.
const RATIO: &str = "ratio of sums";

/// Tasks by the networks that have them, or each by itself where none does.
pub(super) async fn of_tasks(
    context: &SessionContext,
    matched: &Matched,
    tasks: &Tasks,
    scoring: Scoring,
) -> Result<Groups> {
    let platform = |key: &Key| match matched.has_platforms() {
        true => matched.platform_name(key.platform).map(str::to_owned),
        false => None,
    };
    let mut places: BTreeMap<(usize, Work), Vec<usize>> = BTreeMap::new();
    for (unit, task) in tasks.tasks.iter().enumerate() {
        let work = (task.key.graph_id, kind_of(tasks.target(&task.key)));
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
                    members.push(Member { unit, weight });
                    if let Some(known) = weights.get_mut(unit) {
                        *known += weight;
                    }
                }
            }
            if !members.is_empty() {
                groups.push(Group {
                    name: network.name.clone(),
                    platform: matched
                        .platform_name(number)
                        .filter(|_| matched.has_platforms())
                        .map(str::to_owned),
                    tasks_of_network: Some(works.len() as u64),
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
            .map(|(unit, task)| Group {
                name: keys.get(&task.key.graph_id).cloned().unwrap_or_default(),
                platform: platform(&task.key),
                tasks_of_network: None,
                members: vec![Member { unit, weight: 1.0 }],
            })
            .collect();
    }
    let all = weights.into_iter().enumerate();
    let together = Total::Together(Group {
        name: RATIO.to_owned(),
        platform: None,
        tasks_of_network: None,
        members: all.map(|(unit, weight)| Member { unit, weight }).collect(),
    });
    let mean = Total::Mean {
        name: format!("mean of {of}s"),
        least_groups: 1,
    };
    let totals = match scoring {
        Scoring::Tlp => vec![together],
        _ => vec![mean, together],
    };
    Ok(Groups { of, groups, totals })
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

/// Units by a name that each has.
pub(super) fn named(of: &'static str, names: &[String]) -> Groups {
    let mut groups: BTreeMap<&str, Vec<Member>> = BTreeMap::new();
    for (unit, name) in names.iter().enumerate() {
        let members = groups.entry(name).or_default();
        members.push(Member { unit, weight: 1.0 });
    }
    let group = |(name, members): (&str, Vec<Member>)| Group {
        name: name.to_owned(),
        platform: None,
        tasks_of_network: None,
        members,
    };
    let all = (0..names.len()).map(|unit| Member { unit, weight: 1.0 });
    let together = |name: &str| Total::Together(group((name, all.collect())));
    let totals = match of {
        "collection" => vec![
            Total::Mean {
                name: "mean of collections".to_owned(),
                least_groups: COLLECTIONS,
            },
            together("all files"),
        ],
        _ => vec![together("all graphs")],
    };
    Groups {
        of,
        totals,
        groups: groups.into_iter().map(group).collect(),
    }
}

//! Networks whose tasks are replayed together.

use std::collections::{BTreeMap, BTreeSet};

use datafusion::prelude::SessionContext;
use tsql_error::{Error, Result};

use super::task::{NetworkTrials, TaskTrials};
use crate::score::{GraphTarget, Network, networks};

/// Networks of a name, with the weights of their tasks.
pub(super) struct NetworkWeights(BTreeMap<Network, BTreeMap<GraphTarget, f64>>);

/// Name of a network without its input shapes.
fn base_name(name: &str) -> &str {
    name.split_once(' ').map_or(name, |(base, _)| base)
}

/// SQL condition over `records` for the tasks of a network.
pub(super) fn network_selection(name: &str) -> String {
    let base = base_name(name).replace('\'', "''");
    format!(" AND graph_id IN (SELECT graph_id FROM network_tasks WHERE network = '{base}')")
}

impl NetworkWeights {
    /// Reads the networks of a name, which may have input shapes: `resnet_50 [[1,3,224,224]]`.
    ///
    /// # Errors
    /// [`Error::Unknown`] if the store has none.
    pub(super) async fn read(context: &SessionContext, name: &str) -> Result<Self> {
        let mut all = networks(context).await?;
        let names: BTreeSet<String> = all.keys().map(|network| network.name.clone()).collect();
        all.retain(|network, _| network.name == name || base_name(&network.name) == name);
        if all.is_empty() {
            let known: Vec<String> = names.into_iter().collect();
            return Err(Error::Unknown {
                kind: "network",
                name: name.to_owned(),
                known: match known.is_empty() {
                    true => "none yet, `tsql ingest` reads TenSet's `network_info`".to_owned(),
                    false => known.join(", "),
                },
            });
        }
        Ok(Self(all))
    }

    /// Returns the networks on each platform that has records of their tasks.
    ///
    /// # Errors
    /// [`Error::Empty`] if no task is of a network's kind of target.
    pub(super) fn networks(&self, tasks: Vec<TaskTrials>) -> Result<Vec<NetworkTrials>> {
        let mut found: BTreeMap<(&Network, String), NetworkTrials> = BTreeMap::new();
        for task in tasks {
            for (network, weights) in &self.0 {
                let key = (task.graph_id, network.target_kind.clone());
                let is_kind =
                    network.target_kind.is_empty() || network.target_kind == task.target_kind;
                let Some(weight) = weights.get(&key).filter(|_| is_kind) else {
                    continue;
                };
                let trials = found.entry((network, task.platform.clone()));
                let trials = trials.or_insert_with(|| NetworkTrials {
                    name: format!("{} {}", network.name, network.target_kind)
                        .trim()
                        .to_owned(),
                    platform: task.platform.clone(),
                    task_count: weights.len(),
                    tasks: Vec::new(),
                });
                trials.tasks.push((*weight, task.clone()));
            }
        }
        if found.is_empty() {
            let reason = "no selected record is of a task of the network with its kind of target";
            return Err(Error::Empty(reason.to_owned()));
        }
        Ok(found.into_values().collect())
    }
}

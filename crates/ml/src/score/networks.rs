//! Weights of tasks in networks.

use std::collections::BTreeMap;

use arrow::datatypes::Int64Type;
use datafusion::prelude::SessionContext;
use tsql_dialect::collect;
use tsql_error::Result;
use tsql_schema::column;

/// A graph and a kind of target.
pub(crate) type GraphTarget = (i64, String);

/// A network: its name with its inputs, and the kind of its target.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Network {
    pub(crate) name: String,
    pub(crate) target_kind: String,
}

/// Returns the tasks of each network with their weights. The last weight of a repeated task counts, as upstream.
pub(crate) async fn networks(
    context: &SessionContext,
) -> Result<BTreeMap<Network, BTreeMap<GraphTarget, f64>>> {
    let sql = "SELECT arrow_cast(network || ' ' || coalesce(input_shapes, ''), 'Utf8View') AS name, \
               arrow_cast(coalesce(target_kind, ''), 'Utf8View') AS target_kind, graph_id, weight \
               FROM network_tasks WHERE network IS NOT NULL AND weight IS NOT NULL ORDER BY source_id, line";
    let mut networks: BTreeMap<Network, BTreeMap<GraphTarget, f64>> = BTreeMap::new();
    for batch in collect(context, sql).await? {
        let names = column::text(&batch, "name")?;
        let kinds = column::text(&batch, "target_kind")?;
        let graphs = column::numbers::<Int64Type>(&batch, "graph_id")?;
        let weights = column::numbers::<Int64Type>(&batch, "weight")?;
        for row in 0..batch.num_rows() {
            let target_kind = kinds.value(row).to_owned();
            let network = Network {
                name: names.value(row).trim().to_owned(),
                target_kind: target_kind.clone(),
            };
            #[expect(clippy::cast_precision_loss, reason = "a few thousand at most")]
            let weight = weights.value(row) as f64;
            let tasks = networks.entry(network).or_default();
            tasks.insert((graphs.value(row), target_kind), weight);
        }
    }
    Ok(networks)
}

/// Kind of a target, as in network names: the first word, or `kind` of MetaSchedule's JSON.
pub(crate) fn target_kind(target: &str) -> String {
    let json = serde_json::from_str::<serde_json::Value>(target).ok();
    let named = json.as_ref().and_then(|json| json.get("kind")?.as_str());
    let word = || target.split_whitespace().next().unwrap_or_default();
    named.unwrap_or_else(word).to_owned()
}

//! Keys of the configurations of a store.

use std::collections::{HashMap, HashSet};

use ahash::RandomState;
use arrow::datatypes::Int64Type;
use datafusion::prelude::SessionContext;
use futures::StreamExt as _;
use tsql_dialect::plan_query;
use tsql_error::{Error, Result};
use tsql_schema::column;

/// Bytes of a key.
pub(super) type ConfigKey = [u8; 16];

/// Keys, with the graphs of their configurations.
pub(super) struct Configurations(HashMap<ConfigKey, i64, RandomState>);

impl Configurations {
    /// Reads the keys of a store.
    pub(super) async fn load(context: &SessionContext) -> Result<Self> {
        let sql = "SELECT graph_id, key_bytes(config_key) AS key FROM configurations";
        let rows = plan_query(context, sql).await?.execute_stream().await;
        let mut rows = rows.map_err(Error::Query)?;
        let mut all = HashMap::default();
        while let Some(batch) = rows.next().await {
            let batch = batch.map_err(Error::Query)?;
            let graphs = column::numbers::<Int64Type>(&batch, "graph_id")?;
            let keys = column::bytes(&batch, "key")?;
            let keys = keys
                .iter()
                .map(|key| key.and_then(|key| ConfigKey::try_from(key).ok()));
            let pairs = keys.zip(graphs.values());
            all.extend(pairs.filter_map(|(key, graph)| Some((key?, *graph))));
        }
        Ok(Self(all))
    }

    pub(super) fn has(&self, key: &ConfigKey) -> bool {
        self.0.contains_key(key)
    }

    /// Counts the configurations that are not in `covered`, of the graphs with at least one configuration in it.
    pub(super) fn missing<'a>(&self, covered: impl Iterator<Item = &'a ConfigKey> + Clone) -> u64 {
        let graphs = covered.clone().filter_map(|key| self.0.get(key));
        let graphs: HashSet<i64, RandomState> = graphs.copied().collect();
        let of_graphs = self.0.values().filter(|graph| graphs.contains(graph));
        let covered = covered.filter(|key| self.0.contains_key(*key));
        (of_graphs.count() as u64).saturating_sub(covered.count() as u64)
    }
}

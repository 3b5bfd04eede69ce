//! What the store has measured already.

use std::collections::{HashMap, HashSet};

use crate::column;
use crate::error::Result;
use crate::measure::space::Config;
use crate::query::collect;
use crate::store::Store;

/// Configurations by workload key that have a record of this program on this platform.
pub(crate) async fn measured(
    store: &Store,
    platform: &str,
    program: &str,
) -> Result<HashMap<String, HashSet<Config>>> {
    let quoted = |text: &str| text.replace('\'', "''");
    let sql = format!(
        "SELECT DISTINCT g.workload_key, c.steps FROM records AS r \
         JOIN environments AS e ON e.environment_id = r.environment_id \
         JOIN graphs AS g ON g.graph_id = r.graph_id \
         JOIN configurations AS c ON c.graph_id = r.graph_id AND c.config_id = r.config_id \
         WHERE r.dataset = 'measured' AND r.platform = '{}' AND e.program = '{}'",
        quoted(platform),
        quoted(program)
    );
    let context = store.session().await?;
    let mut known: HashMap<String, HashSet<Config>> = HashMap::new();
    for batch in collect(&context, &sql).await? {
        let keys = column::text(&batch, "workload_key")?;
        let steps = column::text(&batch, "steps")?;
        for row in 0..batch.num_rows() {
            let config = serde_json::from_str::<Config>(steps.value(row));
            // A configuration that is no object of numbers is none of this program's.
            if let Ok(config) = config {
                known
                    .entry(keys.value(row).to_owned())
                    .or_default()
                    .insert(config);
            }
        }
    }
    Ok(known)
}

//! Configurations with stored measurements.

use std::collections::{HashMap, HashSet};

use arrow::datatypes::Int64Type;
use tsql_dialect::collect;
use tsql_error::Result;
use tsql_formats::measured;
use tsql_formats::rows::Environment;
use tsql_measure::space::Config;
use tsql_schema::column;
use tsql_session::open_session;
use tsql_store::Store;

/// Configurations by workload key that have a record on this platform, for the program of this environment,
/// built the same way.
pub(crate) async fn measured_configs(
    store: &Store,
    platform: &str,
    environment: &Environment,
) -> Result<HashMap<String, HashSet<Config>>> {
    let quoted = |text: &str| text.replace('\'', "''");
    let context = open_session(store).await?;
    let sql = format!(
        "SELECT environment_id, target, machine FROM environments \
         WHERE dataset = 'measured' AND program = '{}'",
        quoted(environment.program.as_deref().unwrap_or_default())
    );
    let build = measured::kernel(environment).build;
    let mut same = Vec::new();
    for batch in collect(&context, &sql).await? {
        let ids = column::numbers::<Int64Type>(&batch, "environment_id")?;
        let (targets, machines) = (
            column::text(&batch, "target")?,
            column::text(&batch, "machine")?,
        );
        for row in 0..batch.num_rows() {
            let machine = column::text_at(machines, row);
            if machine.and_then(|machine| measured::build_description(machine, targets.value(row)))
                == build
            {
                same.push(ids.value(row).to_string());
            }
        }
    }
    let mut known: HashMap<String, HashSet<Config>> = HashMap::new();
    if same.is_empty() {
        return Ok(known);
    }
    let sql = format!(
        "SELECT DISTINCT g.workload_key, c.steps FROM records AS r \
         JOIN graphs AS g ON g.graph_id = r.graph_id \
         JOIN configurations AS c ON c.graph_id = r.graph_id AND c.config_id = r.config_id \
         WHERE r.dataset = 'measured' AND r.platform = '{}' AND r.environment_id IN ({})",
        quoted(platform),
        same.join(", ")
    );
    for batch in collect(&context, &sql).await? {
        let keys = column::text(&batch, "workload_key")?;
        let steps = column::text(&batch, "steps")?;
        for row in 0..batch.num_rows() {
            let config = serde_json::from_str::<Config>(steps.value(row));
            // Configurations that are no object of numbers belong to other programs.
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

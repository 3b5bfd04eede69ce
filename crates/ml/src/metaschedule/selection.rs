//! Selects the exported records.

use arrow::datatypes::Int64Type;
use datafusion::prelude::SessionContext;
use tsql_dialect::collect;
use tsql_error::Result;
use tsql_formats::metaschedule::NAME;
use tsql_schema::column;

/// Selected records of a source that share an environment and a graph.
pub(super) struct SelectedRecords {
    pub(super) source_id: i64,
    pub(super) environment_id: i64,
    pub(super) graph_id: i64,
    pub(super) records: u64,
}

/// Returns the records that match a predicate, by source.
pub(super) async fn select_records(
    context: &SessionContext,
    predicate: &str,
) -> Result<Vec<SelectedRecords>> {
    let sql = format!(
        "SELECT source_id, environment_id, graph_id, count(*) AS rows FROM records \
         WHERE dataset = '{NAME}' AND ({predicate}) \
         GROUP BY source_id, environment_id, graph_id ORDER BY source_id, environment_id, graph_id"
    );
    let mut found = Vec::new();
    for batch in collect(context, &sql).await? {
        let numbers = |name| column::numbers::<Int64Type>(&batch, name);
        let (sources, environments) = (numbers("source_id")?, numbers("environment_id")?);
        let (graphs, rows) = (numbers("graph_id")?, numbers("rows")?);
        for row in 0..batch.num_rows() {
            found.push(SelectedRecords {
                source_id: sources.value(row),
                environment_id: environments.value(row),
                graph_id: graphs.value(row),
                records: rows.value(row).unsigned_abs(),
            });
        }
    }
    Ok(found)
}

/// Counts the selected records of other formats.
pub(super) async fn other_records(context: &SessionContext, predicate: &str) -> Result<u64> {
    let sql =
        format!("SELECT count(*) AS rows FROM records WHERE dataset <> '{NAME}' AND ({predicate})");
    let mut count = 0;
    for batch in collect(context, &sql).await? {
        let rows = column::numbers::<Int64Type>(&batch, "rows")?;
        count += rows.values().iter().sum::<i64>().unsigned_abs();
    }
    Ok(count)
}

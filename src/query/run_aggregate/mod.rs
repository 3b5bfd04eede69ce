//! Aggregates runs of adjacent rows of one group. Rows are adjacent if they share a partition value of their file, as
//! platform or dataset, or the sort key of their file, as graph.
//!
//! DataFusion looks up the group of each row, and accumulates row by row. Here the group is looked up once per run, and
//! the aggregate of a run is computed over contiguous values. With other keys beside those of files, only the others
//! are looked up.

mod groups;
mod run_state;

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::metrics::BaselineMetrics;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::unnest::UnnestExec;
use datafusion::physical_plan::{ExecutionPlan, InputOrderMode};
use futures::{StreamExt as _, TryStreamExt as _};

use super::operator_substitution::{OperatorSubstitute, OutputContext};
use crate::store::scan_of_store;
use groups::{FilteredAggregate, GroupKey, Groups, convert_to_state};

/// Aggregates with a state of constant size.
const BOUNDED: [&str; 12] = [
    "avg",
    "bool_and",
    "bool_or",
    "corr",
    "count",
    "max",
    "min",
    "stddev",
    "stddev_pop",
    "sum",
    "var",
    "var_pop",
];

/// Aggregates that collect their values. Their state is emitted before it becomes large.
const COLLECTING: [&str; 1] = ["percentile_cont"];

/// Maximum number of rows before collected values are emitted: so many batches, but at most [`MAX_ROWS`].
const MAX_ROW_BATCHES: usize = 16;
const MAX_ROWS: usize = 1 << 18;

/// Maximum number of groups before they are emitted: so many batches, but at most [`MAX_GROUPS`].
const MAX_GROUP_BATCHES: usize = 4;
const MAX_GROUPS: usize = 1 << 16;

/// The partial stage of an aggregation.
#[derive(Debug)]
pub(super) struct RunAggregate {
    keys: Arc<[GroupKey]>,
    parts: Arc<[FilteredAggregate]>,
    /// Whether the state of an aggregate grows with the number of rows.
    is_growing: bool,
}

impl OperatorSubstitute for RunAggregate {
    const NAME: &'static str = "RunAggregateExec";

    /// Replaces aggregates by partition columns of files, by the sort column of files, and by other keys beside
    /// partition columns.
    fn try_from_plan(node: &Arc<dyn ExecutionPlan>) -> Result<Option<Self>> {
        let aggregate = node.downcast_ref::<AggregateExec>();
        Ok(aggregate.and_then(Self::try_from_aggregate))
    }

    fn execute(
        &self,
        rows: SendableRecordBatchStream,
        made: OutputContext,
        context: &Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let batch_rows = context.session_config().batch_size();
        let (most_rows, most_groups) = (
            batch_rows.saturating_mul(MAX_ROW_BATCHES).min(MAX_ROWS),
            batch_rows.saturating_mul(MAX_GROUP_BATCHES).min(MAX_GROUPS),
        );
        let metrics = BaselineMetrics::new(&made.metrics, made.part);
        let (keys, parts) = (Arc::clone(&self.keys), Arc::clone(&self.parts));
        let is_growing = self.is_growing;
        let schema = Arc::clone(&made.schema);
        let begin = Some((rows, false));
        let states = futures::stream::try_unfold(begin, move |state| {
            let (metrics, schema) = (metrics.clone(), Arc::clone(&made.schema));
            let (keys, parts) = (Arc::clone(&keys), Arc::clone(&parts));
            async move {
                let Some((mut rows, are_many)) = state else {
                    return Ok(None);
                };
                if are_many {
                    let Some(batch) = rows.try_next().await? else {
                        return Ok(None);
                    };
                    let _timer = metrics.elapsed_compute().timer();
                    let states = convert_to_state(&batch, &keys, &parts, &schema)?;
                    metrics.record_output(states.num_rows());
                    return Ok(Some((states, Some((rows, are_many)))));
                }
                let mut groups = Groups::new(&keys, &parts, &schema);
                let (mut gathered_rows, mut is_full) = (0, false);
                while !is_full && let Some(batch) = rows.try_next().await? {
                    let _timer = metrics.elapsed_compute().timer();
                    groups.add(&batch)?;
                    gathered_rows += batch.num_rows();
                    is_full =
                        groups.len() >= most_groups || (is_growing && gathered_rows >= most_rows);
                }
                let are_many = !is_growing && groups.len() > gathered_rows / 5 * 4;
                let states = groups.finish()?;
                metrics.record_output(states.num_rows());
                Ok(Some((states, is_full.then_some((rows, are_many)))))
            }
        });
        let states = states.filter(|states| {
            let is_any = states.as_ref().map_or(true, |states| states.num_rows() > 0);
            std::future::ready(is_any)
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, states)))
    }
}

impl RunAggregate {
    fn try_from_aggregate(aggregate: &AggregateExec) -> Option<Self> {
        let (input, groups) = (aggregate.input(), aggregate.group_expr());
        let is_plain = *aggregate.mode() == AggregateMode::Partial
            && groups.is_single()
            && !groups.expr().is_empty()
            && aggregate.limit_options().is_none();
        let keys = groups.expr().iter().filter(|_| is_plain);
        let keys = keys.map(|(key, _)| {
            let rows = column(key).and_then(|place| column_clustering(input, place));
            (Arc::clone(key), rows)
        });
        let keys: Vec<(Arc<dyn PhysicalExpr>, Option<Clustering>)> = keys.collect();
        let parts = aggregate.aggr_expr().iter().zip(aggregate.filter_expr());
        let parts = parts.map(|(aggregate, filter)| {
            let name = aggregate.fun().name();
            // The order of values matters only for the collecting aggregates.
            let is_known = COLLECTING.contains(&name)
                || (BOUNDED.contains(&name) && aggregate.order_bys().is_empty());
            let is_known =
                is_known && aggregate.groups_accumulator_supported() && !aggregate.is_distinct();
            is_known.then(|| FilteredAggregate {
                aggregate: Arc::clone(aggregate),
                filter: filter.clone(),
            })
        });
        let parts: Vec<FilteredAggregate> = parts.collect::<Option<_>>()?;
        let is_growing =
            |part: &FilteredAggregate| COLLECTING.contains(&part.aggregate.fun().name());
        let is_growing = parts.iter().any(is_growing);
        let of_file = |(_, rows): &(_, Option<Clustering>)| *rows == Some(Clustering::OfFile);
        let (of_files, any_of_files) = (keys.iter().all(of_file), keys.iter().any(of_file));
        let are_together = keys.iter().all(|(_, rows)| rows.is_some());
        // Files of one partition value are adjacent, whatever the order of rows.
        let may_part = any_of_files && *aggregate.input_order_mode() == InputOrderMode::Linear;
        let is_ours = match is_growing {
            true => of_files,
            false => are_together || may_part,
        };
        (!keys.is_empty() && is_ours).then(|| Self {
            keys: keys
                .iter()
                .map(|key| GroupKey {
                    of_file: of_file(key) && may_part && !of_files,
                    expr: Arc::clone(&key.0),
                })
                .collect(),
            is_growing,
            parts: parts.into(),
        })
    }
}

fn column(expr: &Arc<dyn PhysicalExpr>) -> Option<usize> {
    expr.downcast_ref::<Column>().map(Column::index)
}

/// How rows with the same value in a column are clustered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clustering {
    /// All rows of a file have the same value.
    OfFile,
    /// Rows of a file with the same value are adjacent.
    Sorted,
}

/// Returns how the output of a plan is clustered by a column; `None` if it is not.
fn column_clustering(plan: &Arc<dyn ExecutionPlan>, place: usize) -> Option<Clustering> {
    if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        let place = match filter.projection() {
            Some(places) => *places.get(place)?,
            None => place,
        };
        return column_clustering(filter.input(), place);
    }
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        let place = column(&projection.expr().get(place)?.expr)?;
        return column_clustering(projection.input(), place);
    }
    if let Some(unnest) = plan.downcast_ref::<UnnestExec>() {
        let (lists, input) = (unnest.list_column_indices(), unnest.input());
        let keeps_places = unnest.struct_column_indices().is_empty()
            && input.schema().fields().len() == unnest.schema().fields().len()
            && lists.iter().all(|list| list.index_in_input_schema != place);
        return column_clustering(input, place).filter(|_| keeps_places);
    }
    let scan = scan_of_store(plan)?;
    let source = scan.file_source();
    let place = column(&source.projection()?.as_ref().get(place)?.expr)?;
    let in_files = source.table_schema().file_schema().fields().len();
    let all = in_files + source.table_schema().table_partition_cols().len();
    if (in_files..all).contains(&place) {
        return Some(Clustering::OfFile);
    }
    let first = scan.output_ordering.first()?.first();
    (column(&first.expr)? == place).then_some(Clustering::Sorted)
}

#[cfg(test)]
mod tests {
    use arrow::util::pretty::pretty_format_batches;
    use datafusion::prelude::SessionContext;

    use crate::Store;

    async fn result_text(context: &SessionContext, sql: &str) -> String {
        let batches = context.sql(sql).await.unwrap().collect().await.unwrap();
        pretty_format_batches(&batches).unwrap().to_string()
    }

    async fn uses_run_aggregate(context: &SessionContext, sql: &str) -> bool {
        result_text(context, &format!("EXPLAIN {sql}"))
            .await
            .contains("RunAggregateExec")
    }

    /// Returns a session over the sample store with two threads and batches of one row, so that groups are emitted
    /// several times.
    async fn context() -> SessionContext {
        let store = Store::demo().await.unwrap();
        let options = crate::query::SessionOptions::default().threads(2);
        let context = store.session_with(&options).await.unwrap();
        context
            .sql("SET datafusion.execution.batch_size = 1")
            .await
            .unwrap();
        context
    }

    #[tokio::test]
    #[ignore = "full tier"]
    async fn groups_of_files_are_those_of_a_hash_table() {
        let context = context().await;
        for aggregates in [
            "round(sum(CASE WHEN error_no = 0 THEN 0 ELSE all_cost_s * pi() END), 9), round(avg(all_cost_s * pi()), 9), min(repeat_count), max(error_no), count(error_message), min(baseline_ns), round(avg(baseline_ns), 9)",
            "count(line + 1), sum(repeat_count * 2), min(runtime_ns + 1), max(runtime_ns - 1)",
            "count(all_cost_s), count(*) FILTER (WHERE runtime_ns > 1e5), max(error_no) FILTER (WHERE error_no > 99)",
            "round(avg(ln(runtime_ns)), 9), round(stddev(noise), 9), round(corr(runtime_ns, line), 9), round(stddev_pop(noise), 9), round(var(noise), 9), round(var_pop(noise), 9)",
            "min(CASE WHEN line % 3 = 0 THEN 'NaN'::DOUBLE ELSE runtime_ns END), max(CASE WHEN line % 3 = 0 THEN 'NaN'::DOUBLE ELSE runtime_ns END)",
            "round(avg(CASE WHEN platform = 'epyc-1t' THEN runtime_ns END), 6), sum(CASE WHEN platform = 'epyc-1t' THEN line END)",
            "median(runtime_ns), quantile_cont(noise, 0.9) FILTER (WHERE line > 2), percentile_cont(0.1) WITHIN GROUP (ORDER BY runtime_ns DESC)",
            "bool_and(error_no = 0), bool_or(line > 3), sum(CAST(line AS DECIMAL(9, 2))), avg(CAST(line AS DECIMAL(9, 2))), min(CAST(line AS VARCHAR)), max(measured_at), sum(length(status))",
        ] {
            for (rows, wheres) in [
                ("records", ""),
                ("records", "WHERE error_no = 0 AND runtime_ns > 1e4"),
                ("records", "WHERE runtime_ns * 0 > 1"),
                (
                    "(SELECT *, unnest(repeats_ns) AS t FROM records) AS u",
                    "WHERE t > 0",
                ),
            ] {
                for (key, other, order) in [
                    ("platform", "concat(platform, '')", "1"),
                    ("graph_id", "graph_id + 0 * line", "1"),
                    (
                        "graph_id, platform",
                        "graph_id, concat(platform, '')",
                        "1, 2",
                    ),
                    (
                        "platform, error_no",
                        "concat(platform, ''), error_no",
                        "1, 2",
                    ),
                    (
                        "platform, config_id, line",
                        "concat(platform, ''), config_id, line",
                        "1, 2, 3",
                    ),
                    (
                        "line % 5, platform",
                        "line % 5, concat(platform, '')",
                        "1, 2",
                    ),
                ] {
                    if key != "platform" && !wheres.is_empty() {
                        continue;
                    }
                    let asked = |key: &str| {
                        format!(
                            "SELECT {key}, {aggregates} FROM {rows} {wheres} GROUP BY {key} ORDER BY {order}"
                        )
                    };
                    let (by_runs, hashed) = (asked(key), asked(other));
                    // Collecting aggregates support only partition columns of files.
                    let is_theirs = aggregates.contains("median") && key != "platform";
                    assert_ne!(
                        uses_run_aggregate(&context, &by_runs).await,
                        is_theirs,
                        "{by_runs}"
                    );
                    assert!(!uses_run_aggregate(&context, &hashed).await, "{hashed}");
                    // Column names differ.
                    let rows = |text: String| -> Vec<String> {
                        text.lines()
                            .skip(3)
                            .map(|line| line.replace([' ', '-'], ""))
                            .collect()
                    };
                    let found = rows(result_text(&context, &by_runs).await);
                    let expected = rows(result_text(&context, &hashed).await);
                    assert_eq!(found, expected, "{by_runs}");
                }
            }
        }
    }

    #[tokio::test]
    async fn other_groups_are_hashed() {
        let context = context().await;
        for sql in [
            "SELECT error_message AS platform, count(line) FROM records GROUP BY error_message",
            "SELECT config_id, count(line + 1) FROM records GROUP BY config_id",
            "SELECT graph_id + 1, sum(line) FROM records GROUP BY graph_id + 1",
            "SELECT platform, median(DISTINCT line) FROM records GROUP BY platform",
            "SELECT platform, error_no, median(line) FROM records GROUP BY platform, error_no",
            "SELECT platform, sum(line) FROM (SELECT error_message AS platform, platform AS p, line FROM records) AS r GROUP BY platform",
        ] {
            assert!(!uses_run_aggregate(&context, sql).await, "{sql}");
        }
        let renamed = "SELECT p, sum(line) FROM (SELECT platform AS p, line FROM records WHERE line > 1) AS r GROUP BY p";
        assert!(uses_run_aggregate(&context, renamed).await);
    }
}

//! Groups whose rows lie together: by what all rows of a file share, a platform or a dataset, or by what files are sorted by, a graph.
//!
//! DataFusion looks the group of each row up, and adds row by row. Here a run of rows of one group is looked up once, and what an aggregate has of
//! it is computed at once, over the values as they lie in memory. Other keys may stand beside those of files: then only the others are looked up.

mod groups;
mod reduced;

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

use super::operator_substitution::{Made, Operator};
use crate::store::scan_of_store;
use groups::{Groups, Key, Part, each_alone};

/// Aggregates whose state does not grow with the rows.
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

/// Aggregates whose state is the values themselves: these are handed on before they are many.
const GROWING: [&str; 1] = ["percentile_cont"];

/// Rows whose values are handed on at a time: so many batches, but not more than [`MOST_ROWS`].
const BATCHES_OF_ROWS: usize = 16;
const MOST_ROWS: usize = 1 << 18;

/// Groups that are handed on at a time: so many batches, but not more than [`MOST_GROUPS`].
const BATCHES_OF_GROUPS: usize = 4;
const MOST_GROUPS: usize = 1 << 16;

/// The first half of an aggregation: what each thread has of each group.
#[derive(Debug)]
pub(super) struct RunAggregate {
    keys: Arc<[Key]>,
    parts: Arc<[Part]>,
    /// Does the state of one of them grow with the rows?
    is_growing: bool,
}

impl Operator for RunAggregate {
    const NAME: &'static str = "RunAggregateExec";

    /// For groups by columns that are of files, by those that their rows are sorted by, and by others beside the first.
    fn of(node: &Arc<dyn ExecutionPlan>) -> Result<Option<Self>> {
        let aggregate = node.downcast_ref::<AggregateExec>();
        Ok(aggregate.and_then(Self::of_aggregate))
    }

    fn execute(
        &self,
        rows: SendableRecordBatchStream,
        made: Made,
        context: &Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let batch_rows = context.session_config().batch_size();
        let (most_rows, most_groups) = (
            batch_rows.saturating_mul(BATCHES_OF_ROWS).min(MOST_ROWS),
            batch_rows
                .saturating_mul(BATCHES_OF_GROUPS)
                .min(MOST_GROUPS),
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
                    let states = each_alone(&batch, &keys, &parts, &schema)?;
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
    fn of_aggregate(aggregate: &AggregateExec) -> Option<Self> {
        let (input, groups) = (aggregate.input(), aggregate.group_expr());
        let is_plain = *aggregate.mode() == AggregateMode::Partial
            && groups.is_single()
            && !groups.expr().is_empty()
            && aggregate.limit_options().is_none();
        let keys = groups.expr().iter().filter(|_| is_plain);
        let keys = keys.map(|(key, _)| {
            let rows = column(key).and_then(|place| together(input, place));
            (Arc::clone(key), rows)
        });
        let keys: Vec<(Arc<dyn PhysicalExpr>, Option<Together>)> = keys.collect();
        let parts = aggregate.aggr_expr().iter().zip(aggregate.filter_expr());
        let parts = parts.map(|(aggregate, filter)| {
            let name = aggregate.fun().name();
            // Those that grow are told apart by the order of their values only.
            let is_known = GROWING.contains(&name)
                || (BOUNDED.contains(&name) && aggregate.order_bys().is_empty());
            let is_known =
                is_known && aggregate.groups_accumulator_supported() && !aggregate.is_distinct();
            is_known.then(|| Part {
                aggregate: Arc::clone(aggregate),
                filter: filter.clone(),
            })
        });
        let parts: Vec<Part> = parts.collect::<Option<_>>()?;
        let is_growing = |part: &Part| GROWING.contains(&part.aggregate.fun().name());
        let is_growing = parts.iter().any(is_growing);
        let of_file = |(_, rows): &(_, Option<Together>)| *rows == Some(Together::OfFile);
        let (of_files, any_of_files) = (keys.iter().all(of_file), keys.iter().any(of_file));
        let are_together = keys.iter().all(|(_, rows)| rows.is_some());
        // Groups of files with other keys follow each other, whatever order rows came in.
        let may_part = any_of_files && *aggregate.input_order_mode() == InputOrderMode::Linear;
        let is_ours = match is_growing {
            true => of_files,
            false => are_together || may_part,
        };
        (!keys.is_empty() && is_ours).then(|| Self {
            keys: keys
                .iter()
                .map(|key| Key {
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

/// How rows that have the same value in a column lie together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Together {
    /// All rows of a file have it.
    OfFile,
    /// Those of a file that have it follow each other.
    Sorted,
}

/// How the rows that this plan makes lie together by a column; `None` where they need not.
fn together(plan: &Arc<dyn ExecutionPlan>, place: usize) -> Option<Together> {
    if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        let place = match filter.projection() {
            Some(places) => *places.get(place)?,
            None => place,
        };
        return together(filter.input(), place);
    }
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        let place = column(&projection.expr().get(place)?.expr)?;
        return together(projection.input(), place);
    }
    if let Some(unnest) = plan.downcast_ref::<UnnestExec>() {
        let (lists, input) = (unnest.list_column_indices(), unnest.input());
        let keeps_places = unnest.struct_column_indices().is_empty()
            && input.schema().fields().len() == unnest.schema().fields().len()
            && lists.iter().all(|list| list.index_in_input_schema != place);
        return together(input, place).filter(|_| keeps_places);
    }
    let scan = scan_of_store(plan)?;
    let source = scan.file_source();
    let place = column(&source.projection()?.as_ref().get(place)?.expr)?;
    let in_files = source.table_schema().file_schema().fields().len();
    let all = in_files + source.table_schema().table_partition_cols().len();
    if (in_files..all).contains(&place) {
        return Some(Together::OfFile);
    }
    let first = scan.output_ordering.first()?.first();
    (column(&first.expr)? == place).then_some(Together::Sorted)
}

#[cfg(test)]
mod tests {
    use arrow::util::pretty::pretty_format_batches;
    use datafusion::prelude::SessionContext;

    use crate::Store;

    async fn answer(context: &SessionContext, sql: &str) -> String {
        let batches = context.sql(sql).await.unwrap().collect().await.unwrap();
        pretty_format_batches(&batches).unwrap().to_string()
    }

    async fn is_by_runs(context: &SessionContext, sql: &str) -> bool {
        answer(context, &format!("EXPLAIN {sql}"))
            .await
            .contains("RunAggregateExec")
    }

    /// The sample, queried by two threads in batches of one row: groups are handed on several times.
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
                    // What gathers values does so by files only.
                    let is_theirs = aggregates.contains("median") && key != "platform";
                    assert_ne!(is_by_runs(&context, &by_runs).await, is_theirs, "{by_runs}");
                    assert!(!is_by_runs(&context, &hashed).await, "{hashed}");
                    // The names of the columns are others.
                    let rows = |text: String| -> Vec<String> {
                        text.lines()
                            .skip(3)
                            .map(|line| line.replace([' ', '-'], ""))
                            .collect()
                    };
                    let found = rows(answer(&context, &by_runs).await);
                    let expected = rows(answer(&context, &hashed).await);
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
            assert!(!is_by_runs(&context, sql).await, "{sql}");
        }
        let renamed = "SELECT p, sum(line) FROM (SELECT platform AS p, line FROM records WHERE line > 1) AS r GROUP BY p";
        assert!(is_by_runs(&context, renamed).await);
    }
}

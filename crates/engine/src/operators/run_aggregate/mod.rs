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

use crate::operators::operator_substitution::{OperatorSubstitute, OutputContext};
use groups::{FilteredAggregate, GroupKey, Groups, convert_to_state};
use tsql_store::scan_of_store;

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
pub(crate) struct RunAggregate {
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

//! A LIMIT changes how many rows there are, not which ones.
//!
//! DataFusion 55 hands limits down the plan, and forgets on the way
//!
//! - that a scan has said in which order its rows come: threads take files from each other, and the merge above gives what
//!   it did not see in order ([#24272](https://github.com/apache/datafusion/issues/24272)),
//! - that groups are not whole before the last stage of an aggregation: a sort between the stages keeps the first rows, several of
//!   which are of one group ([#24927](https://github.com/apache/datafusion/issues/24927)),
//! - that rows of a DISTINCT in order need a direction of the limit, and stops
//!   ([#25350](https://github.com/apache/datafusion/issues/25350)).

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{
    Transformed, TransformedResult as _, TreeNode as _, TreeNodeRecursion,
};
use datafusion::datasource::physical_plan::{FileScanConfig, FileScanConfigBuilder};
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateInputMode};
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::sorts::sort::SortExec;

/// The rule that reminds it, after all others.
#[derive(Debug)]
pub(super) struct LimitsChooseNoRows;

impl PhysicalOptimizerRule for LimitsChooseNoRows {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| {
            if let Some(scan) = in_order(&node) {
                return Ok(Transformed::yes(scan));
            }
            match node.downcast_ref::<AggregateExec>() {
                Some(aggregate) => whole_groups(aggregate, &node),
                None => Ok(Transformed::no(node)),
            }
        })
        .data()
    }

    fn name(&self) -> &'static str {
        "limits_choose_no_rows"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The same scan, that keeps the order it promises; `None` where it does, or promises none.
fn in_order(node: &Arc<dyn ExecutionPlan>) -> Option<Arc<dyn ExecutionPlan>> {
    let scan = node.downcast_ref::<DataSourceExec>()?;
    let scan = scan.data_source().downcast_ref::<FileScanConfig>()?;
    if scan.preserve_order || scan.output_ordering.is_empty() {
        return None;
    }
    let scan = FileScanConfigBuilder::from(scan.clone()).with_preserve_order(true);
    Some(DataSourceExec::from_data_source(scan.build()))
}

/// The same aggregation, of all rows of its groups.
fn whole_groups(
    aggregate: &AggregateExec,
    node: &Arc<dyn ExecutionPlan>,
) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    let mut node = Transformed::no(Arc::clone(node));
    let limit = aggregate.limit_options();
    if limit.is_some_and(|limit| limit.descending().is_none())
        && !aggregate.is_unordered_unfiltered_group_by_distinct()
    {
        node = Transformed::yes(Arc::new(aggregate.with_new_limit_options(None)));
    }
    if aggregate.mode().input_mode() == AggregateInputMode::Partial {
        let input = every_row(Arc::clone(aggregate.input()))?;
        if input.transformed {
            node = Transformed::yes(replace_children_if_necessary(node.data, vec![input.data])?);
        }
    }
    Ok(node)
}

/// What comes of the stage before, without limits.
fn every_row(node: Arc<dyn ExecutionPlan>) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    node.transform_down(|node| {
        let sort = node.downcast_ref::<SortExec>();
        let limited = sort.filter(|sort| sort.fetch().is_some());
        if let Some(sort) = limited {
            return Ok(Transformed::yes(Arc::new(sort.with_fetch(None)) as _));
        }
        let below = match node.is::<AggregateExec>() {
            true => TreeNodeRecursion::Jump,
            false => TreeNodeRecursion::Continue,
        };
        Ok(Transformed::new(node, false, below))
    })
}

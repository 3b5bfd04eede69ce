//! A LIMIT changes how many rows there are, not which ones.
//!
//! DataFusion 55 hands limits down the plan, and forgets on the way
//!
//! - that a scan has said in which order its rows come: threads take files from each other, and the merge above gives what
//!   it did not see in order ([#24272](https://github.com/apache/datafusion/issues/24272)),
//! - that rows of a DISTINCT in order need a direction of the limit, and stops
//!   ([#25350](https://github.com/apache/datafusion/issues/25350)),
//! - that NaN is no key of the table that holds the first groups, which panics, and that -0.0 is the key 0.0.
//!
//! Upstream: <https://github.com/apache/datafusion/issues/24272>, <https://github.com/apache/datafusion/issues/25350>; NaN not filed, docs/dev/upstream/unordered_limits.md

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult as _, TreeNode as _};
use datafusion::datasource::physical_plan::{FileScanConfig, FileScanConfigBuilder};
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;

use crate::query::functions::has_floats;

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
            let aggregate = node.downcast_ref::<AggregateExec>();
            match aggregate.and_then(whole_groups) {
                Some(whole) => Ok(Transformed::yes(whole)),
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

/// The same aggregation, of all rows of its groups; `None` where it is that.
fn whole_groups(aggregate: &AggregateExec) -> Option<Arc<dyn ExecutionPlan>> {
    let limit = aggregate.limit_options()?;
    let is_wrong = match limit.descending() {
        Some(_) => {
            let input = aggregate.input().schema();
            let mut keys = aggregate.group_expr().expr().iter();
            keys.any(|(key, _)| key.data_type(&input).is_ok_and(|kind| has_floats(&kind)))
        }
        None => !aggregate.is_unordered_unfiltered_group_by_distinct(),
    };
    is_wrong.then(|| Arc::new(aggregate.with_new_limit_options(None)) as _)
}

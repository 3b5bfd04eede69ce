//! Keeps results under a LIMIT correct: it may only reduce the number of rows.
//!
//! DataFusion 55 pushes limits down the plan, and then ignores
//!
//! - that a scan has an output order: threads steal files from each other, and the merge above returns rows of inputs
//!   that are not sorted ([#24272](https://github.com/apache/datafusion/issues/24272)),
//! - that a limit needs a direction for sorted DISTINCT rows, and fails
//!   ([#25350](https://github.com/apache/datafusion/issues/25350)),
//! - that NaN cannot be a key of the top-k hash table, which panics, and that -0.0 equals the key 0.0.
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

use tsql_functions::has_floats;

/// Restores scan order and complete groups below limits. Runs after all other rules.
#[derive(Debug)]
pub(super) struct UnorderedLimits;

impl PhysicalOptimizerRule for UnorderedLimits {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| {
            if let Some(scan) = with_preserved_order(&node) {
                return Ok(Transformed::yes(scan));
            }
            let aggregate = node.downcast_ref::<AggregateExec>();
            match aggregate.and_then(without_group_limit) {
                Some(whole) => Ok(Transformed::yes(whole)),
                None => Ok(Transformed::no(node)),
            }
        })
        .data()
    }

    fn name(&self) -> &'static str {
        "limits"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Returns the scan with its order preserved; `None` if it already is, or has no order.
fn with_preserved_order(node: &Arc<dyn ExecutionPlan>) -> Option<Arc<dyn ExecutionPlan>> {
    let scan = node.downcast_ref::<DataSourceExec>()?;
    let scan = scan.data_source().downcast_ref::<FileScanConfig>()?;
    if scan.preserve_order || scan.output_ordering.is_empty() {
        return None;
    }
    let scan = FileScanConfigBuilder::from(scan.clone()).with_preserve_order(true);
    Some(DataSourceExec::from_data_source(scan.build()))
}

/// Returns the aggregation without its limit; `None` if it has none or it is correct.
fn without_group_limit(aggregate: &AggregateExec) -> Option<Arc<dyn ExecutionPlan>> {
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

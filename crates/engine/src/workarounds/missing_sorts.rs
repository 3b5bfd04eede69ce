//! Adds a sort to inputs that are not known to have the required order.
//!
//! DataFusion 55 sorts each input of a union separately, and omits keys that are constant or equal there. The
//! properties of the union are then weaker than those of its inputs, and DataFusion rejects its own plan: "does not
//! satisfy order requirements".
//!
//! Upstream: not filed, docs/dev/upstream/missing_sorts.md

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult as _, TreeNode as _};
use datafusion::physical_expr::LexOrdering;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties as _};

/// Name of DataFusion's rule that rejects plans.
pub(super) const SANITY_CHECK_PLAN: &str = "SanityCheckPlan";

/// Adds missing sorts.
#[derive(Debug)]
pub(super) struct MissingSorts;

impl PhysicalOptimizerRule for MissingSorts {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| {
            let (mut inputs, mut any) = (Vec::new(), false);
            for (input, required) in node
                .children()
                .into_iter()
                .zip(node.required_input_ordering())
            {
                let (alternatives, is_soft) = match required {
                    Some(required) => required.into_alternatives(),
                    None => (Vec::new(), true),
                };
                let known = input.equivalence_properties();
                let mut is_met = is_soft;
                for alternative in &alternatives {
                    is_met |= known.ordering_satisfy_requirement(alternative.clone())?;
                }
                let order = alternatives.into_iter().next().filter(|_| !is_met);
                any |= order.is_some();
                inputs.push(match order {
                    Some(order) => add_sort(input, LexOrdering::from(order)),
                    None => Arc::clone(input),
                });
            }
            match any {
                true => replace_children_if_necessary(node, inputs).map(Transformed::yes),
                false => Ok(Transformed::no(node)),
            }
        })
        .data()
    }

    fn name(&self) -> &'static str {
        "missing_sorts"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Returns a sort of each partition of `input`.
pub(super) fn add_sort(
    input: &Arc<dyn ExecutionPlan>,
    order: LexOrdering,
) -> Arc<dyn ExecutionPlan> {
    let partitions = input.output_partitioning().partition_count();
    let sort = SortExec::new(order, Arc::clone(input));
    Arc::new(sort.with_preserve_partitioning(partitions > 1))
}

#[cfg(test)]
mod tests {
    use super::super::tests::rows;
    use crate::context::new_context;

    #[tokio::test]
    async fn union_branches_sort_by_all_keys() {
        let context = new_context(None).unwrap();
        for view in [
            "CREATE VIEW t AS SELECT value % 4 AS a, value % 3 AS b, value AS v FROM generate_series(1, 24) AS s(value)",
            "CREATE VIEW u AS SELECT value % 5 AS a, nullif(value % 6, 3) AS b, value * 2 AS v FROM generate_series(1, 20) AS s(value)",
        ] {
            context.sql(view).await.unwrap();
        }
        // Computed by hand.
        for (sql, wanted) in [
            (
                "SELECT n, b, v FROM (SELECT 1 AS n, b, b AS v FROM t WHERE a = 1 UNION ALL SELECT 0, x.b, y.v FROM t AS x LEFT JOIN u AS y ON x.v = y.v WHERE x.a = 2) AS q ORDER BY b DESC, n DESC, v DESC NULLS LAST LIMIT 3",
                vec!["1|2|2", "1|2|2", "0|2|14"],
            ),
            (
                "SELECT n, b, v FROM (SELECT 1 AS n, v AS b, v FROM t UNION ALL SELECT 0, b, v FROM t) AS q ORDER BY b, n, v LIMIT 2",
                vec!["0|0|3", "0|0|6"],
            ),
        ] {
            for threads in [1, 2, 8] {
                let set = format!("SET datafusion.execution.target_partitions = {threads}");
                context.sql(&set).await.unwrap();
                assert_eq!(rows(&context, sql).await, wanted, "{threads}: {sql}");
            }
        }
    }
}

//! Filters by columns whose names are ambiguous stay where they are.
//!
//! DataFusion 55's `FilterPushdown` looks columns up by name in the schema of the next operator, and takes the first of that name. Both
//! sides of a join may have it, so that `WHERE coalesce(x.v, 4) > y.v` above `x RIGHT JOIN y` would compare `x.v` with itself. So the rule
//! sees a [`FilterBarrier`] above each operator whose schema has a name twice. It stops filters by columns of such a
//! name, and lets others through.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{
    Transformed, TransformedResult as _, TreeNode as _, TreeNodeRecursion,
};
use datafusion::common::{Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::filter_pushdown::{
    ChildFilterDescription, FilterDescription, FilterPushdownPhase,
};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};

/// Names of the rules that push filters down.
pub(super) const PUSH_FILTERS: [&str; 2] = ["FilterPushdown", "FilterPushdown(Post)"];

/// A rule that pushes filters down, in a plan with barriers.
#[derive(Debug)]
pub(super) struct AboveBarriers(pub(super) Arc<dyn PhysicalOptimizerRule + Send + Sync>);

impl PhysicalOptimizerRule for AboveBarriers {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let plan = plan.transform_up(|node| {
            let unique = unique_columns(&node.schema());
            Ok(if unique.len() == node.schema().fields().len() {
                Transformed::no(node)
            } else {
                Transformed::yes(Arc::new(FilterBarrier {
                    input: node,
                    unique,
                }) as _)
            })
        });
        let plan = self.0.optimize(plan.data()?, config)?;
        plan.transform_up(|node| {
            Ok(match node.downcast_ref::<FilterBarrier>() {
                Some(barrier) => Transformed::yes(Arc::clone(&barrier.input)),
                None => Transformed::no(node),
            })
        })
        .data()
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }
}

/// Returns the indices of the columns whose name no other column has.
fn unique_columns(schema: &Schema) -> HashSet<usize> {
    let mut by_name: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, field) in schema.fields().iter().enumerate() {
        by_name.entry(field.name()).or_default().push(index);
    }
    let unique = by_name.into_values().filter(|indices| indices.len() == 1);
    unique.flatten().collect()
}

/// An operator whose schema has ambiguous names, while filters are pushed down. It is never run.
#[derive(Debug)]
struct FilterBarrier {
    input: Arc<dyn ExecutionPlan>,
    unique: HashSet<usize>,
}

impl DisplayAs for FilterBarrier {
    fn fmt_as(&self, _: DisplayFormatType, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("FilterBarrier")
    }
}

impl ExecutionPlan for FilterBarrier {
    fn name(&self) -> &'static str {
        "FilterBarrier"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let [input] = <[_; 1]>::try_from(children).or_else(|children| {
            internal_err!("a filter barrier has one input, not {}", children.len())
        })?;
        let unique = self.unique.clone();
        Ok(Arc::new(Self { input, unique }))
    }

    fn execute(&self, _: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        internal_err!("a filter barrier is removed before a plan is run")
    }

    fn gather_filters_for_pushdown(
        &self,
        _: FilterPushdownPhase,
        parent_filters: Vec<Arc<dyn PhysicalExpr>>,
        _: &ConfigOptions,
    ) -> Result<FilterDescription> {
        let description = ChildFilterDescription::from_child_with_allowed_indices(
            &parent_filters,
            self.unique.clone(),
            &self.input,
        )?;
        Ok(FilterDescription::new().with_child(description))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::rows;
    use crate::query::engine::engine;

    /// Expected values are DuckDB's.
    #[tokio::test]
    async fn filters_above_outer_joins_read_the_columns_of_their_sides() {
        let context = engine(None).unwrap();
        let x = "(VALUES (1, 5)) AS x(i, v)";
        let y = "(VALUES (1, 3, 0), (2, 9, 0), (3, 1, 0)) AS y(i, v, z)";
        for (sql, expected) in [
            (
                format!(
                    "SELECT y.i FROM {x} RIGHT JOIN {y} ON x.i = y.i WHERE y.z = 0 AND coalesce(x.v, 4) > y.v ORDER BY y.i"
                ),
                ["1", "3"],
            ),
            (
                format!(
                    "SELECT y.i FROM {x} FULL JOIN {y} ON x.i = y.i WHERE y.z = 0 AND coalesce(x.v, 4) > y.v ORDER BY y.i"
                ),
                ["1", "3"],
            ),
            (
                format!(
                    "SELECT y.i FROM {y} LEFT JOIN {x} ON x.i = y.i WHERE y.z = 0 AND coalesce(x.v, 4) > y.v ORDER BY y.i"
                ),
                ["1", "3"],
            ),
            (
                format!(
                    "SELECT b FROM (SELECT x.v AS a, y.v AS b, y.z FROM {x} RIGHT JOIN {y} ON x.i = y.i) AS j WHERE z = 0 AND coalesce(a, 4) > b ORDER BY b"
                ),
                ["1", "3"],
            ),
        ] {
            for threads in [1, 4] {
                let set = format!("SET datafusion.execution.target_partitions = {threads}");
                context.sql(&set).await.unwrap();
                assert_eq!(rows(&context, &sql).await, expected, "{threads}: {sql}");
            }
        }
    }
}

//! Stops filters by columns with ambiguous names.
//!
//! DataFusion 55's `FilterPushdown` passes a filter to the input of an operator by column names, and takes the first
//! column of a name. Both sides of a join may have it, so that `WHERE coalesce(x.v, 4) > y.v` above `x RIGHT JOIN y`
//! compared `x.v` with itself. A projection looks up its expressions by name, too. So the rule sees a [`FilterBarrier`]
//! above each operator that would look up such a name. The barrier stops filters by columns of that name, and passes
//! others. Joins distinguish their sides by position.
//!
//! Upstream: <https://github.com/apache/datafusion/issues/25296>, <https://github.com/apache/datafusion/issues/21246>

use std::collections::HashSet;
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
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};

/// Names of DataFusion's rules that push filters down.
pub(super) const PUSH_FILTERS: [&str; 2] = ["FilterPushdown", "FilterPushdown(Post)"];

/// Runs a filter pushdown rule on a plan with barriers.
#[derive(Debug)]
pub(super) struct PushdownWithBarriers(pub(super) Arc<dyn PhysicalOptimizerRule + Send + Sync>);

impl PhysicalOptimizerRule for PushdownWithBarriers {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let plan = plan.transform_up(|node| {
            let ambiguous = ambiguous_lookups(&node);
            Ok(if ambiguous.is_empty() {
                Transformed::no(node)
            } else {
                let allowed = columns_except(&node.schema(), &ambiguous);
                Transformed::yes(Arc::new(FilterBarrier {
                    input: node,
                    allowed,
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

/// Returns the ambiguous names that an operator looks up when it passes on a filter.
fn ambiguous_lookups(node: &Arc<dyn ExecutionPlan>) -> HashSet<String> {
    if node.is::<ProjectionExec>() {
        return ambiguous_names(&node.schema());
    }
    let inputs = node.children().into_iter();
    inputs
        .flat_map(|input| ambiguous_names(&input.schema()))
        .collect()
}

/// Returns the names of more than one column.
fn ambiguous_names(schema: &Schema) -> HashSet<String> {
    let mut seen = HashSet::new();
    let names = schema.fields().iter().map(|field| field.name());
    names
        .filter(|name| !seen.insert(name.as_str()))
        .cloned()
        .collect()
}

/// Returns the positions of the first column of each name that is not `ambiguous`.
fn columns_except(schema: &Schema, ambiguous: &HashSet<String>) -> HashSet<usize> {
    let mut seen = HashSet::new();
    let names = schema.fields().iter().map(|field| field.name()).enumerate();
    let first = names.filter(|(_, name)| seen.insert(name.as_str()));
    first
        .filter(|(_, name)| !ambiguous.contains(*name))
        .map(|(position, _)| position)
        .collect()
}

/// Placeholder above an operator that would look up ambiguous names, during filter pushdown. It is never executed.
#[derive(Debug)]
struct FilterBarrier {
    input: Arc<dyn ExecutionPlan>,
    allowed: HashSet<usize>,
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
        let allowed = self.allowed.clone();
        Ok(Arc::new(Self { input, allowed }))
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
            self.allowed.clone(),
            &self.input,
        )?;
        Ok(FilterDescription::new().with_child(description))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::rows;
    use crate::context::new_context;

    /// Expected values are DuckDB's.
    #[tokio::test]
    async fn filters_above_outer_joins_read_the_columns_of_their_sides() {
        let context = new_context(None).unwrap();
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

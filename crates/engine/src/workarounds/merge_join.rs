//! Keeps filters of merge joins consistent with their input columns.
//!
//! ```text
//! ProjectionExec: a.k                            SortMergeJoinExec: a.k = b.k, filter x > y
//!   SortMergeJoinExec: a.k = b.k, filter x > y     ProjectionExec: a.k       <- drops x
//!     a                                     not      a
//!     b                                            ProjectionExec: b.k
//!                                                    b
//! ```
//!
//! DataFusion 55's `SortMergeJoinExec::try_swapping_with_projection` moves a projection below the join, and leaves the
//! columns of the filter at their old positions. So the rule that moves projections sees a [`GuardedJoin`] instead,
//! which moves them only if the filter can be rewritten.
//!
//! `SortMergeJoinExec` passes the columns of the left side to its filter first, then those of the right side,
//! regardless of their order in the filter. After the sides of a join were swapped, the filter has them in the reverse
//! order. So filters are rewritten to the expected order.
//!
//! A row without a match is passed to the filter, too, with NULL in the columns of the other side. If the filter's
//! schema declares them as not nullable, the join fails.
//!
//! Upstream: <https://github.com/apache/datafusion/issues/24414>, <https://github.com/apache/datafusion/pull/25489>

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::{Fields, Schema};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{
    Transformed, TransformedResult as _, TreeNode as _, TreeNodeRecursion,
};
use datafusion::common::{JoinSide, Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{OrderingRequirements, PhysicalExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::joins::SortMergeJoinExec;
use datafusion::physical_plan::joins::utils::{JoinFilter, build_join_schema};
use datafusion::physical_plan::projection::{
    ProjectionExec, try_pushdown_through_join_with_column_indices,
};
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, InputDistributionRequirements, PlanProperties,
};

use delegate::delegate;

use super::placeholders::optimize_with_placeholders;

/// Name of DataFusion's rule that moves projections.
pub(super) const PROJECTION_PUSHDOWN: &str = "ProjectionPushdown";

/// Runs the projection pushdown on a plan with guarded merge joins.
#[derive(Debug)]
pub(super) struct GuardMergeJoins(pub(super) Arc<dyn PhysicalOptimizerRule + Send + Sync>);

impl PhysicalOptimizerRule for GuardMergeJoins {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let hide = |node: &Arc<dyn ExecutionPlan>| match node.downcast_ref::<SortMergeJoinExec>() {
            Some(join) => {
                let join = Arc::new(with_ordered_filter(join)?);
                Ok(Some(Arc::new(GuardedJoin(join)) as _))
            }
            None => Ok(None),
        };
        let restore = |node: &Arc<dyn ExecutionPlan>| {
            let guarded = node.downcast_ref::<GuardedJoin>()?;
            Some(Arc::clone(&guarded.0))
        };
        optimize_with_placeholders(self.0.as_ref(), plan, config, hide, restore)
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }
}

/// Returns the join with left columns first in its filter, and all filter columns nullable.
fn with_ordered_filter(join: &SortMergeJoinExec) -> Result<SortMergeJoinExec> {
    SortMergeJoinExec::try_new(
        Arc::clone(join.left()),
        Arc::clone(join.right()),
        join.on().to_vec(),
        join.filter().as_ref().map(left_first).transpose()?,
        join.join_type(),
        join.sort_options().to_vec(),
        join.null_equality(),
    )
}

/// Returns the filter with the columns of the left side first.
fn left_first(filter: &JoinFilter) -> Result<JoinFilter> {
    let fields = filter.schema().fields().iter();
    let fields = fields.map(|field| field.as_ref().clone().with_nullable(true));
    let columns = fields.zip(filter.column_indices()).enumerate();
    let (mut ordered, others): (Vec<_>, Vec<_>) =
        columns.partition(|(_, (_, column))| column.side == JoinSide::Left);
    ordered.extend(others);
    let places: Vec<usize> = ordered.iter().map(|(place, _)| *place).collect();
    let expression = Arc::clone(filter.expression()).transform_up(|part| {
        let Some(column) = part.downcast_ref::<Column>() else {
            return Ok(Transformed::no(part));
        };
        match places.iter().position(|place| *place == column.index()) {
            Some(place) => Ok(Transformed::yes(
                Arc::new(Column::new(column.name(), place)) as Arc<dyn PhysicalExpr>,
            )),
            None => internal_err!("a filter reads column {column} of {}", places.len()),
        }
    });
    let columns = ordered.iter().map(|(_, (_, column))| (*column).clone());
    let columns = columns.collect();
    let fields = ordered.into_iter().map(|(_, (field, _))| field);
    let schema = Schema::new(fields.collect::<Fields>());
    Ok(JoinFilter::new(
        expression.data()?,
        columns,
        Arc::new(schema),
    ))
}

/// Placeholder for a merge join during projection pushdown. It is never executed.
#[derive(Debug)]
struct GuardedJoin(Arc<dyn ExecutionPlan>);

impl DisplayAs for GuardedJoin {
    fn fmt_as(&self, format: DisplayFormatType, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt_as(format, to)
    }
}

impl ExecutionPlan for GuardedJoin {
    fn name(&self) -> &'static str {
        "GuardedJoin"
    }

    delegate! {
        to self.0 {
            fn properties(&self) -> &Arc<PlanProperties>;
            fn input_distribution_requirements(&self) -> InputDistributionRequirements;
            fn required_input_ordering(&self) -> Vec<Option<OrderingRequirements>>;
            fn maintains_input_order(&self) -> Vec<bool>;
            fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>>;
            fn apply_expressions(
                &self,
                look: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
            ) -> Result<TreeNodeRecursion>;
        }
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let join = replace_children_if_necessary(Arc::clone(&self.0), children)?;
        Ok(Arc::new(Self(join)))
    }

    fn execute(&self, _: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        internal_err!("a guarded join is replaced before a plan is run")
    }

    fn try_swapping_with_projection(
        &self,
        projection: &ProjectionExec,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let Some(join) = self.0.downcast_ref::<SortMergeJoinExec>() else {
            return Ok(None);
        };
        let (left, right) = (join.left(), join.right());
        let (_, columns) = build_join_schema(&left.schema(), &right.schema(), &join.join_type());
        let moved = try_pushdown_through_join_with_column_indices(
            projection,
            left,
            right,
            join.on(),
            &join.schema(),
            join.filter().as_ref(),
            &columns,
        )?;
        let Some(moved) = moved else {
            return Ok(None);
        };
        let join = SortMergeJoinExec::try_new(
            Arc::new(moved.projected_left_child),
            Arc::new(moved.projected_right_child),
            moved.join_on,
            moved.join_filter,
            join.join_type(),
            join.sort_options().to_vec(),
            join.null_equality(),
        )?;
        Ok(Some(Arc::new(Self(Arc::new(join)))))
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, Int32Array, RecordBatch};
    use arrow::compute::SortOptions;
    use arrow::datatypes::{DataType, Field};
    use datafusion::common::{JoinType, NullEquality};
    use datafusion::datasource::memory::MemorySourceConfig;
    use datafusion::logical_expr::Operator;
    use datafusion::physical_expr::expressions::BinaryExpr;
    use datafusion::physical_plan::collect;
    use datafusion::physical_plan::joins::utils::ColumnIndex;

    use super::super::tests::rows;
    use super::*;
    use crate::context::new_context;

    /// Two tables with columns of equal types, so that a wrong column is not noticed by its type.
    const TABLES: &str = "WITH a AS (SELECT value AS p, nullif(value % 11, 4) AS k, value * 7 % 50 AS x, value % 3 AS z FROM generate_series(1, 300) AS s(value)), \
                          b AS (SELECT value % 13 AS y, nullif(value % 11, 7) AS k, value AS q, value * 5 % 17 AS w FROM generate_series(1, 200) AS s(value))";

    /// `b.y < a.x`, as after a swap of the sides. DataFusion 55 compares `x < y` then. Once it does not, the columns
    /// need no reordering.
    #[tokio::test]
    async fn a_filter_may_name_the_right_side_first() {
        let table = |name: &str, value: i32| {
            let keys: ArrayRef = Arc::new(Int32Array::from(vec![1]));
            let values: ArrayRef = Arc::new(Int32Array::from(vec![value]));
            let rows = RecordBatch::try_from_iter([("k", keys), (name, values)]).unwrap();
            let schema = rows.schema();
            MemorySourceConfig::try_new_exec(&[vec![rows]], schema, None).unwrap()
        };
        let (a, b) = (table("x", 5), table("y", 3));
        let columns = [JoinSide::Right, JoinSide::Left];
        let columns = columns.map(|side| ColumnIndex { index: 1, side });
        let fields = ["y", "x"].map(|name| Field::new(name, DataType::Int32, false));
        let condition = BinaryExpr::new(
            Arc::new(Column::new("y", 0)),
            Operator::Lt,
            Arc::new(Column::new("x", 1)),
        );
        let filter = JoinFilter::new(
            Arc::new(condition),
            columns.to_vec(),
            Arc::new(Schema::new(fields.to_vec())),
        );
        let key = || Arc::new(Column::new("k", 0)) as _;
        let join = SortMergeJoinExec::try_new(
            a,
            b,
            vec![(key(), key())],
            Some(filter),
            JoinType::Inner,
            vec![SortOptions::default()],
            NullEquality::NullEqualsNothing,
        )
        .unwrap();
        let ordered = with_ordered_filter(&join).unwrap();
        let count = async |join: SortMergeJoinExec| {
            let context = Arc::new(TaskContext::default());
            let rows = collect(Arc::new(join), context).await.unwrap();
            rows.iter().map(RecordBatch::num_rows).sum::<usize>()
        };
        assert_eq!(count(join).await, 0);
        assert_eq!(count(ordered).await, 1);
    }

    #[tokio::test]
    #[ignore = "full tier"]
    async fn a_memory_limit_changes_no_join() {
        let plain = new_context(None).unwrap();
        // With so little memory, all joins are merge joins.
        let limited = new_context(Some(1 << 26)).unwrap();
        let set = "SET datafusion.execution.target_partitions = 3";
        limited.sql(set).await.unwrap();
        let merging = new_context(None).unwrap();
        merging
            .sql("SET datafusion.optimizer.prefer_hash_join = false")
            .await
            .unwrap();
        for join in ["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"] {
            for filter in ["a.x > b.y", "a.x > b.y AND b.w < a.p", "a.z = b.y % 3"] {
                for columns in [
                    "a.p, b.q",
                    "a.p AS x, b.q AS y, a.k",
                    "count(*)",
                    "b.q, a.p, b.k AS l",
                ] {
                    let sql = format!(
                        "{TABLES} SELECT {columns} FROM a {join} b ON a.k = b.k AND {filter} ORDER BY 1"
                    );
                    let mut wanted = rows(&plain, &sql).await;
                    wanted.sort();
                    for context in [&limited, &merging] {
                        let mut found = rows(context, &sql).await;
                        found.sort();
                        assert_eq!(found, wanted, "{sql}");
                    }
                }
            }
        }
        // A correlated NOT IN of a column with NULL is rejected by DataFusion.
        for filter in ["a.x > b.y", "b.w < a.p AND a.z = b.y % 3"] {
            for semi in [
                format!("a.k IN (SELECT b.k FROM b WHERE {filter})"),
                format!("NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND {filter})"),
            ] {
                let sql = format!("{TABLES} SELECT a.p FROM a WHERE {semi} ORDER BY 1");
                let wanted = rows(&plain, &sql).await;
                for context in [&limited, &merging] {
                    assert_eq!(rows(context, &sql).await, wanted, "{sql}");
                }
            }
        }
    }
}

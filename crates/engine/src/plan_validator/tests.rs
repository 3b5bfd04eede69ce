//! Wrong plans are rejected, and right ones pass.

use std::sync::Arc;

use datafusion::common::JoinType;
use datafusion::common::tree_node::{Transformed, TransformedResult as _, TreeNode as _};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_expr::expressions::{Column, col, lit};
use datafusion::physical_expr::{LexOrdering, Partitioning, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode, PhysicalGroupBy};
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::joins::utils::{ColumnIndex, JoinFilter};
use datafusion::physical_plan::joins::{HashJoinExec, SortMergeJoinExec};
use datafusion::physical_plan::limit::GlobalLimitExec;
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::union::UnionExec;
use datafusion::prelude::SessionContext;

use super::validate;
use crate::context::new_context;
use crate::operators::range_join::RangeJoinExec;

const ROWS: &str = "(SELECT value AS x, value % 3 AS y FROM generate_series(1, 50) AS s(value))";

async fn context() -> SessionContext {
    let context = new_context(None).unwrap();
    let set = "SET datafusion.execution.target_partitions = 2";
    context.sql(set).await.unwrap();
    context
}

/// Returns the logical and the physical plan of a query, after validating them.
async fn valid_plan(context: &SessionContext, sql: &str) -> (LogicalPlan, Arc<dyn ExecutionPlan>) {
    let frame = context.sql(sql).await.unwrap();
    let logical = frame.clone().into_optimized_plan().unwrap();
    let plan = frame.create_physical_plan().await.unwrap();
    validate(&logical, &plan).unwrap();
    (logical, plan)
}

fn validation_error(logical: &LogicalPlan, plan: &Arc<dyn ExecutionPlan>) -> String {
    validate(logical, plan).unwrap_err().strip_backtrace()
}

/// Returns the plan with a limit of `rows` below all operators of this name.
fn with_limit_below(
    plan: &Arc<dyn ExecutionPlan>,
    name: &str,
    rows: usize,
) -> Arc<dyn ExecutionPlan> {
    let plan = Arc::clone(plan).transform_up(|node| {
        if node.name() != name {
            return Ok(Transformed::no(node));
        }
        let limited = node.children().into_iter().map(|input| {
            Arc::new(GlobalLimitExec::new(Arc::clone(input), 0, Some(rows)))
                as Arc<dyn ExecutionPlan>
        });
        let limited = limited.collect();
        replace_children_if_necessary(node, limited).map(Transformed::yes)
    });
    plan.data().unwrap()
}

#[tokio::test]
async fn a_limit_below_what_sees_all_rows_is_found() {
    let context = context().await;
    for (sql, below) in [
        (
            format!("SELECT x, sum(x) OVER () FROM {ROWS} AS r ORDER BY x LIMIT 3"),
            "WindowAggExec",
        ),
        (
            format!(
                "SELECT a.x, b.y FROM {ROWS} AS a JOIN {ROWS} AS b ON a.x = b.x ORDER BY a.x LIMIT 3"
            ),
            "HashJoinExec",
        ),
        (
            format!("SELECT y, count(*) FROM {ROWS} AS r GROUP BY y ORDER BY y LIMIT 3"),
            "AggregateExec",
        ),
    ] {
        let (logical, plan) = valid_plan(&context, &sql).await;
        let wrong = validation_error(&logical, &with_limit_below(&plan, below, 3));
        assert!(wrong.contains("returns at most 3 rows below"), "{wrong}");
    }
}

#[tokio::test]
async fn a_limit_of_the_query_is_not_found() {
    let context = context().await;
    for sql in [
        format!(
            "SELECT x, sum(x) OVER () FROM (SELECT * FROM {ROWS} AS r ORDER BY y, x LIMIT 9) AS l ORDER BY x LIMIT 3"
        ),
        format!(
            "SELECT count(*) FROM (SELECT * FROM {ROWS} AS r LIMIT 9 OFFSET 2) AS a JOIN {ROWS} AS b ON a.x = b.x"
        ),
        format!(
            "SELECT x FROM {ROWS} AS r WHERE y < (SELECT max(y) FROM (SELECT y FROM {ROWS} AS i ORDER BY x LIMIT 2) AS l) ORDER BY x LIMIT 1"
        ),
        format!("SELECT x, lead(x, 2) OVER (ORDER BY x) FROM {ROWS} AS r ORDER BY x LIMIT 3"),
        format!(
            "(SELECT x FROM {ROWS} AS r ORDER BY x LIMIT 2) UNION ALL (SELECT y FROM {ROWS} AS r LIMIT 1) LIMIT 2"
        ),
    ] {
        valid_plan(&context, &sql).await;
    }
}

fn ordering(names: &[&str], plan: &Arc<dyn ExecutionPlan>) -> LexOrdering {
    let schema = plan.schema();
    let keys = names.iter().map(|name| {
        let column = col(name, &schema).unwrap();
        PhysicalSortExpr::new_default(column)
    });
    LexOrdering::new(keys).unwrap()
}

#[tokio::test]
async fn a_merge_of_unsorted_rows_is_found() {
    let context = context().await;
    let (logical, plan) = valid_plan(&context, &format!("SELECT y, x FROM {ROWS} AS r")).await;
    let parts = RepartitionExec::try_new(plan, Partitioning::RoundRobinBatch(3)).unwrap();
    let parts: Arc<dyn ExecutionPlan> = Arc::new(parts);
    let order = ordering(&["y"], &parts);
    let merge: Arc<dyn ExecutionPlan> = Arc::new(SortPreservingMergeExec::new(
        order.clone(),
        Arc::clone(&parts),
    ));
    let wrong = validation_error(&logical, &merge);
    assert!(
        wrong.contains("SortPreservingMergeExec requires an order"),
        "{wrong}"
    );
    let sorted = SortExec::new(order.clone(), Arc::clone(&parts)).with_preserve_partitioning(true);
    let merge: Arc<dyn ExecutionPlan> =
        Arc::new(SortPreservingMergeExec::new(order, Arc::new(sorted)));
    validate(&logical, &merge).unwrap();
    let on = || {
        (
            col("y", &parts.schema()).unwrap(),
            col("y", &parts.schema()).unwrap(),
        )
    };
    let join: Arc<dyn ExecutionPlan> = Arc::new(
        SortMergeJoinExec::try_new(
            Arc::clone(&parts),
            parts.clone(),
            vec![on()],
            None,
            JoinType::Inner,
            vec![Default::default()],
            datafusion::common::NullEquality::NullEqualsNothing,
        )
        .unwrap(),
    );
    assert!(validation_error(&logical, &join).contains("requires an order"));
}

#[tokio::test]
async fn a_constant_of_grouping_sets_is_found() {
    let context = context().await;
    let (logical, plan) = valid_plan(
        &context,
        &format!("SELECT y, x FROM {ROWS} AS r WHERE y = 1"),
    )
    .await;
    let schema = plan.schema();
    let keys = vec![(col("y", &schema).unwrap(), "y".to_owned())];
    let nulls = vec![(lit(1_i64), "y".to_owned())];
    let groups = PhysicalGroupBy::new(keys, nulls, vec![vec![true], vec![false]], true);
    let groups =
        AggregateExec::try_new(AggregateMode::Single, groups, vec![], vec![], plan, schema);
    let groups: Arc<dyn ExecutionPlan> = Arc::new(groups.unwrap());
    let wrong = validation_error(&logical, &groups);
    assert!(
        wrong.contains("treats `y` as constant, but adds NULL to it"),
        "{wrong}"
    );
}

#[tokio::test]
async fn a_threshold_of_partitions_that_differ_is_found() {
    let context = context().await;
    let (logical, plan) = valid_plan(&context, &format!("SELECT x, y FROM {ROWS} AS r")).await;
    let constant = |value: i64| {
        let x = Arc::new(Column::new("x", 0)) as Arc<dyn PhysicalExpr>;
        let exprs = [
            ProjectionExpr::new(lit(value), "n".to_owned()),
            ProjectionExpr::new(x, "x".to_owned()),
        ];
        Arc::new(ProjectionExec::try_new(exprs, Arc::clone(&plan)).unwrap())
            as Arc<dyn ExecutionPlan>
    };
    let union = UnionExec::try_new(vec![constant(1), constant(0)]).unwrap();
    let limited = context
        .sql(&format!("SELECT x FROM {ROWS} AS r LIMIT 3"))
        .await
        .unwrap();
    let limit = limited.into_optimized_plan().unwrap();
    for (keys, is_wrong) in [(vec!["x"], true), (vec!["n", "x"], false)] {
        let sort = SortExec::new(ordering(&keys, &union), Arc::clone(&union));
        let sort = sort.with_preserve_partitioning(true).with_fetch(Some(3));
        let merge = SortPreservingMergeExec::new(ordering(&["n", "x"], &union), Arc::new(sort));
        let merge: Arc<dyn ExecutionPlan> = Arc::new(merge.with_fetch(Some(3)));
        assert_eq!(validate(&limit, &merge).is_err(), is_wrong, "{keys:?}");
        assert!(validate(&logical, &merge).is_err());
    }
}

#[tokio::test]
async fn a_filter_of_a_range_join_that_reads_another_column_is_found() {
    let context = context().await;
    let sql = format!("SELECT a.x, b.y FROM {ROWS} AS a JOIN {ROWS} AS b ON a.x > b.x");
    let (logical, plan) = valid_plan(&context, &sql).await;
    let mut any = false;
    let broken = plan.transform_up(|node| {
        let Some(join) = node.downcast_ref::<RangeJoinExec>() else {
            return Ok(Transformed::no(node));
        };
        any = true;
        let broken = join.with_filter(|filter| {
            let columns = filter.column_indices().iter().map(|column| ColumnIndex {
                index: column.index + 7,
                side: column.side,
            });
            JoinFilter::new(
                Arc::clone(filter.expression()),
                columns.collect(),
                Arc::clone(filter.schema()),
            )
        });
        Ok(Transformed::yes(Arc::new(broken) as _))
    });
    let wrong = validation_error(&logical, &broken.data().unwrap());
    assert!(any);
    let said = "the filter of RangeJoinExec reads a column";
    assert!(wrong.contains(said), "{wrong}");
}

#[tokio::test]
async fn a_filter_that_reads_another_column_is_found() {
    let context = context().await;
    let sql =
        format!("SELECT a.x, b.y FROM {ROWS} AS a JOIN {ROWS} AS b ON a.y = b.y AND a.x > b.x");
    let (logical, plan) = valid_plan(&context, &sql).await;
    for index in [1, 7] {
        let mut any = false;
        let broken = Arc::clone(&plan).transform_up(|node| {
            let Some(join) = node.downcast_ref::<HashJoinExec>() else {
                return Ok(Transformed::no(node));
            };
            let filter = join.filter().unwrap();
            let columns = filter.column_indices().iter().map(|column| ColumnIndex {
                index: (column.index + index) % 8,
                side: column.side,
            });
            let filter = JoinFilter::new(
                Arc::clone(filter.expression()),
                columns.collect(),
                Arc::clone(filter.schema()),
            );
            any = true;
            let join = HashJoinExec::try_new(
                Arc::clone(join.left()),
                Arc::clone(join.right()),
                join.on().to_vec(),
                Some(filter),
                join.join_type(),
                None,
                *join.partition_mode(),
                join.null_equality(),
                join.null_aware,
            )?;
            Ok(Transformed::yes(Arc::new(join) as _))
        });
        let broken = broken.data().unwrap();
        assert!(any);
        let wrong = validation_error(&logical, &broken);
        assert!(
            wrong.contains("the filter of HashJoinExec reads a column"),
            "{wrong}"
        );
    }
}

//! Drops properties of columns to which an operator adds NULL, as constants.
//!
//! ```text
//! AggregateExec: ROLLUP (x)         AggregateExec: ROLLUP (x)
//!   FilterExec: x = 1        ─▶       UnionExec
//!                                       FilterExec: x = 1
//!                                       EmptyExec
//! ```
//!
//! Grouping sets add NULL to the columns that they group by, and outer joins to the columns of the side without a
//! match. DataFusion 55 still takes these columns as constant, equal to others, or ordered, as they are in the input.
//! Then `ORDER BY x` adds no sort, windows by `x` mix their partitions, and limits above select arbitrary rows. A union
//! with an empty input has no such properties, for all rules and on all workers.
//!
//! Upstream: not filed, docs/dev/upstream/null_extension.md

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult as _, TreeNode as _};
use datafusion::common::{JoinType, Result};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::projection_pushdown::ProjectionPushdown;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateInputMode, PhysicalGroupBy};
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::joins::{HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec};
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties as _};

/// Drops invalid properties before sorts are placed.
#[derive(Debug)]
pub(super) struct ForgetNullExtended;

impl PhysicalOptimizerRule for ForgetNullExtended {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| {
            if let Some(aggregate) = node.downcast_ref::<AggregateExec>() {
                return match rewrite_grouping_sets(aggregate, config)? {
                    Some(aggregate) => Ok(Transformed::yes(aggregate)),
                    None => Ok(Transformed::no(node)),
                };
            }
            let Some(extended) = extended_sides(&node) else {
                return Ok(Transformed::no(node));
            };
            let (mut inputs, mut any) = (Vec::new(), false);
            for (input, is_extended) in node.children().into_iter().zip(extended) {
                let is_forgotten = is_extended && has_constants(input, config)?;
                any |= is_forgotten;
                inputs.push(match is_forgotten {
                    true => forget_properties(input)?,
                    false => Arc::clone(input),
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
        "null_extension"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Returns the same rows without any properties but their types.
fn forget_properties(input: &Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let none: Arc<dyn ExecutionPlan> = Arc::new(EmptyExec::new(input.schema()));
    UnionExec::try_new(vec![Arc::clone(input), none])
}

/// Returns which inputs of a join are extended with NULL; `None` for other joins and operators.
fn extended_sides(node: &Arc<dyn ExecutionPlan>) -> Option<[bool; 2]> {
    let join_type = if let Some(join) = node.downcast_ref::<HashJoinExec>() {
        *join.join_type()
    } else if let Some(join) = node.downcast_ref::<SortMergeJoinExec>() {
        join.join_type()
    } else {
        *node.downcast_ref::<NestedLoopJoinExec>()?.join_type()
    };
    match join_type {
        JoinType::Left => Some([false, true]),
        JoinType::Right => Some([true, false]),
        JoinType::Full => Some([true, true]),
        _ => None,
    }
}

/// Returns the properties of a plan, and those after its projections are merged.
fn known_properties(
    plan: &Arc<dyn ExecutionPlan>,
    config: &ConfigOptions,
) -> Result<[EquivalenceProperties; 2]> {
    let together = ProjectionPushdown::new().optimize(Arc::clone(plan), config)?;
    Ok([plan, &together].map(|plan| plan.equivalence_properties().clone()))
}

/// Returns whether an input has properties that NULL makes untrue. Equal columns stay equal, because they are NULL
/// together.
fn has_constants(input: &Arc<dyn ExecutionPlan>, config: &ConfigOptions) -> Result<bool> {
    let known = known_properties(input, config)?;
    let is_computed = |known: &EquivalenceProperties| {
        let mut classes = known.eq_group().iter();
        classes.any(|class| !class.iter().all(|expr| expr.is::<Column>()))
    };
    let mut known = known.iter();
    Ok(known.any(|known| !known.constants().is_empty() || is_computed(known)))
}

/// Returns the aggregation by grouping sets over an input without properties; `None` if that is not necessary.
fn rewrite_grouping_sets(
    aggregate: &AggregateExec,
    config: &ConfigOptions,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let groups = aggregate.group_expr();
    if !groups.has_grouping_set() || aggregate.mode().input_mode() != AggregateInputMode::Raw {
        return Ok(None);
    }
    let input = aggregate.input();
    let is_known = known_properties(input, config)?
        .iter()
        .any(|known| known.output_ordering().is_some() || known.eq_group().iter().next().is_some());
    let is_computed = !groups.expr().iter().all(|(expr, _)| expr.is::<Column>());
    if !is_known && !is_computed {
        return Ok(None);
    }
    // Grouping expressions become columns of the input, because a literal is always taken as constant.
    let schema = input.schema();
    let columns = schema.fields().iter().enumerate().map(|(place, field)| {
        let column = Arc::new(Column::new(field.name(), place));
        ProjectionExpr::new(column, field.name().clone())
    });
    let mut columns: Vec<ProjectionExpr> = columns.collect();
    let mut keys = Vec::new();
    for (expr, name) in groups.expr() {
        if expr.is::<Column>() {
            keys.push((Arc::clone(expr), name.clone()));
            continue;
        }
        let key = Column::new(&format!("__group_{}", columns.len()), columns.len());
        columns.push(ProjectionExpr::new(Arc::clone(expr), key.name().to_owned()));
        keys.push((Arc::new(key) as _, name.clone()));
    }
    let computed: Arc<dyn ExecutionPlan> = match is_computed {
        true => Arc::new(ProjectionExec::try_new(columns, Arc::clone(input))?),
        false => Arc::clone(input),
    };
    let groups = PhysicalGroupBy::new(
        keys,
        groups.null_expr().to_vec(),
        groups.groups().to_vec(),
        true,
    );
    let limit = aggregate.limit_options();
    let aggregate = AggregateExec::try_new(
        *aggregate.mode(),
        Arc::new(groups),
        aggregate.aggr_expr().to_vec(),
        aggregate.filter_expr().to_vec(),
        forget_properties(&computed)?,
        aggregate.input_schema(),
    )?;
    Ok(Some(Arc::new(aggregate.with_limit_options(limit))))
}

#[cfg(test)]
mod tests {
    use super::super::tests::rows;
    use crate::context::new_context;

    const RECORDS: &str = "(SELECT value % 4 AS a, value % 3 AS b, value AS v FROM generate_series(1, 24) AS s(value))";

    #[tokio::test]
    async fn null_of_grouping_sets_is_not_the_constant() {
        let context = new_context(None).unwrap();
        // Computed by hand: of 1 to 24, six are 1 modulo 4, of which two each are 0, 1 and 2 modulo 3.
        for (sql, wanted) in [
            (
                format!(
                    "SELECT a, b, count(*) FROM {RECORDS} AS r WHERE a = 1 GROUP BY ROLLUP (a, b) ORDER BY a NULLS FIRST, b NULLS FIRST"
                ),
                vec!["||6", "1||6", "1|0|2", "1|1|2", "1|2|2"],
            ),
            (
                format!(
                    "SELECT a, b, count(*) FROM {RECORDS} AS r WHERE a = 1 GROUP BY CUBE (a, b) ORDER BY a NULLS LAST, b NULLS FIRST LIMIT 5"
                ),
                vec!["1||6", "1|0|2", "1|1|2", "1|2|2", "||6"],
            ),
            (
                format!(
                    "SELECT a, n, rank() OVER (ORDER BY a NULLS FIRST) FROM (SELECT a, count(*) AS n FROM {RECORDS} AS r WHERE a = 1 GROUP BY ROLLUP (a)) AS g ORDER BY a NULLS FIRST"
                ),
                vec!["|6|1", "1|6|2"],
            ),
            (
                format!(
                    "SELECT a, n, count(*) OVER (PARTITION BY a) FROM (SELECT a, count(*) AS n FROM {RECORDS} AS r WHERE a = 1 GROUP BY ROLLUP (a)) AS g ORDER BY a NULLS LAST"
                ),
                vec!["1|6|1", "|6|1"],
            ),
            (
                format!(
                    "SELECT c, b, count(*) FROM (SELECT 'one' AS c, b FROM {RECORDS} AS r) AS r GROUP BY GROUPING SETS ((c), (b)) ORDER BY c NULLS FIRST, b"
                ),
                vec!["|0|8", "|1|8", "|2|8", "one||24"],
            ),
            (
                format!(
                    "SELECT a, b, count(*) FROM {RECORDS} AS r WHERE a = b GROUP BY GROUPING SETS ((a), (b)) ORDER BY a NULLS FIRST, b"
                ),
                vec!["|0|2", "|1|2", "|2|2", "0||2", "1||2", "2||2"],
            ),
        ] {
            for threads in [1, 2, 8] {
                let set = format!("SET datafusion.execution.target_partitions = {threads}");
                context.sql(&set).await.unwrap();
                assert_eq!(rows(&context, &sql).await, wanted, "{threads}: {sql}");
            }
        }
    }

    #[tokio::test]
    async fn null_of_an_outer_join_is_not_the_constant() {
        let plain = new_context(None).unwrap();
        let merging = new_context(None).unwrap();
        let set = "SET datafusion.optimizer.prefer_hash_join = false";
        merging.sql(set).await.unwrap();
        let some = "(SELECT 1 AS found, v FROM (VALUES (2), (4)) AS s(v))";
        let all = "(SELECT v FROM (VALUES (1), (2), (3), (4)) AS s(v))";
        for (sql, wanted) in [
            (
                format!(
                    "SELECT found, l.v FROM {all} AS l LEFT JOIN {some} AS r ON l.v = r.v ORDER BY found NULLS FIRST, l.v"
                ),
                vec!["|1", "|3", "1|2", "1|4"],
            ),
            (
                format!(
                    "SELECT found, l.v FROM {some} AS r RIGHT JOIN {all} AS l ON l.v = r.v ORDER BY found NULLS LAST, l.v DESC LIMIT 3"
                ),
                vec!["1|4", "1|2", "|3"],
            ),
            (
                format!(
                    "SELECT found, l.v FROM {some} AS r FULL JOIN {all} AS l ON l.v = r.v AND l.v > 2 ORDER BY found NULLS LAST, l.v NULLS FIRST"
                ),
                vec!["1|", "1|4", "|1", "|2", "|3"],
            ),
            (
                format!(
                    "SELECT found, l.v FROM {all} AS l LEFT JOIN {some} AS r ON l.v < r.v AND l.v > 2 ORDER BY found NULLS FIRST, l.v"
                ),
                vec!["|1", "|2", "|4", "1|3"],
            ),
            (
                format!(
                    "SELECT found, l.v, row_number() OVER (PARTITION BY found ORDER BY l.v) FROM {all} AS l LEFT JOIN {some} AS r ON l.v = r.v ORDER BY l.v"
                ),
                vec!["|1|1", "1|2|1", "|3|2", "1|4|2"],
            ),
        ] {
            for context in [&plain, &merging] {
                for threads in [1, 2, 8] {
                    let set = format!("SET datafusion.execution.target_partitions = {threads}");
                    context.sql(&set).await.unwrap();
                    assert_eq!(rows(context, &sql).await, wanted, "{threads}: {sql}");
                }
            }
        }
    }
}

//! Computes `INTERSECT ALL` and `EXCEPT ALL` with the number of occurrences of each row.
//!
//! DataFusion joins the sides and ignores how often a row occurs. Here, equal rows are numbered on both sides, so that
//! the first occurrence matches only the first, and the second only the second:
//!
//! ```text
//!                              LeftSemi Join: x, nth
//! LeftSemi Join: x               WindowAggr: row_number() PARTITION BY x AS nth
//!   left             ─▶            left
//!   right                        WindowAggr: row_number() PARTITION BY x AS nth
//!                                  right
//! ```
//!
//! Upstream: <https://github.com/apache/datafusion/issues/12955>, <https://github.com/apache/datafusion/issues/12956>

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult as _};
use datafusion::common::{Column, JoinType, NullEquality, Result};
use datafusion::functions_window::expr_fn::row_number;
use datafusion::logical_expr::{Expr, ExprFunctionExt as _, Join, LogicalPlan, LogicalPlanBuilder};
use datafusion::optimizer::AnalyzerRule;

/// Column names of the row numbers of both sides.
const LEFT_NTH: &str = "__left_nth";
const RIGHT_NTH: &str = "__right_nth";

/// Numbers equal rows of set operations.
#[derive(Debug)]
pub(super) struct MultisetSetOperations;

impl AnalyzerRule for MultisetSetOperations {
    fn name(&self) -> &'static str {
        "set_operations"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|plan| match &plan {
            LogicalPlan::Join(join) if is_set_operation(join) => {
                join_numbered_rows(join).map(Transformed::yes)
            }
            _ => Ok(Transformed::no(plan)),
        })
        .data()
    }
}

/// Before optimization, only a set operation joins by all columns with NULL equal to NULL. Without `ALL`, its left side
/// is already distinct, and the result is correct.
fn is_set_operation(join: &Join) -> bool {
    let columns = join.left.schema().fields().len();
    matches!(join.join_type, JoinType::LeftSemi | JoinType::LeftAnti)
        && join.null_equality == NullEquality::NullEqualsNull
        && join.filter.is_none()
        && join.on.len() == columns
        && join.right.schema().fields().len() == columns
        && !matches!(join.left.as_ref(), LogicalPlan::Distinct(_))
        && !is_numbered(join)
}

/// Returns whether the sides are already numbered. A plan may be analyzed more than once, as for common table
/// expressions.
fn is_numbered(join: &Join) -> bool {
    let is_named = |expr: &Expr, name: &str| matches!(expr, Expr::Column(column) if column.relation.is_none() && column.name == name);
    join.on
        .last()
        .is_some_and(|(left, right)| is_named(left, LEFT_NTH) && is_named(right, RIGHT_NTH))
}

fn join_numbered_rows(join: &Join) -> Result<LogicalPlan> {
    let (left_keys, right_keys): (Vec<Expr>, Vec<Expr>) = join.on.iter().cloned().unzip();
    let (left, left_nth) = number_rows(&join.left, left_keys, LEFT_NTH)?;
    let (right, right_nth) = number_rows(&join.right, right_keys, RIGHT_NTH)?;
    let mut on = join.on.clone();
    on.push((left_nth, right_nth));
    let joined = Join::try_new(
        Arc::new(left),
        Arc::new(right),
        on,
        None,
        join.join_type,
        join.join_constraint,
        join.null_equality,
        join.null_aware,
    )?;
    let columns = join.schema.columns().into_iter().map(Expr::Column);
    LogicalPlanBuilder::from(LogicalPlan::Join(joined))
        .project(columns)?
        .build()
}

/// Returns `side` with the number of each row among those with the same `keys`, and the column of that number.
fn number_rows(side: &LogicalPlan, keys: Vec<Expr>, name: &str) -> Result<(LogicalPlan, Expr)> {
    let number = row_number().partition_by(keys).build()?;
    let numbered = LogicalPlanBuilder::from(side.clone()).window([number])?;
    let mut columns = numbered.schema().columns();
    let number = columns.pop().map(|number| Expr::Column(number).alias(name));
    let columns = columns.into_iter().map(Expr::Column).chain(number);
    let plan = numbered.project(columns)?.build()?;
    Ok((plan, Expr::Column(Column::new_unqualified(name))))
}

//! `INTERSECT ALL` and `EXCEPT ALL` by how often a row occurs on either side.
//!
//! DataFusion joins the sides: a row is kept, or not, however often it occurs. Numbered among its
//! equals, the first row is found again only by a first row, the second by a second one:
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

/// Names of the numbers on either side.
const LEFT_NTH: &str = "__left_nth";
const RIGHT_NTH: &str = "__right_nth";

/// The rule that numbers rows.
#[derive(Debug)]
pub(super) struct EveryRowCounts;

impl AnalyzerRule for EveryRowCounts {
    fn name(&self) -> &'static str {
        "every_row_counts"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|plan| match &plan {
            LogicalPlan::Join(join) if is_set_operation(join) => {
                numbered_join(join).map(Transformed::yes)
            }
            _ => Ok(Transformed::no(plan)),
        })
        .data()
    }
}

/// Before it is optimized, only a set operation compares all columns and takes NULLs for equal.
/// One without `ALL` has made its left side distinct, and is right as it is.
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

/// A plan is analyzed more than once: a query that is read again, as a common table is, has its numbers.
fn is_numbered(join: &Join) -> bool {
    let is_named = |expr: &Expr, name: &str| matches!(expr, Expr::Column(column) if column.relation.is_none() && column.name == name);
    join.on
        .last()
        .is_some_and(|(left, right)| is_named(left, LEFT_NTH) && is_named(right, RIGHT_NTH))
}

fn numbered_join(join: &Join) -> Result<LogicalPlan> {
    let (left_keys, right_keys): (Vec<Expr>, Vec<Expr>) = join.on.iter().cloned().unzip();
    let (left, left_nth) = numbered(&join.left, left_keys, LEFT_NTH)?;
    let (right, right_nth) = numbered(&join.right, right_keys, RIGHT_NTH)?;
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

/// `side` with the number of each row among those with the same `keys`, and that column.
fn numbered(side: &LogicalPlan, keys: Vec<Expr>, name: &str) -> Result<(LogicalPlan, Expr)> {
    let number = row_number().partition_by(keys).build()?;
    let numbered = LogicalPlanBuilder::from(side.clone()).window([number])?;
    let mut columns = numbered.schema().columns();
    let number = columns.pop().map(|number| Expr::Column(number).alias(name));
    let columns = columns.into_iter().map(Expr::Column).chain(number);
    let plan = numbered.project(columns)?.build()?;
    Ok((plan, Expr::Column(Column::new_unqualified(name))))
}

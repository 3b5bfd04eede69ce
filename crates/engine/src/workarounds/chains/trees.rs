//! Balances chains that the optimizer builds when it splits and joins conditions.

use std::ops::ControlFlow::{self, Break, Continue};
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult as _, TreeNode as _};
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator, lit};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};
use datafusion::physical_expr::{PhysicalExpr, expressions};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::{FilterExec, FilterExecBuilder};

use super::levels::levels;

/// Maximum number of terms of a chain that is not balanced.
pub const MAX_FLAT_TERMS: usize = 32;

/// Balances chains of AND and OR. Runs after all other logical rules.
#[derive(Debug)]
pub(in crate::workarounds) struct BalanceChains;

impl OptimizerRule for BalanceChains {
    fn name(&self) -> &'static str {
        "chains"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::TopDown)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        plan.map_expressions(|expr| expr.transform_down(|expr| Ok(balance(expr))))
    }
}

fn balance(expr: Expr) -> Transformed<Expr> {
    let op = match &expr {
        Expr::BinaryExpr(binary) if is_and_or_or(binary.op) => binary.op,
        _ => return Transformed::no(expr),
    };
    if levels(&expr, op) < MAX_FLAT_TERMS {
        return Transformed::no(expr);
    }
    let terms = flatten_chain(expr, |expr| match expr {
        Expr::BinaryExpr(binary) if binary.op == op => Continue([*binary.left, *binary.right]),
        other => Break(other),
    });
    let join = |left, right| {
        Expr::BinaryExpr(BinaryExpr {
            left: Box::new(left),
            op,
            right: Box::new(right),
        })
    };
    // The list of terms is never empty.
    Transformed::yes(balanced_tree(terms, join).unwrap_or_else(|| lit(true)))
}

/// Balances conditions of physical filters, which filter pushdown has joined again.
#[derive(Debug)]
pub(in crate::workarounds) struct BalanceFilters;

impl PhysicalOptimizerRule for BalanceFilters {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| {
            let Some(filter) = node.downcast_ref::<FilterExec>() else {
                return Ok(Transformed::no(node));
            };
            let Some(predicate) = balance_physical(filter.predicate()) else {
                return Ok(Transformed::no(node));
            };
            let filter = FilterExecBuilder::from(filter).with_predicate(predicate);
            Ok(Transformed::yes(Arc::new(filter.build()?)))
        })
        .data()
    }

    fn name(&self) -> &'static str {
        "filter_chains"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

type Physical = Arc<dyn PhysicalExpr>;

/// Returns the operands if the expression has this operator.
fn sides(expr: &Physical, op: Operator) -> Option<[&Physical; 2]> {
    let binary = expr.downcast_ref::<expressions::BinaryExpr>()?;
    (*binary.op() == op).then(|| [binary.left(), binary.right()])
}

/// Returns the balanced tree of a condition that is a long chain.
fn balance_physical(expr: &Physical) -> Option<Physical> {
    let op = *expr.downcast_ref::<expressions::BinaryExpr>()?.op();
    let left = std::iter::successors(Some(expr), |expr| Some(sides(expr, op)?[0]));
    if !is_and_or_or(op) || left.count() <= MAX_FLAT_TERMS {
        return None;
    }
    let terms = flatten_chain(Arc::clone(expr), |expr| match sides(&expr, op) {
        Some(sides) => Continue(sides.map(Arc::clone)),
        None => Break(expr),
    });
    let join =
        |left, right| -> Physical { Arc::new(expressions::BinaryExpr::new(left, op, right)) };
    balanced_tree(terms, join)
}

fn is_and_or_or(op: Operator) -> bool {
    matches!(op, Operator::And | Operator::Or)
}

/// Returns the terms of a chain in their order.
pub fn flatten_chain<T>(chain: T, apart: impl Fn(T) -> ControlFlow<T, [T; 2]>) -> Vec<T> {
    let (mut terms, mut waiting) = (Vec::new(), vec![chain]);
    while let Some(next) = waiting.pop() {
        match apart(next) {
            Continue([left, right]) => waiting.extend([right, left]),
            Break(term) => terms.push(term),
        }
    }
    terms
}

/// Joins neighbors in pairs, then the pairs, until one is left.
pub fn balanced_tree<T>(mut terms: Vec<T>, join: impl Fn(T, T) -> T) -> Option<T> {
    while terms.len() > 1 {
        let mut rest = terms.into_iter();
        terms = Vec::with_capacity(rest.len().div_ceil(2));
        while let Some(left) = rest.next() {
            terms.push(match rest.next() {
                Some(right) => join(left, right),
                None => left,
            });
        }
    }
    terms.pop()
}

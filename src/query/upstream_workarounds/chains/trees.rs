//! Trees of chains that the optimizer makes: of conditions that it takes apart and puts together again.

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

/// Terms of a chain that may be as deep as they stand.
pub(in crate::query) const FLAT: usize = 32;

/// The rule that makes trees of chains, after all others.
#[derive(Debug)]
pub(in crate::query::upstream_workarounds) struct Balanced;

impl OptimizerRule for Balanced {
    fn name(&self) -> &'static str {
        "chains_are_trees"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::TopDown)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        plan.map_expressions(|expr| expr.transform_down(|expr| Ok(balanced(expr))))
    }
}

fn balanced(expr: Expr) -> Transformed<Expr> {
    let op = match &expr {
        Expr::BinaryExpr(binary) if is_word(binary.op) => binary.op,
        _ => return Transformed::no(expr),
    };
    if levels(&expr, op) < FLAT {
        return Transformed::no(expr);
    }
    let terms = terms(expr, |expr| match expr {
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
    // There are some.
    Transformed::yes(tree(terms, join).unwrap_or_else(|| lit(true)))
}

/// The same of filters, whose conditions are put together once more while they are pushed down.
#[derive(Debug)]
pub(in crate::query::upstream_workarounds) struct BalancedFilters;

impl PhysicalOptimizerRule for BalancedFilters {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| {
            let Some(filter) = node.downcast_ref::<FilterExec>() else {
                return Ok(Transformed::no(node));
            };
            let Some(predicate) = balanced_physical(filter.predicate()) else {
                return Ok(Transformed::no(node));
            };
            let filter = FilterExecBuilder::from(filter).with_predicate(predicate);
            Ok(Transformed::yes(Arc::new(filter.build()?)))
        })
        .data()
    }

    fn name(&self) -> &'static str {
        "filters_are_trees"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

type Physical = Arc<dyn PhysicalExpr>;

/// The sides of a node of this operator.
fn sides(expr: &Physical, op: Operator) -> Option<[&Physical; 2]> {
    let binary = expr.downcast_ref::<expressions::BinaryExpr>()?;
    (*binary.op() == op).then(|| [binary.left(), binary.right()])
}

/// The tree of a condition that is a long chain.
fn balanced_physical(expr: &Physical) -> Option<Physical> {
    let op = *expr.downcast_ref::<expressions::BinaryExpr>()?.op();
    let left = std::iter::successors(Some(expr), |expr| Some(sides(expr, op)?[0]));
    if !is_word(op) || left.count() <= FLAT {
        return None;
    }
    let terms = terms(Arc::clone(expr), |expr| match sides(&expr, op) {
        Some(sides) => Continue(sides.map(Arc::clone)),
        None => Break(expr),
    });
    let join =
        |left, right| -> Physical { Arc::new(expressions::BinaryExpr::new(left, op, right)) };
    tree(terms, join)
}

fn is_word(op: Operator) -> bool {
    matches!(op, Operator::And | Operator::Or)
}

/// What a chain is made of, in its order.
pub(in crate::query) fn terms<T>(chain: T, apart: impl Fn(T) -> ControlFlow<T, [T; 2]>) -> Vec<T> {
    let (mut terms, mut waiting) = (Vec::new(), vec![chain]);
    while let Some(next) = waiting.pop() {
        match apart(next) {
            Continue([left, right]) => waiting.extend([right, left]),
            Break(term) => terms.push(term),
        }
    }
    terms
}

/// Neighbours in pairs, these in pairs, until one is left.
pub(in crate::query) fn tree<T>(mut terms: Vec<T>, join: impl Fn(T, T) -> T) -> Option<T> {
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

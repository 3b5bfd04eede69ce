//! Properties of window functions that physical plans hide.
//!
//! A physical window function stores the filter of `FILTER (WHERE ...)`, `IGNORE NULLS` of `lag` and similar
//! functions, and the reversed row order in private fields. The serialized plan does not carry them, and they
//! cannot be read. They follow from the logical plan.

use datafusion::common::Result;
use datafusion::common::tree_node::{TreeNode as _, TreeNodeRecursion};
use datafusion::logical_expr::expr::NullTreatment;
use datafusion::logical_expr::{
    Expr, LogicalPlan, ReversedUDWF, WindowFunctionDefinition, WindowUDF,
};
use datafusion::physical_expr::PhysicalSortExpr;

/// Direction of a sort key: ascending, and NULL before all other values.
type Direction = (bool, bool);

/// A call of a window function in a query.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Call {
    name: String,
    has_filter: bool,
    ignores_nulls: bool,
    order: Vec<Direction>,
}

/// The window functions of a query, subqueries included.
#[derive(Clone, Debug, Default)]
pub(super) struct WindowCalls(Vec<Call>);

impl WindowCalls {
    /// Collects the calls of a plan.
    pub(super) fn from_plan(plan: &LogicalPlan) -> Result<Self> {
        let mut calls = Vec::new();
        plan.apply_with_subqueries(|node| {
            node.apply_expressions(|expression| {
                expression.apply(|part| {
                    calls.extend(parse_call(part));
                    Ok(TreeNodeRecursion::Continue)
                })
            })
        })?;
        Ok(Self(calls))
    }

    /// Returns why an aggregate function over a window may have a property that is not serialized.
    pub(super) fn hidden_in_aggregate(&self, name: &str) -> Option<&'static str> {
        let mut calls = self.0.iter().filter(|call| call.name == name).peekable();
        if calls.peek().is_none() {
            return Some("call, which the query does not contain");
        }
        calls.any(|call| call.has_filter).then_some("FILTER")
    }

    /// Returns why a window function over rows in this order may have a property that is not serialized.
    pub(super) fn hidden_in_window(
        &self,
        function: &WindowUDF,
        order: &[PhysicalSortExpr],
    ) -> Option<&'static str> {
        let order = order.iter();
        let order: Vec<Direction> = order
            .map(|key| (!key.options.descending, key.options.nulls_first))
            .collect();
        let called = |name: &str, order: &[Direction]| {
            let mut calls = self.0.iter();
            calls.any(|call| call.name == name && call.order == order)
        };
        if let ReversedUDWF::Reversed(other) = function.reverse_expr() {
            let reversed = order.iter().map(|(ascending, first)| (!ascending, !first));
            if called(other.name(), &reversed.collect::<Vec<_>>()) {
                return Some("direction");
            }
        }
        if !called(function.name(), &order) {
            return Some("call, which the query does not contain");
        }
        let mut calls = self.0.iter();
        let ignores = calls.any(|call| call.name == function.name() && call.ignores_nulls);
        ignores.then_some("IGNORE NULLS")
    }
}

fn parse_call(expression: &Expr) -> Option<Call> {
    let Expr::WindowFunction(function) = expression else {
        return None;
    };
    let name = match &function.fun {
        WindowFunctionDefinition::AggregateUDF(function) => function.name(),
        WindowFunctionDefinition::WindowUDF(function) => function.name(),
    };
    let params = &function.params;
    let order = params.order_by.iter();
    Some(Call {
        name: name.to_owned(),
        has_filter: params.filter.is_some(),
        ignores_nulls: params.null_treatment == Some(NullTreatment::IgnoreNulls),
        order: order.map(|key| (key.asc, key.nulls_first)).collect(),
    })
}

//! Decorrelates scalar subqueries with conditions other than equal columns.
//!
//! ```text
//! SELECT x, (SELECT sum(y) FROM r WHERE r.k < l.k) FROM l
//!
//! Projection: x, s.value
//!   Left Join: l.k = s.c0, NULL equals NULL
//!     l
//!     SubqueryAlias: s
//!       Aggregate: GROUP BY c0, sum(y) FILTER (WHERE found) AS value
//!         Left Join: r.k < c0
//!           Aggregate: GROUP BY l.k AS c0
//!             l
//!           Projection: r.*, TRUE AS found
//!             r
//! ```
//!
//! DataFusion 55 computes an aggregate per value of the columns that must be equal, and rejects other conditions. Here
//! the aggregate is computed per combination of values of the outer columns (Neumann and Kemper, "Unnesting Arbitrary
//! Queries", BTW 2015, section 3). `ORDER BY ... LIMIT 1` becomes `first_value`.
//!
//! Upstream: <https://github.com/apache/datafusion/issues/14554>, <https://github.com/apache/datafusion/issues/5492>, <https://github.com/apache/datafusion/issues/16137>

mod head;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{
    Transformed, TransformedResult as _, TreeNode as _, TreeNodeRecursion,
};
use datafusion::common::{
    Column, DFSchema, ExprSchema as _, JoinType, NullEquality, Result, not_impl_err,
};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::{conjunction, split_conjunction};
use datafusion::logical_expr::{
    BinaryExpr, Distinct, Expr, Filter, LogicalPlan, LogicalPlanBuilder, Operator, Projection, lit,
};
use datafusion::optimizer::AnalyzerRule;

use self::head::{SubqueryHead, aggregate_name, over_input, unqualified_column};
use crate::rewrites::not_in::is_volatile;
use tsql_functions::{CANONICAL_FLOAT, has_floats};

/// Name of the column that is NULL if the subquery has no row.
const FOUND: &str = "__found";
/// Name of the column with the value.
const VALUE: &str = "__value";

/// Replaces correlated scalar subqueries by joins.
#[derive(Debug)]
pub(super) struct CorrelatedScalars;

impl AnalyzerRule for CorrelatedScalars {
    fn name(&self) -> &'static str {
        "correlated_scalars"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|node| match node {
            LogicalPlan::Filter(filter) => {
                let columns = filter.input.schema().columns();
                let mut input = filter.input.as_ref().clone();
                let predicate = join_subqueries(filter.predicate, &filter.input, &mut input)?;
                if !predicate.transformed {
                    let filter = Filter::try_new(predicate.data, filter.input)?;
                    return Ok(Transformed::no(LogicalPlan::Filter(filter)));
                }
                LogicalPlanBuilder::from(input)
                    .filter(predicate.data)?
                    .project(columns.into_iter().map(Expr::Column))?
                    .build()
                    .map(Transformed::yes)
            }
            LogicalPlan::Projection(projection) => {
                let names = NamePreserver::new_for_projection();
                let mut input = projection.input.as_ref().clone();
                let mut is_changed = false;
                let exprs = projection.expr.into_iter().map(|expr| {
                    let name = names.save(&expr);
                    let expr = join_subqueries(expr, &projection.input, &mut input)?;
                    is_changed |= expr.transformed;
                    Ok(if expr.transformed {
                        name.restore(expr.data)
                    } else {
                        expr.data
                    })
                });
                let exprs = exprs.collect::<Result<Vec<_>>>()?;
                let projection = Projection::try_new(exprs, Arc::new(input))?;
                let node = LogicalPlan::Projection(projection);
                Ok(Transformed::new_transformed(node, is_changed))
            }
            node => Ok(Transformed::no(node)),
        })
        .data()
    }
}

/// Replaces subqueries of an expression over `rows` by columns, and joins these to `input`, which has the same rows.
fn join_subqueries(
    expr: Expr,
    rows: &LogicalPlan,
    input: &mut LogicalPlan,
) -> Result<Transformed<Expr>> {
    if !expr.exists(|part| Ok(matches!(part, Expr::ScalarSubquery(_))))? {
        return Ok(Transformed::no(expr));
    }
    expr.transform_up(|part| {
        let Expr::ScalarSubquery(subquery) = &part else {
            return Ok(Transformed::no(part));
        };
        if subquery.outer_ref_columns.is_empty() {
            return Ok(Transformed::no(part));
        }
        let Some(scalar) = CorrelatedScalar::try_new(&subquery.subquery)? else {
            return Ok(Transformed::no(part));
        };
        match scalar.join_to(rows, input)? {
            Some((plan, value)) => {
                *input = plan;
                Ok(Transformed::yes(value))
            }
            None => Ok(Transformed::no(part)),
        }
    })
}

/// A correlated subquery with one value.
struct CorrelatedScalar {
    /// Value in terms of the aggregates.
    value: Expr,
    aggregates: Vec<Expr>,
    /// Conditions that refer to the outer row.
    conditions: Vec<Expr>,
    /// Rows of the subquery without these conditions.
    rows: LogicalPlan,
    /// Whether DataFusion plans the subquery too, and is wrong only if a value of no rows is folded to a constant.
    is_optional: bool,
}

impl CorrelatedScalar {
    /// Returns `None` if DataFusion plans the subquery, or if it has another form.
    fn try_new(plan: &LogicalPlan) -> Result<Option<Self>> {
        let Some(head) = SubqueryHead::try_new(plan)? else {
            return Ok(None);
        };
        let SubqueryHead {
            value,
            mut aggregates,
            input: mut node,
            is_limited,
        } = head;
        let (mut conditions, mut others) = (Vec::new(), Vec::new());
        loop {
            match node {
                LogicalPlan::Filter(filter) => {
                    for condition in split_conjunction(&filter.predicate) {
                        if condition.contains_outer() {
                            conditions.push(condition.clone());
                        } else {
                            others.push(condition.clone());
                        }
                    }
                    node = &filter.input;
                }
                LogicalPlan::Projection(_) | LogicalPlan::SubqueryAlias(_)
                    if is_correlated(node)? =>
                {
                    let exprs = aggregates.iter_mut().chain(&mut conditions);
                    for expr in exprs.chain(&mut others) {
                        *expr = over_input(std::mem::take(expr), node)?;
                    }
                    let inputs = node.inputs();
                    let [input] = inputs.as_slice() else {
                        return Ok(None);
                    };
                    node = input;
                }
                _ => break,
            }
        }
        if is_correlated(node)? || has_subquery(&conditions)? {
            return Ok(None);
        }
        // DataFusion plans equal columns, except with limits, and with values that it folds to constants.
        let is_optional = !is_limited
            && conditions.iter().all(is_column_equality)
            && !aggregates.iter().chain([&value]).any(Expr::contains_outer);
        if is_optional && is_never_constant(&value) {
            return Ok(None);
        }
        let rows = LogicalPlanBuilder::from(node.clone());
        let rows = match conjunction(others) {
            Some(others) => rows.filter(others)?,
            None => rows,
        };
        Ok(Some(Self {
            value,
            aggregates,
            conditions,
            rows: rows.build()?,
            is_optional,
        }))
    }

    /// Returns the outer columns to which the subquery refers.
    fn outer_columns(&self) -> Result<Vec<Column>> {
        let mut outer: Vec<Column> = Vec::new();
        let exprs = self.conditions.iter().chain(&self.aggregates);
        for expr in exprs.chain([&self.value]) {
            expr.apply(|part| {
                if let Expr::OuterReferenceColumn(_, column) = part
                    && !outer.contains(column)
                {
                    outer.push(column.clone());
                }
                Ok(TreeNodeRecursion::Continue)
            })?;
        }
        Ok(outer)
    }

    /// Joins the value for each of the outer `rows` to `input`; `None` if the subquery refers to other columns.
    ///
    /// # Errors
    /// If a second evaluation of `rows` could give different rows.
    fn join_to(
        self,
        rows: &LogicalPlan,
        input: &LogicalPlan,
    ) -> Result<Option<(LogicalPlan, Expr)>> {
        let outer = self.outer_columns()?;
        let is_of_rows = |column: &Column| rows.schema().has_column(column);
        if outer.is_empty() || !outer.iter().all(is_of_rows) {
            return Ok(None);
        }
        if !is_repeatable(rows, &outer)? {
            if self.is_optional {
                return Ok(None);
            }
            return not_impl_err!(
                "a correlated subquery depends on a LIMIT, a window, a sum of floats or random \
                 numbers\nhint: COPY these rows to a file, and query the file"
            );
        }
        let alias = free_alias(input.schema());
        let keys: Vec<Column> = (0..outer.len())
            .map(|number| Column::new(Some(alias.as_str()), format!("c{number}")))
            .collect();
        let inner = |expr: Expr| {
            expr.transform(|part| {
                let Expr::OuterReferenceColumn(_, column) = &part else {
                    return Ok(Transformed::no(part));
                };
                let place = outer.iter().position(|other| other == column);
                Ok(match place.and_then(|place| keys.get(place)) {
                    Some(key) => Transformed::yes(Expr::Column(key.clone())),
                    None => Transformed::no(part),
                })
            })
            .data()
        };
        // Merge joins compare the bits of floats.
        let canonical = |column: &Column| {
            let field = rows.schema().field_from_column(column)?;
            let column = Expr::Column(column.clone());
            Ok(if has_floats(field.data_type()) {
                CANONICAL_FLOAT.call(vec![column])
            } else {
                column
            })
        };
        let canonical = outer.iter().map(canonical).collect::<Result<Vec<_>>>()?;
        let named = canonical.iter().zip(&keys);
        let named = named.map(|(value, key)| value.clone().alias(&key.name));
        let combinations = LogicalPlanBuilder::from(rows.clone())
            .project(named)?
            .distinct()?
            .alias(&alias)?
            .build()?;
        let columns = self.rows.schema().columns().into_iter().map(Expr::Column);
        let found = format!("{FOUND}_{alias}");
        let found_rows = LogicalPlanBuilder::from(self.rows)
            .project(columns.chain([lit(true).alias(&found)]))?
            .build()?;
        let conditions = self.conditions.into_iter().map(inner);
        let conditions = conditions.collect::<Result<Vec<_>>>()?;
        let conditions = if conditions.is_empty() {
            vec![lit(true)]
        } else {
            conditions
        };
        let of_found = |(expr, number): (Expr, usize)| {
            let expr = filter_found(inner(expr)?, &found)?;
            Ok(expr.alias(aggregate_name(number)))
        };
        let aggregates = self.aggregates.into_iter().zip(0..).map(of_found);
        let aggregates = aggregates.collect::<Result<Vec<_>>>()?;
        let key_columns = || keys.iter().cloned().map(Expr::Column);
        let unaliased = key_columns()
            .zip(&keys)
            .map(|(key, name)| key.alias(&name.name));
        let values = LogicalPlanBuilder::from(combinations)
            .join_on(found_rows, JoinType::Left, conditions)?
            .aggregate(key_columns(), aggregates)?
            .project(unaliased.chain([inner(self.value)?.alias(VALUE)]))?
            .alias(&alias)?
            .build()?;
        let value = Expr::Column(Column::new(Some(alias.as_str()), VALUE));
        let key_of_input = |number: usize| Column::new_unqualified(format!("{alias}_c{number}"));
        let input_keys: Vec<Column> = (0..outer.len()).map(key_of_input).collect();
        let named = canonical.into_iter().zip(&input_keys);
        let named = named.map(|(value, key)| value.alias(&key.name));
        let columns = input.schema().columns().into_iter().map(Expr::Column);
        let plan = LogicalPlanBuilder::from(input.clone())
            .project(columns.chain(named))?
            .join_detailed(
                values,
                JoinType::Left,
                (input_keys, keys.clone()),
                None,
                NullEquality::NullEqualsNull,
            )?
            .build()?;
        Ok(Some((plan, value)))
    }
}

/// Filters an aggregate to rows that match the conditions.
fn filter_found(expr: Expr, found: &str) -> Result<Expr> {
    expr.transform(|part| {
        let Expr::AggregateFunction(mut call) = part else {
            return Ok(Transformed::no(part));
        };
        let mut filter = unqualified_column(found).is_not_null();
        if let Some(before) = call.params.filter.take() {
            filter = filter.and(*before);
        }
        call.params.filter = Some(Box::new(filter));
        Ok(Transformed::new(
            Expr::AggregateFunction(call),
            true,
            TreeNodeRecursion::Jump,
        ))
    })
    .data()
}

/// Returns whether two evaluations of a plan return the same values of some columns. Limits and windows choose among
/// equal rows, and sums of floats depend on the order of rows.
fn is_repeatable(plan: &LogicalPlan, columns: &[Column]) -> Result<bool> {
    let has_floats = columns.iter().any(|column| {
        let field = plan.schema().field_from_column(column);
        field.is_ok_and(|field| has_floats(field.data_type()))
    });
    let is_chosen = |node: &LogicalPlan| match node {
        LogicalPlan::TableScan(scan) => scan.fetch.is_some(),
        LogicalPlan::Sort(sort) => sort.fetch.is_some(),
        LogicalPlan::Aggregate(_) => has_floats,
        LogicalPlan::Limit(_)
        | LogicalPlan::Window(_)
        | LogicalPlan::Distinct(Distinct::On(_))
        | LogicalPlan::Extension(_) => true,
        _ => false,
    };
    let is_any = plan.exists(|node| Ok(is_chosen(node)))?;
    Ok(!is_any && !is_volatile(plan)?)
}

fn is_correlated(plan: &LogicalPlan) -> Result<bool> {
    let mut is_correlated = false;
    plan.apply_with_subqueries(|node| {
        is_correlated |= node.contains_outer_reference();
        Ok(if is_correlated {
            TreeNodeRecursion::Stop
        } else {
            TreeNodeRecursion::Continue
        })
    })?;
    Ok(is_correlated)
}

fn has_subquery(conditions: &[Expr]) -> Result<bool> {
    for condition in conditions {
        let is_subquery = |part: &Expr| {
            Ok(matches!(
                part,
                Expr::ScalarSubquery(_) | Expr::InSubquery(_) | Expr::Exists(_)
            ))
        };
        if condition.exists(is_subquery)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns whether a condition compares a column of the subquery with one of the outer row.
fn is_column_equality(condition: &Expr) -> bool {
    let Expr::BinaryExpr(BinaryExpr {
        left,
        op: Operator::Eq,
        right,
    }) = condition
    else {
        return false;
    };
    matches!(
        (left.as_ref(), right.as_ref()),
        (Expr::Column(_), Expr::OuterReferenceColumn(..))
            | (Expr::OuterReferenceColumn(..), Expr::Column(_))
    )
}

/// Returns whether no rule folds the value of a subquery to a constant, as for `count(*) IS NULL` or `0 * count(*)`.
fn is_never_constant(value: &Expr) -> bool {
    match value {
        Expr::Column(_) => true,
        Expr::Alias(alias) => is_never_constant(&alias.expr),
        Expr::Cast(cast) => is_never_constant(&cast.expr),
        Expr::Negative(value) => is_never_constant(value),
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let is_operand =
                |value: &Expr| matches!(value, Expr::Literal(..)) || is_never_constant(value);
            matches!(op, Operator::Plus | Operator::Minus | Operator::Divide)
                && (is_never_constant(left) && is_operand(right)
                    || is_operand(left) && is_never_constant(right))
        }
        _ => false,
    }
}

/// Returns an alias that no relation of a schema has.
fn free_alias(schema: &DFSchema) -> String {
    let is_taken = |name: &String| {
        let mut qualifiers = schema.iter().filter_map(|(qualifier, _)| qualifier);
        qualifiers.any(|qualifier| qualifier.table() == name)
    };
    let mut number = 0;
    loop {
        let name = format!("__scalar_{number}");
        if !is_taken(&name) {
            return name;
        }
        number += 1;
    }
}

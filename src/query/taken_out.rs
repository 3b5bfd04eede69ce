//! Numbers that groups take out of lists are taken out below the groups: they may stay in memory then, which lists are too large for.
//!
//! ```text
//! Aggregate: avg(repeats_ns[1])                  Aggregate: avg("repeats_ns[1]")
//!   Projection: repeats_ns(..) AS repeats_ns  ─▶   Projection: repeats_ns[1] AS "repeats_ns[1]"
//!                                                    Projection: repeats_ns(..) AS repeats_ns
//! ```

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::tree_node::{
    Transformed, TransformedResult as _, TreeNode as _, TreeNodeRecursion,
};
use datafusion::common::{Column, DFSchema, Result};
use datafusion::logical_expr::{Aggregate, Expr, ExprSchemable as _, LogicalPlan, Projection};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

/// Functions that take a number out of a list.
pub(super) const TAKING_OUT: [&str; 3] = ["array_element", "array_max", "array_min"];

/// The rule that takes them out below the groups.
#[derive(Debug)]
pub(super) struct TakenOut;

impl OptimizerRule for TakenOut {
    fn name(&self) -> &'static str {
        "taken_out"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::TopDown)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Aggregate(aggregate) = plan else {
            return Ok(Transformed::no(plan));
        };
        let schema = Arc::clone(aggregate.input.schema());
        let mut taken: Vec<Expr> = Vec::new();
        let mut take = |exprs: &[Expr]| -> Result<Vec<Expr>> {
            let exprs = exprs.iter().cloned();
            exprs.map(|expr| below(expr, &schema, &mut taken)).collect()
        };
        let groups = take(&aggregate.group_expr)?;
        let aggregates = take(&aggregate.aggr_expr)?;
        if taken.is_empty() {
            return Ok(Transformed::no(LogicalPlan::Aggregate(aggregate)));
        }
        let columns = schema.columns().into_iter().map(Expr::Column);
        let columns = columns.chain(taken).collect();
        let input = Projection::try_new(columns, aggregate.input)?;
        let input = Arc::new(LogicalPlan::Projection(input));
        let aggregate = Aggregate::try_new(input, groups, aggregates)?;
        Ok(Transformed::yes(LogicalPlan::Aggregate(aggregate)))
    }
}

/// The expression, with columns in the place of what is taken out of lists; each is named as it is called.
fn below(expr: Expr, schema: &DFSchema, taken: &mut Vec<Expr>) -> Result<Expr> {
    expr.transform_down(|part| {
        if !takes_out(&part, schema)? {
            return Ok(Transformed::no(part));
        }
        let name = part.schema_name().to_string();
        let column = Expr::Column(Column::new_unqualified(&name));
        let named = part.alias(name);
        if !taken.contains(&named) {
            taken.push(named);
        }
        Ok(Transformed::new(column, true, TreeNodeRecursion::Jump))
    })
    .data()
}

/// Does this take a number out of a list that is a column?
fn takes_out(expr: &Expr, schema: &DFSchema) -> Result<bool> {
    let Expr::ScalarFunction(call) = expr else {
        return Ok(false);
    };
    let Some((list @ Expr::Column(_), others)) = call.args.split_first() else {
        return Ok(false);
    };
    Ok(TAKING_OUT.contains(&call.name())
        && others
            .iter()
            .all(|other| matches!(other, Expr::Literal(..)))
        && matches!(list.get_type(schema)?, DataType::List(_))
        && expr.get_type(schema)?.is_primitive())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::sums::tests::answer;
    use crate::store::Store;

    #[tokio::test]
    async fn numbers_are_taken_out_of_lists_below_groups() {
        let context = Store::demo().await.unwrap().session().await.unwrap();
        for (sql, is_below) in [
            (
                "SELECT platform, avg(repeats_ns[1] / runtime_ns) AS mean FROM records GROUP BY platform ORDER BY 1",
                true,
            ),
            (
                "SELECT array_max(repeats_ns) > 5 AS slow, sum(array_max(repeats_ns) - array_min(repeats_ns)) AS sum FROM records GROUP BY 1",
                true,
            ),
            (
                "SELECT repeats_ns[1] AS r, count(*) FILTER (WHERE repeats_ns[2] > 1) AS n FROM records GROUP BY repeats_ns[1] ORDER BY 2, 1 LIMIT 9",
                true,
            ),
            (
                "SELECT max(repeats_ns[line % 3]) AS most FROM records",
                false,
            ),
            (
                "SELECT max(array_to_string(repeats_ns[1:2], ' ')) AS most FROM records",
                false,
            ),
        ] {
            let plan = context
                .sql(sql)
                .await
                .unwrap()
                .into_optimized_plan()
                .unwrap();
            let plan = plan.display_indent().to_string();
            let (_, below) = plan.split_once("Aggregate:").unwrap();
            let (_, below) = below.split_once('\n').unwrap();
            let is_there = below.contains("[Int64(") || below.contains("array_max(");
            assert_eq!(is_there, is_below, "{plan}");
            let named = context.sql(sql).await.unwrap();
            let names = |schema: &DFSchema| {
                schema
                    .fields()
                    .iter()
                    .map(|field| field.name().clone())
                    .collect::<Vec<_>>()
            };
            let wanted = names(named.schema());
            assert_eq!(names(named.into_optimized_plan().unwrap().schema()), wanted);
            // A list of which the plan knows nothing.
            let from = "FROM (SELECT *, array_concat(repeats_ns, []) AS l FROM records)";
            let other = sql.replace("repeats_ns", "l").replace("FROM records", from);
            assert_eq!(
                answer(&context, sql).await,
                answer(&context, &other).await,
                "{sql}"
            );
        }
    }
}

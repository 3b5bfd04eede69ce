//! Relations that depend on the columns of a query: `SUMMARIZE`, `DESCRIBE`, and `SELECT * RENAME`.
//!
//! The `statement` module rewrites them to table functions whose first argument is the query. This module plans these
//! functions.

mod describe;
mod rename;
mod summarize;

use datafusion::common::{DFSchema, Result, plan_err};
use datafusion::logical_expr::planner::{
    PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning,
};
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::scalar::ScalarValue;
use datafusion::sql::sqlparser::ast::{
    Expr as SqlExpr, FunctionArg, FunctionArgExpr, TableAlias, TableFactor,
};

/// Table function that summarizes each column of a query.
pub const SUMMARIZE: &str = "__summarize";

/// Table function that describes the columns of a query.
pub const DESCRIBE: &str = "__describe";

/// Table function that renames columns of a query. Pairs of texts follow the query: the old and the new name.
pub const RENAME: &str = "__rename";

/// Planner of these table functions.
#[derive(Debug)]
pub(crate) struct QueryRelationPlanner;

impl RelationPlanner for QueryRelationPlanner {
    fn plan_relation(
        &self,
        relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        let TableFactor::Function {
            name, args, alias, ..
        } = &relation
        else {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        };
        let plan = match name.to_string().as_str() {
            SUMMARIZE => summarize::summarize_plan(
                plan_argument(args, context)?,
                context.context_provider(),
            )?,
            DESCRIBE => describe::describe_plan(&plan_argument(args, context)?)?,
            RENAME => rename::rename_columns(
                plan_argument(args, context)?,
                &text_arguments(args, context)?,
            )?,
            _ => return Ok(RelationPlanning::Original(Box::new(relation))),
        };
        Ok(original_or_planned(plan, alias.clone()))
    }
}

fn original_or_planned(plan: LogicalPlan, alias: Option<TableAlias>) -> RelationPlanning {
    RelationPlanning::Planned(Box::new(PlannedRelation::new(plan, alias)))
}

fn argument_exprs(args: &[FunctionArg]) -> impl Iterator<Item = &SqlExpr> {
    args.iter().filter_map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    })
}

/// Plan of the query argument.
fn plan_argument(
    args: &[FunctionArg],
    context: &mut dyn RelationPlannerContext,
) -> Result<LogicalPlan> {
    let Some(SqlExpr::Subquery(subquery)) = argument_exprs(args).next() else {
        return plan_err!("expected a query");
    };
    context.plan(TableFactor::Derived {
        lateral: false,
        subquery: subquery.clone(),
        alias: None,
        sample: None,
    })
}

/// Text arguments after the query.
fn text_arguments(
    args: &[FunctionArg],
    context: &mut dyn RelationPlannerContext,
) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    for expr in argument_exprs(args).skip(1) {
        let expr = context.sql_to_expr(expr.clone(), &DFSchema::empty())?;
        if let Expr::Literal(ScalarValue::Utf8(Some(text)), _) = expr {
            texts.push(text);
        }
    }
    Ok(texts)
}

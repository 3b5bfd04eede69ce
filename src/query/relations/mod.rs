//! Relations of a query that need its columns: `SUMMARIZE`, `DESCRIBE`, and `SELECT * RENAME`.
//!
//! Text that people type has them as functions whose first argument is the query
//! (`statement`); here these are planned.

mod described;
mod renamed;
mod summarized;

use datafusion::common::{DFSchema, Result, plan_err};
use datafusion::logical_expr::planner::{
    PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning,
};
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::scalar::ScalarValue;
use datafusion::sql::sqlparser::ast::{
    Expr as SqlExpr, FunctionArg, FunctionArgExpr, TableAlias, TableFactor,
};

/// A query, of which it says what each column has.
pub(super) const SUMMARIZE: &str = "__summarize";

/// A query, of which it says which columns it has.
pub(super) const DESCRIBE: &str = "__describe";

/// A query, then pairs of texts: the name of a column, and what it is called from here on.
pub(super) const RENAME: &str = "__rename";

/// The planner of these.
#[derive(Debug)]
pub(super) struct OfQueries;

impl RelationPlanner for OfQueries {
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
            SUMMARIZE => summarized::plan(inner(args, context)?, context.context_provider())?,
            DESCRIBE => described::plan(&inner(args, context)?)?,
            RENAME => renamed::plan(inner(args, context)?, &texts(args, context)?)?,
            _ => return Ok(RelationPlanning::Original(Box::new(relation))),
        };
        Ok(planned(plan, alias.clone()))
    }
}

fn planned(plan: LogicalPlan, alias: Option<TableAlias>) -> RelationPlanning {
    RelationPlanning::Planned(Box::new(PlannedRelation::new(plan, alias)))
}

fn exprs(args: &[FunctionArg]) -> impl Iterator<Item = &SqlExpr> {
    args.iter().filter_map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    })
}

/// The plan of the query.
fn inner(args: &[FunctionArg], context: &mut dyn RelationPlannerContext) -> Result<LogicalPlan> {
    let Some(SqlExpr::Subquery(subquery)) = exprs(args).next() else {
        return plan_err!("a query is needed");
    };
    context.plan(TableFactor::Derived {
        lateral: false,
        subquery: subquery.clone(),
        alias: None,
        sample: None,
    })
}

/// The texts behind it.
fn texts(args: &[FunctionArg], context: &mut dyn RelationPlannerContext) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    for expr in exprs(args).skip(1) {
        let expr = context.sql_to_expr(expr.clone(), &DFSchema::empty())?;
        if let Expr::Literal(ScalarValue::Utf8(Some(text)), _) = expr {
            texts.push(text);
        }
    }
    Ok(texts)
}

//! `SELECT * RENAME (a AS b)`: a query with renamed columns.

use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};

/// Renames columns of a query. `names` alternates between old and new names.
pub(super) fn rename_columns(of: LogicalPlan, names: &[String]) -> Result<LogicalPlan> {
    let names = names.as_chunks::<2>().0;
    for [old, _] in names {
        if !of.schema().fields().iter().any(|field| field.name() == old) {
            return plan_err!("RENAME: no column named `{old}`");
        }
    }
    let columns = of.schema().iter().map(|(qualifier, field)| {
        let column = Expr::from((qualifier, field));
        let renamed = names.iter().find(|[old, _]| field.name() == old);
        match renamed {
            Some([_, new]) => column.alias(new),
            None => column,
        }
    });
    let columns: Vec<Expr> = columns.collect();
    LogicalPlanBuilder::from(of).project(columns)?.build()
}

//! Rewrites `(a, b) IN (SELECT x, y ...)` to `EXISTS`, and `NOT IN` to `NOT EXISTS` of rows that are not unequal.
//!
//! The two differ for NULL: `IN` is then NULL, while `EXISTS` is false. Conditions that filter rows treat both alike,
//! unless a further `NOT` encloses them.

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Query, SetExpr, TableFactor, UnaryOperator,
};

use crate::syntax::pieces::{null_expr, parse_query, strip_parentheses};
use tsql_error::{Error, Result};

/// Rewrites those parts of a condition that must be true.
pub(super) fn rewrite_conditions(condition: &mut Expr) -> Result<()> {
    let mut waiting = vec![condition];
    while let Some(expr) = waiting.pop() {
        if is_row_in(expr) {
            *expr = to_exists(std::mem::replace(expr, null_expr()), false)?;
            continue;
        }
        match expr {
            Expr::BinaryOp {
                left,
                op: BinaryOperator::And | BinaryOperator::Or,
                right,
            } => waiting.extend([left.as_mut(), right.as_mut()]),
            Expr::Nested(inner) => waiting.push(inner),
            Expr::UnaryOp {
                op: UnaryOperator::Not,
                expr: inner,
            } if is_row_in(strip_parentheses(inner)) => {
                let inner = strip_parentheses(inner).clone();
                *expr = to_exists(inner, true)?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Rewrites `x IN (VALUES (1), (2))` to `x IN (SELECT * FROM (VALUES (1), (2)) AS __values)`, because the planner
/// requires a `SELECT` as subquery.
pub(super) fn select_values(expr: &mut Expr) -> Result<()> {
    let Expr::InSubquery { subquery, .. } = expr else {
        return Ok(());
    };
    if matches!(subquery.body.as_ref(), SetExpr::Values(_)) {
        let mut selected = parse_query("SELECT * FROM (SELECT 1) AS __values")
            .map_err(|error| Error::Query(error.into()))?;
        std::mem::swap(subquery, &mut selected);
        set_subquery(subquery, selected);
    }
    Ok(())
}

fn is_row_in(expr: &Expr) -> bool {
    let Expr::InSubquery { expr, .. } = expr else {
        return false;
    };
    matches!(expr.as_ref(), Expr::Tuple(_))
}

fn row_in_error() -> Error {
    let reason = "a row in IN needs a subquery with the same number of columns\n\
        hint: EXISTS (SELECT 1 FROM (...) AS t WHERE t.x = a AND t.y = b)";
    Error::Refused(reason.to_owned())
}

fn to_exists(row_in: Expr, is_inverted: bool) -> Result<Expr> {
    let Expr::InSubquery {
        expr,
        subquery,
        negated,
    } = row_in
    else {
        return Err(row_in_error());
    };
    let negated = negated != is_inverted;
    let Expr::Tuple(values) = *expr else {
        return Err(row_in_error());
    };
    let columns: Vec<String> = (0..values.len())
        .map(|place| format!("__in_{place}"))
        .collect();
    let equal = columns.iter().zip(&values);
    let equal: Vec<String> = equal
        .map(|(column, value)| format!("__in.{column} = ({value})"))
        .collect();
    let mut condition = equal.join(" AND ");
    if negated {
        condition = format!("({condition}) IS NOT FALSE");
    }
    let sql = format!(
        "SELECT 1 FROM (SELECT 1) AS __in({}) WHERE {condition}",
        columns.join(", ")
    );
    let mut query = parse_query(&sql).map_err(|error| Error::Query(error.into()))?;
    set_subquery(&mut query, subquery);
    Ok(Expr::Exists {
        subquery: query,
        negated,
    })
}

/// Inserts the subquery of the user into the internal query.
fn set_subquery(query: &mut Query, inner: Box<Query>) {
    let SetExpr::Select(select) = query.body.as_mut() else {
        return;
    };
    let table = select.from.first_mut().map(|table| &mut table.relation);
    if let Some(TableFactor::Derived { subquery, .. }) = table {
        *subquery = inner;
    }
}

//! `(a, b) IN (SELECT x, y ...)` as `EXISTS`, `NOT IN` as `NOT EXISTS` of rows that are not unequal.
//!
//! The two differ where a value is NULL: `IN` is neither true nor false then, `EXISTS` is false. That is the
//! same for conditions that decide whether a row is kept, as long as no further `NOT` is around them.

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Query, SetExpr, TableFactor, UnaryOperator,
};

use super::super::dialect::pieces::{nothing, query, unnested};
use crate::error::{Error, Result};

/// Rewrites the parts of a condition that must be true.
pub(super) fn exists(condition: &mut Expr) -> Result<()> {
    let mut waiting = vec![condition];
    while let Some(expr) = waiting.pop() {
        if is_row_in(expr) {
            *expr = written(std::mem::replace(expr, nothing()), false)?;
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
            } if is_row_in(unnested(inner)) => {
                let inner = unnested(inner).clone();
                *expr = written(inner, true)?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// `x IN (VALUES (1), (2))` as `x IN (SELECT * FROM (VALUES (1), (2)) AS __values)`: the planner takes a subquery that selects.
pub(super) fn select_values(expr: &mut Expr) -> Result<()> {
    let Expr::InSubquery { subquery, .. } = expr else {
        return Ok(());
    };
    if matches!(subquery.body.as_ref(), SetExpr::Values(_)) {
        let mut selected = query("SELECT * FROM (SELECT 1) AS __values")
            .map_err(|error| Error::Query(error.into()))?;
        std::mem::swap(subquery, &mut selected);
        put(subquery, selected);
    }
    Ok(())
}

fn is_row_in(expr: &Expr) -> bool {
    let Expr::InSubquery { expr, .. } = expr else {
        return false;
    };
    matches!(expr.as_ref(), Expr::Tuple(_))
}

fn rejected() -> Error {
    let reason = "a row is IN a subquery of as many columns\n\
                  hint: EXISTS (SELECT 1 FROM (...) AS t WHERE t.x = a AND t.y = b)";
    Error::Refused(reason.to_owned())
}

fn written(row_in: Expr, is_inverted: bool) -> Result<Expr> {
    let Expr::InSubquery {
        expr,
        subquery,
        negated,
    } = row_in
    else {
        return Err(rejected());
    };
    let negated = negated != is_inverted;
    let Expr::Tuple(values) = *expr else {
        return Err(rejected());
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
    let mut query = query(&sql).map_err(|error| Error::Query(error.into()))?;
    put(&mut query, subquery);
    Ok(Expr::Exists {
        subquery: query,
        negated,
    })
}

/// Puts the subquery of the user into the place that was left for it.
fn put(query: &mut Query, inner: Box<Query>) {
    let SetExpr::Select(select) = query.body.as_mut() else {
        return;
    };
    let table = select.from.first_mut().map(|table| &mut table.relation);
    if let Some(TableFactor::Derived { subquery, .. }) = table {
        *subquery = inner;
    }
}

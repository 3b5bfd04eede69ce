//! `ORDER BY` by column positions.
//!
//! | input | rewritten |
//! |---|---|
//! | `ORDER BY ALL` | `ORDER BY 1, 2, 3`: the planner supports it only for plain columns, and ignores it for a `UNION` |
//! | `SELECT DISTINCT x % 3 ... ORDER BY x % 3` | `ORDER BY 1`: the column has an alias at this point, which the planner does not resolve |

use datafusion::sql::sqlparser::ast::{
    Distinct, Expr, OrderBy, OrderByExpr, OrderByKind, Query, SelectItem, SetExpr,
};

use crate::syntax::pieces::number_literal;
use tsql_error::{Error, Result};

/// Replaces the expressions of `SELECT DISTINCT` in its `ORDER BY` by their positions.
pub(super) fn order_distinct_by_position(query: &mut Query) {
    let SetExpr::Select(select) = query.body.as_ref() else {
        return;
    };
    let Some(OrderBy {
        kind: OrderByKind::Expressions(order),
        ..
    }) = &mut query.order_by
    else {
        return;
    };
    let items = select.projection.iter().map(|item| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
        _ => None,
    });
    // The planner expands the columns of `*`.
    let Some(items) = items.collect::<Option<Vec<&Expr>>>() else {
        return;
    };
    if !matches!(select.distinct, Some(Distinct::Distinct)) {
        return;
    }
    for by in order {
        let is_named = matches!(by.expr, Expr::Identifier(_) | Expr::Value(_));
        let position = items.iter().position(|item| **item == by.expr);
        if let Some(position) = position.filter(|_| !is_named) {
            by.expr = number_literal(position + 1);
        }
    }
}

/// Expands `ORDER BY ALL` to the positions of all columns.
///
/// # Errors
/// [`Error::Refused`] if the number of columns is unknown.
pub(super) fn expand_order_by_all(query: &mut Query) -> Result<()> {
    let Some(OrderBy {
        kind: OrderByKind::All(options),
        ..
    }) = &query.order_by
    else {
        return Ok(());
    };
    let Some(columns) = column_count(&query.body) else {
        // The planner expands the columns of `*`, and sorts by plain columns only.
        if let SetExpr::Select(select) = query.body.as_ref()
            && select.projection.iter().all(is_plain)
        {
            return Ok(());
        }
        let reason = "ORDER BY ALL needs explicit columns in SELECT, or `*` alone\n\
                      hint: ORDER BY 1, 2, or SELECT * FROM (SELECT ...) ORDER BY ALL";
        return Err(Error::Refused(reason.to_owned()));
    };
    let place = |place| OrderByExpr {
        expr: number_literal(place),
        options: *options,
        with_fill: None,
    };
    query.order_by = Some(OrderBy {
        kind: OrderByKind::Expressions((1..=columns).map(place).collect()),
        interpolate: None,
    });
    Ok(())
}

/// Returns whether an item of SELECT is a column, or `*`.
fn is_plain(item: &SelectItem) -> bool {
    match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
            matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_))
        }
        _ => true,
    }
}

/// Number of columns; `None` if they include `*`.
fn column_count(body: &SetExpr) -> Option<usize> {
    match body {
        SetExpr::Select(select) => {
            let is_one = |item: &SelectItem| match item {
                SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
                    !is_unnest(expr)
                }
                _ => false,
            };
            let items = &select.projection;
            items.iter().all(is_one).then_some(items.len())
        }
        SetExpr::Query(query) => column_count(&query.body),
        SetExpr::SetOperation { left, .. } => column_count(left),
        SetExpr::Values(values) => values.rows.first().map(|row| row.content.len()),
        _ => None,
    }
}

/// Returns whether an expression may produce several columns.
fn is_unnest(expr: &Expr) -> bool {
    matches!(expr, Expr::Function(call) if call.name.to_string().eq_ignore_ascii_case("unnest"))
}

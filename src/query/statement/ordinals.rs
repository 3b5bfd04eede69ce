//! `ORDER BY` by the positions of columns.
//!
//! | typed | planned |
//! |---|---|
//! | `ORDER BY ALL` | `ORDER BY 1, 2, 3`: the planner takes it of plain columns alone, and forgets it of a `UNION` |
//! | `SELECT DISTINCT x % 3 ... ORDER BY x % 3` | `ORDER BY 1`: the column has a name by now, which the planner does not find |

use datafusion::sql::sqlparser::ast::{
    Distinct, Expr, OrderBy, OrderByExpr, OrderByKind, Query, SelectItem, SetExpr,
};

use super::super::dialect::pieces::number;
use crate::error::{Error, Result};

/// Replaces the expressions of `SELECT DISTINCT` in its `ORDER BY` by their positions.
pub(super) fn of_distinct(query: &mut Query) {
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
    // The columns of a `*` are counted by the planner.
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
            by.expr = number(position + 1);
        }
    }
}

/// Writes the places of all columns.
///
/// # Errors
/// [`Error::Refused`] where they cannot be counted.
pub(super) fn count(query: &mut Query) -> Result<()> {
    let Some(OrderBy {
        kind: OrderByKind::All(options),
        ..
    }) = &query.order_by
    else {
        return Ok(());
    };
    let Some(columns) = width(&query.body) else {
        // The columns of a `*` are counted by the planner.
        if matches!(query.body.as_ref(), SetExpr::Select(_)) {
            return Ok(());
        }
        let reason = "ORDER BY ALL needs columns that are written out\nhint: ORDER BY 1, 2";
        return Err(Error::Refused(reason.to_owned()));
    };
    let place = |place| OrderByExpr {
        expr: number(place),
        options: *options,
        with_fill: None,
    };
    query.order_by = Some(OrderBy {
        kind: OrderByKind::Expressions((1..=columns).map(place).collect()),
        interpolate: None,
    });
    Ok(())
}

/// How many columns it has, where no `*` is among them.
fn width(body: &SetExpr) -> Option<usize> {
    match body {
        SetExpr::Select(select) => {
            let is_one = |item: &SelectItem| match item {
                SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
                    !unnests(expr)
                }
                _ => false,
            };
            let items = &select.projection;
            items.iter().all(is_one).then_some(items.len())
        }
        SetExpr::Query(query) => width(&query.body),
        SetExpr::SetOperation { left, .. } => width(left),
        SetExpr::Values(values) => values.rows.first().map(|row| row.content.len()),
        _ => None,
    }
}

/// It may become several columns.
fn unnests(expr: &Expr) -> bool {
    matches!(expr, Expr::Function(call) if call.name.to_string().eq_ignore_ascii_case("unnest"))
}

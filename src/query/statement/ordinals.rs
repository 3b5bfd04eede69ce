//! `ORDER BY ALL` as `ORDER BY 1, 2, 3`: the planner takes it of plain columns alone, and forgets it of a `UNION`.

use datafusion::sql::sqlparser::ast::{
    Expr, OrderBy, OrderByExpr, OrderByKind, Query, SelectItem, SetExpr,
};

use super::super::dialect::pieces::number;
use crate::error::{Error, Result};

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

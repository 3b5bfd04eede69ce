//! Names of a result's columns, each once: the planner refuses `SELECT a, a`.

use std::collections::HashSet;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Expr, Ident, SelectItem, SetExpr, visit_expressions};

use super::super::dialect::pieces::{nothing, quoted};
use super::calls;

/// Names columns that are not named: like their text where the planner would write types into it (`Int64(1)` for `1`),
/// with a number where they would be called like one before them (`a_2`).
pub(super) fn make_unique(items: &mut [SelectItem]) {
    let given = items.iter().filter_map(|item| match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(normal(alias)),
        _ => None,
    });
    let given: HashSet<String> = given.collect();
    let mut taken = HashSet::new();
    for item in items {
        let Some(name) = name(item) else {
            continue;
        };
        let is_new = taken.insert(name.clone());
        let SelectItem::UnnamedExpr(expr) = item else {
            continue;
        };
        let number = (2..).map(|number| format!("{name}_{number}"));
        let mut free = number.filter(|name| !taken.contains(name) && !given.contains(name));
        let alias = match expr {
            // All of these are called `(<subquery>)`.
            Expr::Subquery(_) if is_new => Some(name.clone()),
            _ if is_new && (calls::is_other(expr) || has_literal(expr)) => Some(name.clone()),
            _ if is_new => None,
            _ => free.next(),
        };
        if let Some(alias) = alias {
            taken.insert(alias.clone());
            *item = SelectItem::ExprWithAlias {
                expr: std::mem::replace(expr, nothing()),
                alias: quoted(&alias),
            };
        }
    }
}

/// What the planner calls it; `None` for a `*`.
fn name(item: &SelectItem) -> Option<String> {
    match item {
        SelectItem::UnnamedExpr(expr) => Some(expr_name(expr)),
        SelectItem::ExprWithAlias { alias, .. } => Some(normal(alias)),
        _ => None,
    }
}

fn expr_name(expr: &Expr) -> String {
    match expr {
        Expr::Identifier(ident) => normal(ident),
        // A cast is called like what it casts.
        Expr::Nested(inner) => expr_name(inner),
        Expr::Cast { expr: inner, .. } => expr_name(inner),
        Expr::Subquery(query) => {
            let select = match query.body.as_ref() {
                SetExpr::Select(select) => select.projection.first(),
                _ => None,
            };
            select.and_then(name).unwrap_or_else(|| expr.to_string())
        }
        other => other.to_string(),
    }
}

/// Does the planner write a literal with its type into the name? `unnest` may become several columns, and stays.
fn has_literal(expr: &Expr) -> bool {
    if matches!(expr, Expr::Function(call) if call.name.to_string().eq_ignore_ascii_case("unnest"))
    {
        return false;
    }
    let found = visit_expressions(expr, |part| match part {
        Expr::Value(_) | Expr::TypedString(_) | Expr::Interval(_) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

fn normal(ident: &Ident) -> String {
    match ident.quote_style {
        Some(_) => ident.value.clone(),
        None => ident.value.to_lowercase(),
    }
}

//! Names of a result's columns, each once: the planner refuses `SELECT a, a`.

use std::collections::HashSet;

use datafusion::sql::sqlparser::ast::{Expr, FunctionArguments, Ident, SelectItem, SetExpr};

use super::super::dialect::pieces::{nothing, quoted};
use super::calls;

/// Names columns that are not named: computed ones like their text, where the planner writes types, tables and frames into it
/// (`Int64(1)` for `1`), with a number where they would be called like one before them (`a_2`).
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
            _ if is_new && (calls::is_other(expr) || is_computed(expr)) => Some(name.clone()),
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
        other => text(other),
    }
}

/// Whether a column is computed. `unnest` may become several columns, and keeps its names.
fn is_computed(expr: &Expr) -> bool {
    match expr {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::CompoundFieldAccess { .. } => {
            false
        }
        Expr::Nested(inner) => is_computed(inner),
        // `t.user` is read as a call without parentheses.
        Expr::Function(call) => {
            !matches!(call.args, FunctionArguments::None)
                && !call.name.to_string().eq_ignore_ascii_case("unnest")
        }
        _ => true,
    }
}

/// The text of an expression; the name of a call in lower case, as SQL reads it.
fn text(expr: &Expr) -> String {
    let text = expr.to_string();
    let Expr::Function(call) = expr else {
        return text;
    };
    let name = call.name.to_string();
    match text.strip_prefix(&name) {
        Some(rest) if !name.contains('"') => name.to_ascii_lowercase() + rest,
        _ => text,
    }
}

fn normal(ident: &Ident) -> String {
    match ident.quote_style {
        Some(_) => ident.value.clone(),
        None => ident.value.to_lowercase(),
    }
}

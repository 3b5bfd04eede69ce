//! Unique names of result columns. The planner rejects `SELECT a, a`.

use std::collections::HashSet;

use datafusion::sql::sqlparser::ast::{
    AccessExpr, Expr, FunctionArguments, Ident, SelectItem, SetExpr,
};

use super::calls;
use crate::syntax::pieces::{null_expr, quoted_ident};

/// Adds aliases to columns without one.
///
/// A computed column gets its text as the name, because the planner's name contains types, tables and frames
/// (`Int64(1)` for `1`). A duplicate name gets a number (`a_2`).
pub(super) fn make_unique(items: &mut [SelectItem]) {
    let given = items.iter().filter_map(|item| match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(normalize(alias)),
        _ => None,
    });
    let given: HashSet<String> = given.collect();
    let mut taken = HashSet::new();
    for item in items {
        let Some(name) = column_name(item) else {
            continue;
        };
        let is_new = taken.insert(name.clone());
        let SelectItem::UnnamedExpr(expr) = item else {
            continue;
        };
        let number = (2..).map(|number| format!("{name}_{number}"));
        let mut free = number.filter(|name| !taken.contains(name) && !given.contains(name));
        let alias = match expr {
            // The planner names all of these `(<subquery>)`.
            Expr::Subquery(_) if is_new => Some(name.clone()),
            _ if is_new && (calls::is_rewritten(expr) || is_computed(expr)) => Some(name.clone()),
            _ if is_new => None,
            _ => free.next(),
        };
        if let Some(alias) = alias {
            taken.insert(alias.clone());
            *item = SelectItem::ExprWithAlias {
                expr: std::mem::replace(expr, null_expr()),
                alias: quoted_ident(&alias),
            };
        }
    }
}

/// Column name of the planner; `None` for `*`.
fn column_name(item: &SelectItem) -> Option<String> {
    match item {
        SelectItem::UnnamedExpr(expr) => Some(expr_name(expr)),
        SelectItem::ExprWithAlias { alias, .. } => Some(normalize(alias)),
        _ => None,
    }
}

fn expr_name(expr: &Expr) -> String {
    match expr {
        Expr::Identifier(ident) => normalize(ident),
        // A cast is named like its operand.
        Expr::Nested(inner) => expr_name(inner),
        Expr::Cast { expr: inner, .. } => expr_name(inner),
        Expr::Subquery(query) => {
            let select = match query.body.as_ref() {
                SetExpr::Select(select) => select.projection.first(),
                _ => None,
            };
            select
                .and_then(column_name)
                .unwrap_or_else(|| expr.to_string())
        }
        other => text(other),
    }
}

/// Returns whether a column is computed.
fn is_computed(expr: &Expr) -> bool {
    match expr {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => false,
        // A field of a struct has its own name, an element of a list has none.
        Expr::CompoundFieldAccess { access_chain, .. } => {
            matches!(access_chain.last(), Some(AccessExpr::Subscript(_)))
        }
        Expr::Nested(inner) => is_computed(inner),
        // `t.user` is parsed as a call without parentheses. The planner ignores an alias of `unnest(struct)`.
        Expr::Function(call) => !matches!(call.args, FunctionArguments::None),
        _ => true,
    }
}

/// Text of an expression, with the name of a call in lower case.
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

fn normalize(ident: &Ident) -> String {
    match ident.quote_style {
        Some(_) => ident.value.clone(),
        None => ident.value.to_lowercase(),
    }
}

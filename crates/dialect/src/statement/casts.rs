//! Casts whose types are part of their column names: `sum(x), sum(CAST(x AS DOUBLE))`, `GROUP BY x, CAST(x AS
//! VARCHAR)`.
//!
//! DataFusion names a cast like its operand, and rejects two groups, aggregates or windows of the same name. Such casts
//! become `named_cast(CAST(x AS DOUBLE), 'CAST AS DOUBLE')` wherever the same group or call occurs in the query.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    CastKind, Expr, GroupByExpr, Query, Select, SelectItem, SetExpr, Value, Visit, VisitMut,
    VisitorMut, visit_expressions, visit_expressions_mut,
};

use crate::syntax::pieces::{call, null_expr, quoted_ident, string_literal};
use tsql_functions::NAMED_CAST;

/// Names the casts of a query in which two groups or calls would have the same name.
pub(super) fn name_casts(query: &mut Query) {
    let SetExpr::Select(select) = query.body.as_mut() else {
        return;
    };
    let ambiguous = ambiguous_exprs(select);
    if ambiguous.is_empty() {
        return;
    }
    let mut taken: HashSet<String> = HashSet::new();
    for item in &mut select.projection {
        let given = item.to_string();
        let has_named = name_within(item, &ambiguous);
        if let SelectItem::UnnamedExpr(expr) = item
            && has_named
        {
            let mut names = (2..).map(|number| format!("{given}_{number}"));
            let other = names.find(|name| !taken.contains(name));
            let alias = match other {
                Some(other) if taken.contains(&given) => other,
                _ => given,
            };
            *item = SelectItem::ExprWithAlias {
                expr: std::mem::replace(expr, null_expr()),
                alias: quoted_ident(&alias),
            };
            taken.insert(alias);
        }
    }
    name_within(&mut select.group_by, &ambiguous);
    name_within(&mut select.having, &ambiguous);
    name_within(&mut select.qualify, &ambiguous);
    name_within(&mut query.order_by, &ambiguous);
}

/// Names the casts of ambiguous groups and calls, and returns whether there were any.
fn name_within(node: &mut impl VisitMut, ambiguous: &HashSet<Expr>) -> bool {
    let mut named = CastNamer {
        within: ambiguous,
        any: false,
    };
    node.visit(&mut named).is_continue() && named.any
}

/// Groups and calls that differ only in their casts.
fn ambiguous_exprs(select: &Select) -> HashSet<Expr> {
    if !has_cast(select) {
        return HashSet::new();
    }
    let mut columns: HashSet<Expr> = group_exprs(select).into_iter().cloned().collect();
    let visited: ControlFlow<()> = visit_expressions(select, |expr| {
        if matches!(expr, Expr::Function(_)) {
            columns.insert(expr.clone());
        }
        ControlFlow::Continue(())
    });
    if visited.is_break() {
        return HashSet::new();
    }
    let mut by_name: HashMap<String, Vec<Expr>> = HashMap::new();
    for column in columns {
        by_name.entry(plain_name(&column)).or_default().push(column);
    }
    let several = by_name.into_values().filter(|columns| columns.len() > 1);
    several.flatten().filter(has_cast).collect()
}

/// Group expressions, with ordinals and aliases resolved.
fn group_exprs(select: &Select) -> Vec<&Expr> {
    let items = || {
        select.projection.iter().filter_map(|item| match item {
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
            _ => None,
        })
    };
    let GroupByExpr::Expressions(groups, _) = &select.group_by else {
        return items().collect();
    };
    let mut found = Vec::new();
    for group in groups {
        let sets = match group {
            Expr::Rollup(sets) | Expr::Cube(sets) | Expr::GroupingSets(sets) => sets.as_slice(),
            _ => {
                found.push(group);
                &[] as &[Vec<Expr>]
            }
        };
        found.extend(sets.iter().flatten());
    }
    let stands_for = |group: &Expr| match group {
        Expr::Value(value) => match &value.value {
            Value::Number(number, _) => {
                let place: usize = number.parse().ok()?;
                items().nth(place.checked_sub(1)?)
            }
            _ => None,
        },
        Expr::Identifier(name) => select.projection.iter().find_map(|item| match item {
            SelectItem::ExprWithAlias { expr, alias } if alias == name => Some(expr),
            _ => None,
        }),
        _ => None,
    };
    found
        .into_iter()
        .map(|group| stands_for(group).unwrap_or(group))
        .collect()
}

fn has_cast(node: &impl Visit) -> bool {
    let found = visit_expressions(node, |part| match part {
        Expr::Cast { .. } => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

/// Possible column name of the planner: without casts and table qualifiers, in lower case.
fn plain_name(expr: &Expr) -> String {
    let mut expr = expr.clone();
    let visited: ControlFlow<()> = visit_expressions_mut(&mut expr, |part| {
        while let Expr::Cast { expr: inner, .. } | Expr::Nested(inner) = part {
            *part = std::mem::replace(inner.as_mut(), null_expr());
        }
        if let Expr::CompoundIdentifier(names) = part
            && let Some(last) = names.pop()
        {
            *part = Expr::Identifier(last);
        }
        ControlFlow::Continue(())
    });
    match visited {
        ControlFlow::Continue(()) | ControlFlow::Break(()) => expr.to_string().to_lowercase(),
    }
}

/// Names the casts in some expressions.
struct CastNamer<'a> {
    within: &'a HashSet<Expr>,
    any: bool,
}

impl VisitorMut for CastNamer<'_> {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if !self.within.contains(&*expr) {
            return ControlFlow::Continue(());
        }
        self.any = true;
        visit_expressions_mut(expr, |part| {
            if let Expr::Cast {
                kind, data_type, ..
            } = part
            {
                let verb = match kind {
                    CastKind::TryCast | CastKind::SafeCast => "TRY_CAST",
                    CastKind::Cast | CastKind::DoubleColon => "CAST",
                };
                let kind = string_literal(format!("{verb} AS {data_type}"));
                let cast = std::mem::replace(part, null_expr());
                *part = call(NAMED_CAST, vec![cast, kind]);
            }
            ControlFlow::Continue(())
        })
    }
}

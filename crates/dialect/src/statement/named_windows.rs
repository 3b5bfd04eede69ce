//! Replaces names of windows by their definitions.
//!
//! | input | rewritten |
//! |---|---|
//! | `sum(x) OVER (w ORDER BY i) ... WINDOW w AS (PARTITION BY g)` | `sum(x) OVER (PARTITION BY g ORDER BY i)` |
//! | `... WINDOW w AS (PARTITION BY g), v AS (w ORDER BY i)` | `v` is `(PARTITION BY g ORDER BY i)` |
//! | `QUALIFY sum(x) OVER w > 2`, `ORDER BY sum(x) OVER w` | the definition of `w` |
//!
//! DataFusion 55 ignores a name in parentheses, and replaces names in the projection only.
//!
//! Source: SQL:2016, 7.15 (window clause).

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, Ident, NamedWindowDefinition, NamedWindowExpr, OrderBy, Query, Select, SetExpr,
    VisitMut as _, VisitorMut, WindowSpec, WindowType,
};

use tsql_error::{Error, Result};

/// Replaces the names of windows in a query that is a `SELECT`, with its `ORDER BY`.
///
/// # Errors
/// [`Error::Refused`] for a name without a definition, and for a window that replaces a clause of its base.
pub(super) fn replace_in_query(query: &mut Query) -> Result<()> {
    match query.body.as_mut() {
        SetExpr::Select(select) => replace(select, query.order_by.as_mut()),
        _ => Ok(()),
    }
}

/// Replaces the names of windows in a `SELECT`.
///
/// # Errors
/// As [`replace_in_query`].
pub(super) fn replace_in_select(select: &mut Select) -> Result<()> {
    replace(select, None)
}

fn replace(select: &mut Select, order_by: Option<&mut OrderBy>) -> Result<()> {
    let mut replacement = NameReplacement {
        definitions: std::mem::take(&mut select.named_window),
        depth: 0,
    };
    let mut found = select.projection.visit(&mut replacement);
    if let (ControlFlow::Continue(()), Some(condition)) = (&found, &mut select.qualify) {
        found = condition.visit(&mut replacement);
    }
    if let (ControlFlow::Continue(()), Some(order)) = (&found, order_by) {
        found = order.visit(&mut replacement);
    }
    match found {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

/// Visitor of the expressions of a `SELECT`, without its subqueries.
struct NameReplacement {
    definitions: Vec<NamedWindowDefinition>,
    /// Number of subqueries around the visited expression.
    depth: usize,
}

impl VisitorMut for NameReplacement {
    type Break = Error;

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<Error> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<Error> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        if let Expr::Function(call) = expr
            && self.depth == 0
            && let Some(over) = &mut call.over
        {
            let window = match over {
                WindowType::NamedWindow(name) => self.definition(name, &mut Vec::new()),
                WindowType::WindowSpec(spec) => self.expand(spec, &mut Vec::new()),
            };
            match window {
                Ok(window) => *over = WindowType::WindowSpec(window),
                Err(error) => return ControlFlow::Break(error),
            }
        }
        ControlFlow::Continue(())
    }
}

impl NameReplacement {
    /// Returns the definition of a window. `users` are the windows that are defined by it.
    fn definition(&self, name: &Ident, users: &mut Vec<String>) -> Result<WindowSpec> {
        let normalized = normalize(name);
        let mut definitions = self.definitions.iter();
        let definition = definitions.find(|definition| normalize(&definition.0) == normalized);
        let Some(NamedWindowDefinition(_, window)) = definition else {
            return Err(Error::Refused(format!(
                "there is no window `{normalized}`\nhint: WINDOW {normalized} AS (PARTITION BY ...) after FROM and WHERE"
            )));
        };
        if users.contains(&normalized) {
            return Err(Error::Refused(format!(
                "the window `{normalized}` is defined by itself"
            )));
        }
        users.push(normalized);
        match window {
            NamedWindowExpr::NamedWindow(name) => self.definition(name, users),
            NamedWindowExpr::WindowSpec(spec) => self.expand(spec, users),
        }
    }

    /// Returns a window with the clauses of its base.
    fn expand(&self, spec: &WindowSpec, users: &mut Vec<String>) -> Result<WindowSpec> {
        let mut window = spec.clone();
        let Some(name) = window.window_name.take() else {
            return Ok(window);
        };
        let base = self.definition(&name, users)?;
        let conflict = if base.window_frame.is_some() {
            Some("has a frame, and cannot be the base of another window")
        } else if !window.partition_by.is_empty() && !base.partition_by.is_empty() {
            Some("has a PARTITION BY already")
        } else if !window.order_by.is_empty() && !base.order_by.is_empty() {
            Some("has an ORDER BY already")
        } else {
            None
        };
        if let Some(conflict) = conflict {
            return Err(Error::Refused(format!(
                "the window `{}` {conflict}",
                normalize(&name)
            )));
        }
        if window.partition_by.is_empty() {
            window.partition_by = base.partition_by;
        }
        if window.order_by.is_empty() {
            window.order_by = base.order_by;
        }
        Ok(window)
    }
}

pub(super) fn normalize(name: &Ident) -> String {
    match name.quote_style {
        Some(_) => name.value.clone(),
        None => name.value.to_lowercase(),
    }
}

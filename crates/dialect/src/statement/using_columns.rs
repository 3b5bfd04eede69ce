//! Gives columns of `USING` their value in each kind of join.
//!
//! | input | rewritten |
//! |---|---|
//! | `SELECT k FROM a RIGHT JOIN b USING (k)` | `SELECT b.k AS k ...` |
//! | `SELECT * FROM a FULL JOIN b USING (k)` | `SELECT * REPLACE (coalesce(a.k, b.k) AS k) ...` |
//! | `SELECT count(*) FROM a JOIN b USING (k) WHERE k > 0` | `... WHERE a.k > 0` |
//!
//! | `SELECT k FROM a JOIN b USING (k) JOIN c USING (k)` | `SELECT a.k AS k ...` |
//!
//! DataFusion 55 takes the column of the left table, which is NULL for rows of the right table only. It rejects the
//! name in `WHERE`, and everywhere if three tables have the column.
//!
//! A `JOIN` without a condition is rejected, as by DuckDB and PostgreSQL. DataFusion computes all pairs of rows, also for
//! `a POSITIONAL JOIN b`, where it reads `POSITIONAL` as a name of `a`.
//!
//! Source: SQL:2016, 7.10 (joined table), syntax rule 11.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, Ident, JoinConstraint, JoinOperator, ObjectName, OrderBy, Query, ReplaceSelectElement,
    ReplaceSelectItem, Select, SelectItem, SetExpr, TableFactor, TableWithJoins, VisitMut,
    VisitorMut, WildcardAdditionalOptions,
};

use super::named_windows::normalize;
use crate::syntax::pieces::call;
use tsql_error::{Error, Result};

/// Replaces columns of `USING` in a query that is a `SELECT`, with its `ORDER BY`.
///
/// # Errors
/// [`Error::Refused`] for an outer join whose common columns have no known table.
pub(super) fn replace_in_query(query: &mut Query) -> Result<()> {
    match query.body.as_mut() {
        SetExpr::Select(select) => replace(select, query.order_by.as_mut()),
        _ => Ok(()),
    }
}

/// Replaces columns of `USING` in a `SELECT`.
///
/// # Errors
/// As [`replace_in_query`].
pub(super) fn replace_in_select(select: &mut Select) -> Result<()> {
    replace(select, None)
}

fn replace(select: &mut Select, order_by: Option<&mut OrderBy>) -> Result<()> {
    let mut columns = Vec::new();
    for from in &mut select.from {
        columns.extend(common_columns(from)?);
    }
    if columns.is_empty() {
        return Ok(());
    }
    if let Some(condition) = &mut select.selection {
        replace_names(condition, &columns);
    }
    columns.retain(|column| column.is_outer || column.is_repeated);
    if columns.is_empty() {
        return Ok(());
    }
    if let Some(order) = order_by
        && !columns.iter().any(|column| is_output(select, column))
    {
        replace_names(order, &columns);
    }
    for item in &mut select.projection {
        replace_in_item(item, &columns);
    }
    replace_names(&mut select.group_by, &columns);
    replace_names(&mut select.distinct, &columns);
    for condition in [&mut select.having, &mut select.qualify] {
        replace_names(condition, &columns);
    }
    Ok(())
}

/// A column that two joined tables have in common.
#[derive(Clone)]
struct CommonColumn {
    name: Ident,
    value: Expr,
    /// Whether the column of the left table may be NULL where this one is not.
    is_outer: bool,
    /// Whether more than two tables have the column.
    is_repeated: bool,
}

impl CommonColumn {
    fn is_named(&self, name: &Ident) -> bool {
        normalize(&self.name) == normalize(name)
    }
}

/// Returns the columns of `USING`, and replaces earlier ones in conditions of later joins.
fn common_columns(from: &mut TableWithJoins) -> Result<Vec<CommonColumn>> {
    let mut columns = factor_columns(&mut from.relation)?;
    let mut table = qualifier(&from.relation);
    for join in &mut from.joins {
        columns.extend(factor_columns(&mut join.relation)?);
        let right = qualifier(&join.relation);
        let Some((constraint, side)) = constraint(&mut join.join_operator) else {
            table = None;
            continue;
        };
        match constraint {
            JoinConstraint::On(condition) => replace_names(condition, &columns),
            JoinConstraint::Natural if side != Side::Left => {
                return Err(Error::Refused(
                    "NATURAL RIGHT JOIN and NATURAL FULL JOIN are not supported\n\
                     hint: JOIN ... USING (column, ...)"
                        .to_owned(),
                ));
            }
            JoinConstraint::Using(names) => {
                for name in names.iter().filter_map(last_part) {
                    let earlier = columns.iter().position(|column| column.is_named(name));
                    let earlier = earlier.map(|place| columns.remove(place));
                    if earlier.as_ref().is_some_and(|column| column.is_outer) {
                        // DataFusion would join by the column of the first table.
                        return Err(Error::Refused(format!(
                            "`{name}` is in USING again after a RIGHT or FULL JOIN, which is not supported\n\
                             hint: FROM (SELECT * FROM a FULL JOIN b USING ({name})) AS t JOIN c USING ({name})"
                        )));
                    }
                    let is_repeated = earlier.is_some();
                    let left = match earlier {
                        Some(column) => Some(column.value),
                        None => table.as_ref().map(|table| qualified(table, name)),
                    };
                    let right = right.as_ref().map(|table| qualified(table, name));
                    let merged = merge(name, side, left, right)?;
                    columns.extend(merged.map(|column| CommonColumn {
                        is_repeated,
                        ..column
                    }));
                }
            }
            JoinConstraint::None => {
                return Err(Error::Refused(
                    "JOIN has no condition, expected ON or USING\n\
                     hint: CROSS JOIN returns all pairs of rows"
                        .to_owned(),
                ));
            }
            JoinConstraint::Natural => {}
        }
        table = None;
    }
    Ok(columns)
}

/// Columns of `USING` of a join in parentheses.
fn factor_columns(factor: &mut TableFactor) -> Result<Vec<CommonColumn>> {
    match factor {
        TableFactor::NestedJoin {
            table_with_joins,
            alias: None,
        } => common_columns(table_with_joins),
        _ => Ok(Vec::new()),
    }
}

/// Side of a join whose rows all have the column.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
    Neither,
}

fn constraint(operator: &mut JoinOperator) -> Option<(&mut JoinConstraint, Side)> {
    match operator {
        JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint)
        | JoinOperator::Semi(constraint)
        | JoinOperator::LeftSemi(constraint)
        | JoinOperator::Anti(constraint)
        | JoinOperator::LeftAnti(constraint) => Some((constraint, Side::Left)),
        JoinOperator::Right(constraint) | JoinOperator::RightOuter(constraint) => {
            Some((constraint, Side::Right))
        }
        JoinOperator::FullOuter(constraint) => Some((constraint, Side::Neither)),
        _ => None,
    }
}

/// Returns the common column of a join, or `None` if DataFusion finds its value.
fn merge(
    name: &Ident,
    side: Side,
    left: Option<Expr>,
    right: Option<Expr>,
) -> Result<Option<CommonColumn>> {
    let value = match (side, left, right) {
        (Side::Left, Some(left), _) => left,
        (Side::Left, None, _) => return Ok(None),
        (Side::Right, _, Some(right)) => right,
        (Side::Neither, Some(left), Some(right)) => call("coalesce", vec![left, right]),
        _ => {
            return Err(Error::Refused(format!(
                "the table of `{name}` is not known, which an outer join with USING needs\n\
                 hint: give each table an alias, and join it with the tables that have `{name}`"
            )));
        }
    };
    Ok(Some(CommonColumn {
        name: name.clone(),
        is_repeated: false,
        is_outer: side != Side::Left || matches!(value, Expr::Function(_)),
        value,
    }))
}

/// Name of a table in an expression; `None` for files and joins in parentheses.
fn qualifier(factor: &TableFactor) -> Option<Vec<Ident>> {
    match factor {
        TableFactor::Table {
            alias: Some(alias), ..
        }
        | TableFactor::Derived {
            alias: Some(alias), ..
        }
        | TableFactor::TableFunction {
            alias: Some(alias), ..
        }
        | TableFactor::Function {
            alias: Some(alias), ..
        } => Some(vec![alias.name.clone()]),
        TableFactor::Table { name, .. } => {
            let parts = name.0.iter().map(|part| part.as_ident().cloned());
            let parts: Vec<Ident> = parts.collect::<Option<_>>()?;
            let is_file = |part: &Ident| part.value.contains(['.', '/']);
            (!parts.iter().any(is_file)).then_some(parts)
        }
        _ => None,
    }
}

fn qualified(table: &[Ident], name: &Ident) -> Expr {
    Expr::CompoundIdentifier(table.iter().chain([name]).cloned().collect())
}

fn last_part(name: &ObjectName) -> Option<&Ident> {
    name.0.last()?.as_ident()
}

/// Returns whether a `SELECT` has a column of this name in its result.
fn is_output(select: &Select, column: &CommonColumn) -> bool {
    select.projection.iter().any(|item| match item {
        SelectItem::UnnamedExpr(Expr::Identifier(name)) => column.is_named(name),
        SelectItem::ExprWithAlias { alias, .. } => column.is_named(alias),
        SelectItem::Wildcard(_) => true,
        _ => false,
    })
}

fn replace_in_item(item: &mut SelectItem, columns: &[CommonColumn]) {
    match item {
        SelectItem::UnnamedExpr(Expr::Identifier(name)) => {
            if let Some(column) = columns.iter().find(|column| column.is_named(name)) {
                *item = SelectItem::ExprWithAlias {
                    expr: column.value.clone(),
                    alias: name.clone(),
                };
            }
        }
        SelectItem::UnnamedExpr(expr) => {
            let written = expr.clone();
            replace_names(expr, columns);
            if *expr != written {
                // The name of the output column is the expression as it was written.
                *item = SelectItem::ExprWithAlias {
                    expr: expr.clone(),
                    alias: Ident::with_quote('"', written.to_string()),
                };
            }
        }
        SelectItem::ExprWithAlias { expr, .. } => replace_names(expr, columns),
        SelectItem::Wildcard(options) => replace_in_wildcard(options, columns),
        _ => {}
    }
}

/// Adds the columns to `* REPLACE (...)`, except those that are excluded or replaced already.
fn replace_in_wildcard(options: &mut WildcardAdditionalOptions, columns: &[CommonColumn]) {
    let excluded = options.opt_exclude.as_ref().map(ToString::to_string);
    let excluded = excluded.unwrap_or_default().to_lowercase();
    let is_excluded = |column: &CommonColumn| {
        let mut words = excluded.split(|c: char| !c.is_alphanumeric() && c != '_');
        words.any(|word| word == column.name.value.to_lowercase())
    };
    let mut items = match options.opt_replace.take() {
        Some(replaced) => replaced.items,
        None => Vec::new(),
    };
    for item in &mut items {
        replace_names(&mut item.expr, columns);
    }
    for column in columns.iter().filter(|column| !is_excluded(column)) {
        if !items.iter().any(|item| column.is_named(&item.column_name)) {
            items.push(Box::new(ReplaceSelectElement {
                expr: column.value.clone(),
                column_name: column.name.clone(),
                as_keyword: true,
            }));
        }
    }
    options.opt_replace = (!items.is_empty()).then_some(ReplaceSelectItem { items });
}

/// Replaces unqualified names outside of subqueries.
fn replace_names(part: &mut impl VisitMut, columns: &[CommonColumn]) {
    // It never breaks.
    let _: ControlFlow<()> = part.visit(&mut NameReplacement { columns, depth: 0 });
}

/// Visitor of expressions outside of subqueries.
struct NameReplacement<'a> {
    columns: &'a [CommonColumn],
    /// Number of subqueries around the visited expression.
    depth: usize,
}

impl VisitorMut for NameReplacement<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Identifier(name) = expr
            && self.depth == 0
            && let Some(column) = self.columns.iter().find(|column| column.is_named(name))
        {
            *expr = column.value.clone();
        }
        ControlFlow::Continue(())
    }
}

//! Rewrites `t PIVOT (sum(x) FOR k IN ('a', 'b'))` to aggregates with `FILTER`, and `t UNPIVOT (v FOR n IN (a, b))` to
//! `unnest`.
//!
//! A pivot groups by all columns that it does not name. If it lists no values (`IN (ANY)`, or DuckDB's `PIVOT t ON k`),
//! they are queried from the table, so the rewrite runs during planning. For several columns (`ON a, b`) each
//! combination of values becomes a column `a_b`, as in DuckDB.

mod across;
mod query_builders;
mod unpivot;

use std::ops::ControlFlow::{self, Break, Continue};

use arrow::array::AsArray as _;
use arrow::compute::cast;
use arrow::datatypes::DataType;
use datafusion::prelude::SessionContext;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, ExprWithAlias, PivotValueSource, Query, SelectItem,
    Statement as SqlStatement, TableFactor, VisitorMut,
};
use datafusion::sql::sqlparser::parser::ParserError;

use super::walk::visit_statement;
use crate::syntax::leading::column_names;
use crate::syntax::pieces::{
    derived_table, first_select, parse_query, quoted_ident, set_from_table,
};
use across::{
    PivotColumn, binary_expr, columns_without_values, pivot_columns, values_query, without_lists,
};
use query_builders::{MAX_PIVOT_COLUMNS, pivot_error, star_except, with_alias};
use tsql_error::{Error, Result};
use unpivot::rewrite_unpivot;

/// Rewrites all pivots of a statement, and queries the values of those that list none.
///
/// # Errors
/// [`Error::Refused`] for an unsupported pivot, [`Error::Query`] if the values cannot be queried.
pub(super) async fn expand_pivots(
    context: &SessionContext,
    statement: &mut Statement,
) -> Result<()> {
    let mut pivots = PivotRewriter { values: Vec::new() };
    loop {
        match visit_statement(statement, &mut pivots) {
            Continue(()) => return Ok(()),
            Break(Stopped::For(values)) => {
                pivots.values.push(query_values(context, values).await?);
            }
            Break(Stopped::By(error)) => return Err(error),
        }
    }
}

/// Reason why a visit stops.
enum Stopped {
    /// The pivot needs the values of this query.
    For(Box<Query>),
    By(Error),
}

/// Rewrites pivots, the inner ones first.
struct PivotRewriter {
    /// Queried values of the next pivot, for one column after another.
    values: Vec<Vec<String>>,
}

impl VisitorMut for PivotRewriter {
    type Break = Stopped;

    fn post_visit_table_factor(&mut self, table: &mut TableFactor) -> ControlFlow<Stopped> {
        let written = match table {
            TableFactor::Pivot {
                table: of,
                value_column,
                value_source,
                ..
            } => {
                if value_column.len() > 1 && matches!(value_source, PivotValueSource::Subquery(_)) {
                    let reason = "PIVOT FOR (a, b) does not support a query for its values\n\
                        hint: `PIVOT t ON a, b` reads the values from the table";
                    return Break(break_with(pivot_error(reason)));
                }
                let unlisted = columns_without_values(value_column, value_source);
                if let Some(next) = unlisted.get(self.values.len()) {
                    let values = values_query(of, next, value_source);
                    return Break(values.map_or_else(break_with, Stopped::For));
                }
                rewrite_pivot(table, std::mem::take(&mut self.values))
            }
            TableFactor::Unpivot { .. } => rewrite_unpivot(table),
            _ => return Continue(()),
        };
        match written {
            Ok(written) => *table = written,
            Err(error) => return Break(break_with(error)),
        }
        Continue(())
    }
}

fn break_with(error: ParserError) -> Stopped {
    Stopped::By(match error {
        ParserError::ParserError(reason) => Error::Refused(reason),
        other => Error::Query(other.into()),
    })
}

async fn query_values(context: &SessionContext, query: Box<Query>) -> Result<Vec<String>> {
    let statement = Statement::Statement(Box::new(SqlStatement::Query(query)));
    let plan = context.state().statement_to_plan(statement).await;
    let frame = context.execute_logical_plan(plan.map_err(Error::Query)?);
    let batches = frame.await.map_err(Error::Query)?.collect().await;
    let mut values = Vec::new();
    for batch in batches.map_err(Error::Query)? {
        let texts =
            cast(batch.column(0), &DataType::Utf8).map_err(|error| Error::Query(error.into()))?;
        values.extend(texts.as_string::<i32>().iter().flatten().map(str::to_owned));
    }
    match values.len() {
        0 => Err(Error::Refused(
            "PIVOT: there are no values, so the result would have no columns".to_owned(),
        )),
        count if count > MAX_PIVOT_COLUMNS => Err(Error::Refused(format!(
            "PIVOT: {count} values give as many columns, expected at most {MAX_PIVOT_COLUMNS}\n\
             hint: `IN (...)` selects values"
        ))),
        _ => Ok(values),
    }
}

/// The derived table that replaces a pivot.
fn rewrite_pivot(
    table: &mut TableFactor,
    values: Vec<Vec<String>>,
) -> Result<TableFactor, ParserError> {
    let TableFactor::Pivot {
        table,
        aggregate_functions,
        value_column,
        value_source,
        default_on_null,
        alias,
    } = table
    else {
        return Err(pivot_error("PIVOT: expected values"));
    };
    if default_on_null.is_some() {
        return Err(pivot_error(
            "PIVOT does not support DEFAULT ON NULL\nhint: use coalesce(...) around its columns",
        ));
    }
    let named = aggregate_functions.iter().map(|aggregate| &aggregate.expr);
    let named = column_names(without_lists(value_column).chain(named));
    let mut items = vec![star_except(named)];
    for part in pivot_columns(value_column, value_source, values)? {
        for aggregate in aggregate_functions.iter() {
            items.push(aggregate_column(
                &part,
                aggregate,
                aggregate_functions.len(),
            )?);
        }
    }
    let mut made = parse_query("SELECT * FROM x GROUP BY ALL")?;
    set_from_table(&mut made, table.as_ref().clone());
    if let Some(select) = first_select(&mut made) {
        select.projection = items;
    }
    Ok(with_alias(derived_table(made), alias.take()))
}

/// An aggregate over the rows of one column, with its alias.
fn aggregate_column(
    part: &PivotColumn,
    aggregate: &ExprWithAlias,
    aggregates: usize,
) -> Result<SelectItem, ParserError> {
    let Expr::Function(function) = &aggregate.expr else {
        return Err(pivot_error(
            "PIVOT: expected calls of aggregate functions, such as sum(x) or count(*)",
        ));
    };
    let condition = part.condition.clone();
    let mut function = function.clone();
    function.filter = Some(Box::new(match function.filter.take() {
        Some(own) => binary_expr(
            Box::new(Expr::Nested(own)),
            BinaryOperator::And,
            Expr::Nested(Box::new(condition)),
        ),
        None => condition,
    }));
    let suffix = match &aggregate.alias {
        Some(alias) => format!("_{}", alias.value),
        None if aggregates > 1 => format!("_{}", aggregate.expr),
        None => String::new(),
    };
    Ok(SelectItem::ExprWithAlias {
        expr: Expr::Function(function),
        alias: quoted_ident(&format!("{}{suffix}", part.name)),
    })
}

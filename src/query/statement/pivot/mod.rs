//! `t PIVOT (sum(x) FOR k IN ('a', 'b'))` as aggregates with `FILTER`, `t UNPIVOT (v FOR n IN (a, b))` as `unnest`.
//!
//! The rows of a pivot are grouped by all columns that it does not name. Where it lists no values (`IN (ANY)`, or
//! DuckDB's `PIVOT t ON k`), these are asked of the table first, so it is written when it is planned. Of several
//! columns (`ON a, b`) each combination of their values becomes a column, `a_b`, as in DuckDB.

mod across;
mod made;
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

use super::super::dialect::leading::columns;
use super::super::dialect::pieces::{derived, put_table, query, quoted, select};
use super::walk::walk;
use crate::error::{Error, Result};
use across::{Part, bare_all, binary, parts, unlisted, values};
use made::{WIDEST, aliased, all_but, refused};
use unpivot::unpivot;

/// Writes all pivots of a statement, asking for values where it lists none.
///
/// # Errors
/// [`Error::Refused`] for what cannot be written, [`Error::Query`] where values cannot be had.
pub(super) async fn written(context: &SessionContext, statement: &mut Statement) -> Result<()> {
    let mut pivots = Pivots { values: Vec::new() };
    loop {
        match walk(statement, &mut pivots) {
            Continue(()) => return Ok(()),
            Break(Stopped::For(values)) => {
                pivots.values.push(asked(context, values).await?);
            }
            Break(Stopped::By(error)) => return Err(error),
        }
    }
}

/// Why a visit ends.
enum Stopped {
    /// These values are needed.
    For(Box<Query>),
    By(Error),
}

/// Writes pivots, the inner ones first.
struct Pivots {
    /// Values that were asked for by the pivot that comes next, of one column after another.
    values: Vec<Vec<String>>,
}

impl VisitorMut for Pivots {
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
                    let reason = "PIVOT FOR (a, b) takes no query for its values\nhint: `PIVOT t ON a, b` asks the table for them";
                    return Break(broken(refused(reason)));
                }
                let unlisted = unlisted(value_column, value_source);
                if let Some(next) = unlisted.get(self.values.len()) {
                    let values = values(of, next, value_source);
                    return Break(values.map_or_else(broken, Stopped::For));
                }
                pivot(table, std::mem::take(&mut self.values))
            }
            TableFactor::Unpivot { .. } => unpivot(table),
            _ => return Continue(()),
        };
        match written {
            Ok(written) => *table = written,
            Err(error) => return Break(broken(error)),
        }
        Continue(())
    }
}

fn broken(error: ParserError) -> Stopped {
    Stopped::By(match error {
        ParserError::ParserError(reason) => Error::Refused(reason),
        other => Error::Query(other.into()),
    })
}

async fn asked(context: &SessionContext, query: Box<Query>) -> Result<Vec<String>> {
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
            "PIVOT: there is no value to make a column of".to_owned(),
        )),
        count if count > WIDEST => Err(Error::Refused(format!(
            "PIVOT: {count} values are as many columns, at most {WIDEST} are made\nhint: `IN (...)` lists those that are wanted"
        ))),
        _ => Ok(values),
    }
}

/// What a pivot stands for.
fn pivot(table: &mut TableFactor, values: Vec<Vec<String>>) -> Result<TableFactor, ParserError> {
    let TableFactor::Pivot {
        table,
        aggregate_functions,
        value_column,
        value_source,
        default_on_null,
        alias,
    } = table
    else {
        return Err(refused("PIVOT takes values"));
    };
    if default_on_null.is_some() {
        return Err(refused(
            "PIVOT takes no DEFAULT ON NULL\nhint: coalesce(...) around its columns",
        ));
    }
    let named = aggregate_functions.iter().map(|aggregate| &aggregate.expr);
    let named = columns(bare_all(value_column).chain(named));
    let mut items = vec![all_but(named)];
    for part in parts(value_column, value_source, values)? {
        for aggregate in aggregate_functions.iter() {
            items.push(column_of(&part, aggregate, aggregate_functions.len())?);
        }
    }
    let mut made = query("SELECT * FROM x GROUP BY ALL")?;
    put_table(&mut made, table.as_ref().clone());
    if let Some(select) = select(&mut made) {
        select.projection = items;
    }
    Ok(aliased(derived(made), alias.take()))
}

/// An aggregate of some of the rows, under their name.
fn column_of(
    part: &Part,
    aggregate: &ExprWithAlias,
    aggregates: usize,
) -> Result<SelectItem, ParserError> {
    let Expr::Function(function) = &aggregate.expr else {
        return Err(refused("PIVOT takes calls of aggregates: sum(x), count(*)"));
    };
    let condition = part.condition.clone();
    let mut function = function.clone();
    function.filter = Some(Box::new(match function.filter.take() {
        Some(own) => binary(
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
        alias: quoted(&format!("{}{suffix}", part.name)),
    })
}

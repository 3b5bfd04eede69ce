//! `t PIVOT (sum(x) FOR k IN ('a', 'b'))` as aggregates with `FILTER`, `t UNPIVOT (v FOR n IN (a, b))` as `unnest`.
//!
//! The rows of a pivot are grouped by all columns that it does not name. Where it lists no values (`IN (ANY)`, or
//! DuckDB's `PIVOT t ON k`), these are asked of the table first, so it is written when it is planned.

use std::ops::ControlFlow::{self, Break, Continue};

use arrow::array::AsArray as _;
use arrow::compute::cast;
use arrow::datatypes::DataType;
use datafusion::prelude::SessionContext;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    Array, BinaryOperator, CastKind, DataType as SqlType, ExcludeSelectItem, Expr, ExprWithAlias,
    Ident, NullInclusion, ObjectName, PivotValueSource, Query, SelectItem,
    Statement as SqlStatement, TableAlias, TableFactor, Value, ValueWithSpan, VisitorMut,
    WildcardAdditionalOptions,
};
use datafusion::sql::sqlparser::parser::ParserError;

use super::super::dialect::leading::columns;
use super::super::dialect::pieces::{derived, nothing, put_table, query, quoted, select, text};
use super::walk::walk;
use crate::error::{Error, Result};

/// Columns that a pivot may have: more are a slip.
const WIDEST: usize = 1000;

/// Writes all pivots of a statement, asking for values where it lists none.
///
/// # Errors
/// [`Error::Refused`] for what cannot be written, [`Error::Query`] where values cannot be had.
pub(super) async fn written(context: &SessionContext, statement: &mut Statement) -> Result<()> {
    let mut pivots = Pivots { values: None };
    loop {
        match walk(statement, &mut pivots) {
            Continue(()) => return Ok(()),
            Break(Stopped::For(values)) => {
                pivots.values = Some(asked(context, values).await?);
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
    /// Values that were asked for by the pivot that comes next.
    values: Option<Vec<String>>,
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
                if !matches!(value_source, PivotValueSource::List(_)) {
                    let Some(values) = self.values.take() else {
                        let values = values(of, value_column, value_source);
                        return Break(values.map_or_else(broken, Stopped::For));
                    };
                    list(values, value_column, value_source);
                }
                pivot(table)
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

fn refused(reason: &str) -> ParserError {
    ParserError::ParserError(reason.to_owned())
}

/// The query for the values of a column, as texts.
fn values(
    table: &TableFactor,
    column: &[Expr],
    source: &PivotValueSource,
) -> Result<Box<Query>, ParserError> {
    let [column] = column else {
        return Err(refused("PIVOT takes one column after FOR"));
    };
    let distinct = match source {
        PivotValueSource::Subquery(subquery) => subquery.clone(),
        _ => {
            let mut distinct = query("SELECT DISTINCT 1 FROM x")?;
            put_table(&mut distinct, table.clone());
            if let Some(select) = select(&mut distinct) {
                select.projection = vec![SelectItem::UnnamedExpr(column.clone())];
            }
            distinct
        }
    };
    let order = matches!(source, PivotValueSource::Any(_));
    let order = if order { " ORDER BY k" } else { "" };
    let sql = format!(
        "SELECT CAST(k AS VARCHAR) AS text FROM (SELECT 1) AS v(k) WHERE k IS NOT NULL{order}"
    );
    let mut values = query(&sql)?;
    let alias = select(&mut values).and_then(|select| match &select.from.first()?.relation {
        TableFactor::Derived { alias, .. } => alias.clone(),
        _ => None,
    });
    put_table(&mut values, aliased(derived(distinct), alias));
    Ok(values)
}

fn aliased(mut table: TableFactor, wanted: Option<TableAlias>) -> TableFactor {
    if let TableFactor::Derived { alias, .. } = &mut table {
        *alias = wanted;
    }
    table
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

/// Lists values that were asked for, which are compared as texts.
fn list(values: Vec<String>, column: &mut [Expr], source: &mut PivotValueSource) {
    for column in column {
        let expr = Box::new(std::mem::replace(column, nothing()));
        *column = Expr::Cast {
            kind: CastKind::Cast,
            expr,
            data_type: SqlType::Varchar(None),
            array: false,
            format: None,
        };
    }
    let value = |value| ExprWithAlias {
        expr: text(value),
        alias: None,
    };
    *source = PivotValueSource::List(values.into_iter().map(value).collect());
}

/// What a pivot stands for.
fn pivot(table: &mut TableFactor) -> Result<TableFactor, ParserError> {
    let TableFactor::Pivot {
        table,
        aggregate_functions,
        value_column,
        value_source: PivotValueSource::List(values),
        default_on_null,
        alias,
    } = table
    else {
        return Err(refused("PIVOT takes values"));
    };
    let [column] = value_column.as_slice() else {
        return Err(refused(
            "PIVOT takes one column after FOR\nhint: `FOR concat_ws('_', a, b) IN (...)`",
        ));
    };
    if default_on_null.is_some() {
        return Err(refused(
            "PIVOT takes no DEFAULT ON NULL\nhint: coalesce(...) around its columns",
        ));
    }
    let named = aggregate_functions.iter().map(|aggregate| &aggregate.expr);
    let named = columns(std::iter::once(column).chain(named));
    let mut items = vec![all_but(named)];
    for value in values.iter() {
        for aggregate in aggregate_functions.iter() {
            items.push(column_of(
                value,
                aggregate,
                column,
                aggregate_functions.len(),
            )?);
        }
    }
    let mut made = query("SELECT * FROM x GROUP BY ALL")?;
    put_table(&mut made, table.as_ref().clone());
    if let Some(select) = select(&mut made) {
        select.projection = items;
    }
    Ok(aliased(derived(made), alias.take()))
}

/// `* EXCLUDE (these)`.
fn all_but(columns: Vec<Ident>) -> SelectItem {
    let columns = columns.into_iter().map(|name| ObjectName::from(vec![name]));
    let exclude = ExcludeSelectItem::Multiple(columns.collect());
    SelectItem::Wildcard(WildcardAdditionalOptions {
        opt_exclude: Some(exclude),
        ..WildcardAdditionalOptions::default()
    })
}

/// An aggregate of the rows that have a value, under the name of the value.
fn column_of(
    value: &ExprWithAlias,
    aggregate: &ExprWithAlias,
    column: &Expr,
    aggregates: usize,
) -> Result<SelectItem, ParserError> {
    let Expr::Function(function) = &aggregate.expr else {
        return Err(refused("PIVOT takes calls of aggregates: sum(x), count(*)"));
    };
    let left = Box::new(Expr::Nested(Box::new(column.clone())));
    let condition = match &value.expr {
        Expr::Value(ValueWithSpan {
            value: Value::Null, ..
        }) => Expr::IsNull(left),
        other => binary(left, BinaryOperator::Eq, other.clone()),
    };
    let mut function = function.clone();
    function.filter = Some(Box::new(match function.filter.take() {
        Some(own) => binary(
            Box::new(Expr::Nested(own)),
            BinaryOperator::And,
            Expr::Nested(Box::new(condition)),
        ),
        None => condition,
    }));
    let name = match (&value.alias, &value.expr) {
        (Some(alias), _) => alias.value.clone(),
        (None, Expr::Value(value)) => match &value.value {
            Value::SingleQuotedString(text) => text.clone(),
            other => other.to_string(),
        },
        (None, other) => other.to_string(),
    };
    let suffix = match &aggregate.alias {
        Some(alias) => format!("_{}", alias.value),
        None if aggregates > 1 => format!("_{}", aggregate.expr),
        None => String::new(),
    };
    Ok(SelectItem::ExprWithAlias {
        expr: Expr::Function(function),
        alias: quoted(&format!("{name}{suffix}")),
    })
}

fn binary(left: Box<Expr>, op: BinaryOperator, right: Expr) -> Expr {
    let right = Box::new(right);
    Expr::BinaryOp { left, op, right }
}

/// What an unpivot stands for: `SELECT *, unnest(['a', 'b']) AS n, unnest([a, b]) AS v`, without the columns.
fn unpivot(table: &mut TableFactor) -> Result<TableFactor, ParserError> {
    let TableFactor::Unpivot {
        table,
        value: Expr::Identifier(value),
        name,
        columns: of,
        null_inclusion,
        alias,
    } = table
    else {
        return Err(refused(
            "UNPIVOT takes a name for the values: (value FOR name IN (a, b))",
        ));
    };
    let exprs = of.iter().map(|column| column.expr.clone());
    let exprs: Vec<Expr> = exprs.collect();
    let names = of.iter().map(|column| match (&column.alias, &column.expr) {
        (Some(alias), _) => text(alias.value.clone()),
        (None, Expr::Identifier(name)) => text(name.value.clone()),
        (None, other) => text(other.to_string()),
    });
    let mut items = vec![all_but(columns(&exprs))];
    items.push(unnested(names.collect(), name.clone())?);
    items.push(unnested(exprs, value.clone())?);
    let mut made = query("SELECT * FROM x")?;
    put_table(&mut made, table.as_ref().clone());
    if let Some(select) = select(&mut made) {
        select.projection = items;
    }
    if !matches!(null_inclusion, Some(NullInclusion::IncludeNulls)) {
        let mut kept = query("SELECT * FROM x")?;
        put_table(&mut kept, derived(made));
        if let Some(select) = select(&mut kept) {
            let value = Box::new(Expr::Identifier(value.clone()));
            select.selection = Some(Expr::IsNotNull(value));
        }
        made = kept;
    }
    Ok(aliased(derived(made), alias.take()))
}

/// `unnest([...]) AS name`.
fn unnested(elem: Vec<Expr>, alias: Ident) -> Result<SelectItem, ParserError> {
    let mut call = query("SELECT unnest(x)")?;
    let item = select(&mut call).and_then(|select| select.projection.pop());
    let Some(SelectItem::UnnamedExpr(Expr::Function(mut function))) = item else {
        return Err(refused("no unnest"));
    };
    use datafusion::sql::sqlparser::ast::{FunctionArg, FunctionArgExpr, FunctionArguments};
    if let FunctionArguments::List(list) = &mut function.args {
        let array = Expr::Array(Array { elem, named: true });
        list.args = vec![FunctionArg::Unnamed(FunctionArgExpr::Expr(array))];
    }
    Ok(SelectItem::ExprWithAlias {
        expr: Expr::Function(function),
        alias,
    })
}

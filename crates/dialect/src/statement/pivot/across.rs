//! Columns of a pivot: the values of one or more columns, and the rows that each value selects.

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CastKind, DataType as SqlType, Expr, ExprWithAlias, PivotValueSource, Query,
    SelectItem, TableFactor, Value, ValueWithSpan,
};
use datafusion::sql::sqlparser::parser::ParserError;

use crate::syntax::pieces::{
    derived_table, first_select, parse_query, set_from_table, string_literal,
};

use super::query_builders::{MAX_PIVOT_COLUMNS, pivot_error, with_alias};

/// A column of the result: its rows and its name.
pub(super) struct PivotColumn {
    pub(super) name: String,
    pub(super) condition: Expr,
}

/// A pivot column, without its own list of values (`ON a IN (1, 2), b`).
fn without_list(column: &Expr) -> &Expr {
    match column {
        Expr::InList { expr, .. } => expr,
        other => other,
    }
}

/// Pivot columns without their lists of values.
pub(super) fn without_lists(columns: &[Expr]) -> impl Iterator<Item = &Expr> {
    columns.iter().map(without_list)
}

/// Pivot columns without listed values.
pub(super) fn columns_without_values<'a>(
    columns: &'a [Expr],
    source: &PivotValueSource,
) -> Vec<&'a Expr> {
    if matches!(source, PivotValueSource::List(_)) {
        return Vec::new();
    }
    let listed = |column: &&Expr| matches!(column, Expr::InList { .. });
    let columns = columns.iter();
    columns.filter(|column| !listed(column)).collect()
}

/// Query for the values of a column of a table, as text.
pub(super) fn values_query(
    table: &TableFactor,
    column: &Expr,
    source: &PivotValueSource,
) -> Result<Box<Query>, ParserError> {
    let distinct = match source {
        PivotValueSource::Subquery(subquery) => subquery.clone(),
        _ => {
            let mut distinct = parse_query("SELECT DISTINCT 1 FROM x")?;
            set_from_table(&mut distinct, table.clone());
            if let Some(select) = first_select(&mut distinct) {
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
    let mut values = parse_query(&sql)?;
    let alias = first_select(&mut values).and_then(|select| match &select.from.first()?.relation {
        TableFactor::Derived { alias, .. } => alias.clone(),
        _ => None,
    });
    set_from_table(&mut values, with_alias(derived_table(distinct), alias));
    Ok(values)
}

/// All combinations of the values of the pivot columns. `asked` contains the values of the columns that list none, in
/// order.
pub(super) fn pivot_columns(
    columns: &[Expr],
    source: &PivotValueSource,
    asked: Vec<Vec<String>>,
) -> Result<Vec<PivotColumn>, ParserError> {
    if let PivotValueSource::List(values) = source {
        return values
            .iter()
            .map(|value| column_of_tuple(columns, value))
            .collect();
    }
    let mut asked = asked.into_iter();
    let mut all: Option<Vec<PivotColumn>> = None;
    for column in columns {
        let own: Vec<PivotColumn> = match column {
            Expr::InList { expr, list, .. } => {
                let values = list
                    .iter()
                    .map(|value| column_of_value(expr, &value_with_name(value)));
                values.collect()
            }
            other => {
                let values = asked.next().unwrap_or_default().into_iter();
                let values = values.map(|value| column_of_text(other, value));
                values.collect()
            }
        };
        all = Some(match all {
            None => own,
            Some(before) => cross_product(before, &own)?,
        });
    }
    Ok(all.unwrap_or_default())
}

/// A value of `IN (...)`, with its alias if it has one.
fn value_with_name(value: &Expr) -> ExprWithAlias {
    match value {
        Expr::Named { expr, name } => ExprWithAlias {
            expr: expr.as_ref().clone(),
            alias: Some(name.clone()),
        },
        other => ExprWithAlias {
            expr: other.clone(),
            alias: None,
        },
    }
}

/// Condition of a value that was listed for all columns together: one value per column.
fn column_of_tuple(columns: &[Expr], value: &ExprWithAlias) -> Result<PivotColumn, ParserError> {
    let several = match (columns, &value.expr) {
        ([only], _) => return Ok(column_of_value(only, value)),
        (_, Expr::Tuple(several)) if several.len() == columns.len() => several,
        _ => {
            return Err(pivot_error(
                "PIVOT FOR (a, b) needs pairs of values\nhint: `FOR (a, b) IN ((1, 'x'), (2, 'y'))`",
            ));
        }
    };
    let pairs = columns.iter().zip(several);
    let parts = pairs.map(|(column, value)| column_of_value(column, &value_with_name(value)));
    let joined = parts.reduce(|before, one| combine(&before, &one));
    let mut joined = joined.ok_or_else(|| pivot_error("PIVOT: expected columns after FOR"))?;
    if let Some(alias) = &value.alias {
        joined.name.clone_from(&alias.value);
    }
    Ok(joined)
}

/// Rows with this value.
fn column_of_value(column: &Expr, value: &ExprWithAlias) -> PivotColumn {
    let left = Box::new(Expr::Nested(Box::new(column.clone())));
    let condition = match &value.expr {
        Expr::Value(ValueWithSpan {
            value: Value::Null, ..
        }) => Expr::IsNull(left),
        other => binary_expr(left, BinaryOperator::Eq, other.clone()),
    };
    let name = match (&value.alias, &value.expr) {
        (Some(alias), _) => alias.value.clone(),
        (None, Expr::Value(value)) => match &value.value {
            Value::SingleQuotedString(text) => text.clone(),
            other => other.to_string(),
        },
        (None, other) => other.to_string(),
    };
    PivotColumn { name, condition }
}

/// Rows whose value has this text.
fn column_of_text(column: &Expr, value: String) -> PivotColumn {
    let cast = Expr::Cast {
        kind: CastKind::Cast,
        expr: Box::new(column.clone()),
        data_type: SqlType::Varchar(None),
        array: false,
        format: None,
    };
    let value = ExprWithAlias {
        expr: string_literal(value),
        alias: None,
    };
    column_of_value(&cast, &value)
}

/// Cross product of conditions.
fn cross_product(
    before: Vec<PivotColumn>,
    own: &[PivotColumn],
) -> Result<Vec<PivotColumn>, ParserError> {
    let count = before.len().saturating_mul(own.len());
    if count > MAX_PIVOT_COLUMNS {
        return Err(pivot_error(&format!(
            "PIVOT: {count} combinations of values give as many columns, expected at most \
             {MAX_PIVOT_COLUMNS}\nhint: `ON a IN (...), b IN (...)` selects values"
        )));
    }
    let each = before
        .iter()
        .flat_map(|one| own.iter().map(|other| combine(one, other)));
    Ok(each.collect())
}

fn combine(one: &PivotColumn, other: &PivotColumn) -> PivotColumn {
    let nested = |part: &PivotColumn| Expr::Nested(Box::new(part.condition.clone()));
    PivotColumn {
        name: format!("{}_{}", one.name, other.name),
        condition: binary_expr(Box::new(nested(one)), BinaryOperator::And, nested(other)),
    }
}

pub(super) fn binary_expr(left: Box<Expr>, op: BinaryOperator, right: Expr) -> Expr {
    let right = Box::new(right);
    Expr::BinaryOp { left, op, right }
}

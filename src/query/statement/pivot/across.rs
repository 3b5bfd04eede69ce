//! What becomes columns: the values of one or more columns, and the rows that count in each.

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CastKind, DataType as SqlType, Expr, ExprWithAlias, PivotValueSource, Query,
    SelectItem, TableFactor, Value, ValueWithSpan,
};
use datafusion::sql::sqlparser::parser::ParserError;

use super::super::super::dialect::pieces::{derived, put_table, query, select, text};

use super::made::{WIDEST, aliased, refused};

/// Rows that count in a column, and what it is called by.
pub(super) struct Part {
    pub(super) name: String,
    pub(super) condition: Expr,
}

/// A column whose values become columns, without those that are listed for it alone (`ON a IN (1, 2), b`).
fn bare(column: &Expr) -> &Expr {
    match column {
        Expr::InList { expr, .. } => expr,
        other => other,
    }
}

/// The columns themselves.
pub(super) fn bare_all(columns: &[Expr]) -> impl Iterator<Item = &Expr> {
    columns.iter().map(bare)
}

/// Columns of which nobody has listed the values.
pub(super) fn unlisted<'a>(columns: &'a [Expr], source: &PivotValueSource) -> Vec<&'a Expr> {
    if matches!(source, PivotValueSource::List(_)) {
        return Vec::new();
    }
    let listed = |column: &&Expr| matches!(column, Expr::InList { .. });
    let columns = columns.iter();
    columns.filter(|column| !listed(column)).collect()
}

/// The query for the values of a column of a table, as texts.
pub(super) fn values(
    table: &TableFactor,
    column: &Expr,
    source: &PivotValueSource,
) -> Result<Box<Query>, ParserError> {
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

/// All combinations of the values of the columns; `asked` are those of columns that list none, in their order.
pub(super) fn parts(
    columns: &[Expr],
    source: &PivotValueSource,
    asked: Vec<Vec<String>>,
) -> Result<Vec<Part>, ParserError> {
    if let PivotValueSource::List(values) = source {
        return values.iter().map(|value| listed(columns, value)).collect();
    }
    let mut asked = asked.into_iter();
    let mut all: Option<Vec<Part>> = None;
    for column in columns {
        let own: Vec<Part> = match column {
            Expr::InList { expr, list, .. } => {
                let values = list.iter().map(|value| of_value(expr, &named(value)));
                values.collect()
            }
            other => {
                let values = asked.next().unwrap_or_default().into_iter();
                let values = values.map(|value| as_text(other, value));
                values.collect()
            }
        };
        all = Some(match all {
            None => own,
            Some(before) => crossed(before, &own)?,
        });
    }
    Ok(all.unwrap_or_default())
}

/// A value of `IN (...)`, with the name that it may have.
fn named(value: &Expr) -> ExprWithAlias {
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

/// A value that was listed for all columns together: as many values as there are columns.
fn listed(columns: &[Expr], value: &ExprWithAlias) -> Result<Part, ParserError> {
    let several = match (columns, &value.expr) {
        ([only], _) => return Ok(of_value(only, value)),
        (_, Expr::Tuple(several)) if several.len() == columns.len() => several,
        _ => {
            return Err(refused(
                "PIVOT FOR (a, b) takes pairs of values\nhint: `FOR (a, b) IN ((1, 'x'), (2, 'y'))`",
            ));
        }
    };
    let pairs = columns.iter().zip(several);
    let parts = pairs.map(|(column, value)| of_value(column, &named(value)));
    let joined = parts.reduce(|before, one| both(&before, &one));
    let mut joined = joined.ok_or_else(|| refused("PIVOT takes columns after FOR"))?;
    if let Some(alias) = &value.alias {
        joined.name.clone_from(&alias.value);
    }
    Ok(joined)
}

/// The rows that have this value.
fn of_value(column: &Expr, value: &ExprWithAlias) -> Part {
    let left = Box::new(Expr::Nested(Box::new(column.clone())));
    let condition = match &value.expr {
        Expr::Value(ValueWithSpan {
            value: Value::Null, ..
        }) => Expr::IsNull(left),
        other => binary(left, BinaryOperator::Eq, other.clone()),
    };
    let name = match (&value.alias, &value.expr) {
        (Some(alias), _) => alias.value.clone(),
        (None, Expr::Value(value)) => match &value.value {
            Value::SingleQuotedString(text) => text.clone(),
            other => other.to_string(),
        },
        (None, other) => other.to_string(),
    };
    Part { name, condition }
}

/// The rows whose value reads like this.
fn as_text(column: &Expr, value: String) -> Part {
    let cast = Expr::Cast {
        kind: CastKind::Cast,
        expr: Box::new(column.clone()),
        data_type: SqlType::Varchar(None),
        array: false,
        format: None,
    };
    let value = ExprWithAlias {
        expr: text(value),
        alias: None,
    };
    of_value(&cast, &value)
}

/// Each of the one with each of the other.
fn crossed(before: Vec<Part>, own: &[Part]) -> Result<Vec<Part>, ParserError> {
    let count = before.len().saturating_mul(own.len());
    if count > WIDEST {
        return Err(refused(&format!(
            "PIVOT: {count} combinations of values are as many columns, at most {WIDEST} are made\n\
             hint: `ON a IN (...), b IN (...)` lists those that are wanted"
        )));
    }
    let each = before
        .iter()
        .flat_map(|one| own.iter().map(|other| both(one, other)));
    Ok(each.collect())
}

fn both(one: &Part, other: &Part) -> Part {
    let nested = |part: &Part| Expr::Nested(Box::new(part.condition.clone()));
    Part {
        name: format!("{}_{}", one.name, other.name),
        condition: binary(Box::new(nested(one)), BinaryOperator::And, nested(other)),
    }
}

pub(super) fn binary(left: Box<Expr>, op: BinaryOperator, right: Expr) -> Expr {
    let right = Box::new(right);
    Expr::BinaryOp { left, op, right }
}

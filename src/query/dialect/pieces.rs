//! Pieces of SQL that are put in place of others.

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Ident, Query, Select, SetExpr, Statement, TableFactor, Value,
};
use datafusion::sql::sqlparser::dialect::DuckDbDialect;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};

/// An expression that stands for the one that was taken out.
pub(in crate::query) fn nothing() -> Expr {
    Expr::Value(Value::Null.into())
}

/// An operator between two expressions.
pub(in crate::query) fn binary(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    let (left, right) = (Box::new(left), Box::new(right));
    Expr::BinaryOp { left, op, right }
}

/// An expression without the parentheses around it.
pub(in crate::query) fn unnested(expr: &Expr) -> &Expr {
    match expr {
        Expr::Nested(inner) => unnested(inner),
        other => other,
    }
}

/// An identifier that is taken as it is.
pub(in crate::query) fn quoted(name: &str) -> Ident {
    Ident::with_quote('"', name)
}

/// A text.
pub(in crate::query) fn text(value: impl Into<String>) -> Expr {
    Expr::Value(Value::SingleQuotedString(value.into()).into())
}

/// A whole number.
pub(in crate::query) fn number(value: usize) -> Expr {
    Expr::Value(Value::Number(value.to_string(), false).into())
}

/// A query of ours, in which parts of the user's take the places that were left for them.
pub(in crate::query) fn query(sql: &str) -> Result<Box<Query>, ParserError> {
    let parsed = Parser::parse_sql(&DuckDbDialect {}, sql)?;
    match parsed.into_iter().next() {
        Some(Statement::Query(query)) => Ok(query),
        _ => Err(ParserError::ParserError(format!("no query: {sql}"))),
    }
}

/// The first `SELECT` of a query, where it is one.
pub(in crate::query) fn select(query: &mut Query) -> Option<&mut Select> {
    match query.body.as_mut() {
        SetExpr::Select(select) => Some(select),
        _ => None,
    }
}

/// Puts a table into the first place of a `FROM`.
pub(in crate::query) fn put_table(query: &mut Query, table: TableFactor) {
    let place = select(query).and_then(|select| select.from.first_mut());
    if let Some(place) = place {
        place.relation = table;
    }
}

/// `SELECT * FROM table`.
pub(in crate::query) fn all_of(table: TableFactor) -> Result<Box<Query>, ParserError> {
    let mut all = query("SELECT * FROM x")?;
    put_table(&mut all, table);
    Ok(all)
}

/// A query as a table.
pub(in crate::query) fn derived(subquery: Box<Query>) -> TableFactor {
    TableFactor::Derived {
        lateral: false,
        subquery,
        alias: None,
        sample: None,
    }
}

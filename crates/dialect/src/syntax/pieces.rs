//! Builders of SQL syntax trees.

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList,
    FunctionArguments, Ident, ObjectName, Query, Select, SetExpr, Statement, TableFactor, Value,
};
use datafusion::sql::sqlparser::dialect::DuckDbDialect;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};

/// A NULL literal, as a placeholder for an expression that was moved out.
pub(crate) fn null_expr() -> Expr {
    Expr::Value(Value::Null.into())
}

/// A binary expression.
pub(crate) fn binary_expr(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    let (left, right) = (Box::new(left), Box::new(right));
    Expr::BinaryOp { left, op, right }
}

/// A call of a function.
pub(crate) fn call(name: &str, args: Vec<Expr>) -> Expr {
    let args = args.into_iter();
    let args = args.map(|arg| FunctionArg::Unnamed(FunctionArgExpr::Expr(arg)));
    Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new(name)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: args.collect(),
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}

/// The expression inside of any enclosing parentheses.
pub(crate) fn strip_parentheses(expr: &Expr) -> &Expr {
    match expr {
        Expr::Nested(inner) => strip_parentheses(inner),
        other => other,
    }
}

/// A quoted identifier, which is case-sensitive.
pub(crate) fn quoted_ident(name: &str) -> Ident {
    Ident::with_quote('"', name)
}

/// A string literal.
pub(crate) fn string_literal(value: impl Into<String>) -> Expr {
    Expr::Value(Value::SingleQuotedString(value.into()).into())
}

/// An integer literal.
pub(crate) fn number_literal(value: usize) -> Expr {
    Expr::Value(Value::Number(value.to_string(), false).into())
}

/// Parses an internal query, into which parts of the user's query are substituted.
pub(crate) fn parse_query(sql: &str) -> Result<Box<Query>, ParserError> {
    let parsed = Parser::parse_sql(&DuckDbDialect {}, sql)?;
    match parsed.into_iter().next() {
        Some(Statement::Query(query)) => Ok(query),
        _ => Err(ParserError::ParserError(format!("expected a query: {sql}"))),
    }
}

/// The first `SELECT` of a query; `None` if the query has another form.
pub(crate) fn first_select(query: &mut Query) -> Option<&mut Select> {
    match query.body.as_mut() {
        SetExpr::Select(select) => Some(select),
        _ => None,
    }
}

/// Replaces the first table of `FROM`.
pub(crate) fn set_from_table(query: &mut Query, table: TableFactor) {
    let place = first_select(query).and_then(|select| select.from.first_mut());
    if let Some(place) = place {
        place.relation = table;
    }
}

/// `SELECT * FROM table`.
pub(crate) fn select_all_from(table: TableFactor) -> Result<Box<Query>, ParserError> {
    let mut all = parse_query("SELECT * FROM x")?;
    set_from_table(&mut all, table);
    Ok(all)
}

/// A query as a derived table.
pub(crate) fn derived_table(subquery: Box<Query>) -> TableFactor {
    TableFactor::Derived {
        lateral: false,
        subquery,
        alias: None,
        sample: None,
    }
}

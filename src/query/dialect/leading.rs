//! Statements of DuckDB that begin with a word of their own: `SUMMARIZE`, `DESCRIBE`, `PIVOT`, `UNPIVOT`.
//!
//! Each is parsed as the query that it stands for: `SUMMARIZE t` and `DESCRIBE t` as one of the relations
//! [`SUMMARIZE`] and [`DESCRIBE`], the others as SQL's `t PIVOT (...)` and `t UNPIVOT (...)`.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, ExprWithAlias, FunctionArg, FunctionArgExpr, Ident, LimitClause, NullInclusion,
    ObjectName, PivotValueSource, Query, SelectItem, Statement, TableFactor, Visit as _, Visitor,
};
use datafusion::sql::sqlparser::dialect::{Dialect as _, PostgreSqlDialect, Precedence};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;

use super::pieces::{all_of, derived, query, select};
use crate::query::relations::{DESCRIBE, SUMMARIZE};

type Parsed<T> = Result<T, ParserError>;

/// The statement, where its first word is one of these.
pub(in crate::query) fn parsed(parser: &mut Parser<'_>) -> Option<Parsed<Statement>> {
    let Token::Word(word) = &parser.peek_token_ref().token else {
        return None;
    };
    if word.quote_style.is_some() {
        return None;
    }
    let parse = match word.value.to_ascii_uppercase().as_str() {
        "SUMMARIZE" => summarize,
        "DESC" | "DESCRIBE" => describe,
        "PIVOT" => pivot,
        "UNPIVOT" => unpivot,
        _ => return None,
    };
    parser.next_token();
    Some(parse(parser).map(Statement::Query))
}

/// A table, or a query as one.
fn table(parser: &mut Parser<'_>) -> Parsed<TableFactor> {
    let begins = [
        Keyword::SELECT,
        Keyword::WITH,
        Keyword::FROM,
        Keyword::VALUES,
    ];
    if begins.into_iter().any(|word| parser.peek_keyword(word)) {
        return parser.parse_query().map(derived);
    }
    parser.parse_table_factor()
}

fn describe(parser: &mut Parser<'_>) -> Parsed<Box<Query>> {
    let _ = parser.parse_keyword(Keyword::TABLE);
    let all = all_of(table(parser)?)?;
    all_of(relation(DESCRIBE, all, []))
}

fn summarize(parser: &mut Parser<'_>) -> Parsed<Box<Query>> {
    let all = all_of(table(parser)?)?;
    all_of(relation(SUMMARIZE, all, []))
}

/// A relation that is planned by [`crate::query::relations`].
pub(in crate::query) fn relation(
    name: &str,
    of: Box<Query>,
    arguments: impl IntoIterator<Item = Expr>,
) -> TableFactor {
    let arguments = std::iter::once(Expr::Subquery(of)).chain(arguments);
    let arguments = arguments.map(|one| FunctionArg::Unnamed(FunctionArgExpr::Expr(one)));
    TableFactor::Function {
        lateral: false,
        name: ObjectName::from(vec![Ident::new(name)]),
        args: arguments.collect(),
        with_ordinality: false,
        alias: None,
    }
}

fn pivot(parser: &mut Parser<'_>) -> Parsed<Box<Query>> {
    let table = table(parser)?;
    parser.expect_keyword_is(Keyword::ON)?;
    let across = parser.parse_comma_separated(across)?;
    let aggregates = if parser.parse_keyword(Keyword::USING) {
        parser.parse_comma_separated(Parser::parse_expr_with_alias)?
    } else {
        vec![count()?]
    };
    let rows = if parser.parse_keywords(&[Keyword::GROUP, Keyword::BY]) {
        parser.parse_comma_separated(Parser::parse_expr)?
    } else {
        Vec::new()
    };
    let table = Box::new(if rows.is_empty() {
        table
    } else {
        only(table, rows, &across, &aggregates)?
    });
    let query = all_of(TableFactor::Pivot {
        table,
        aggregate_functions: aggregates,
        value_column: across,
        value_source: PivotValueSource::Any(Vec::new()),
        default_on_null: None,
        alias: None,
    })?;
    ordered(query, parser)
}

/// A column whose values become columns, `IN` those that are listed.
fn across(parser: &mut Parser<'_>) -> Parsed<Expr> {
    let column = parser.parse_subexpr(PostgreSqlDialect {}.prec_value(Precedence::Between))?;
    if !parser.parse_keyword(Keyword::IN) {
        return Ok(column);
    }
    parser.expect_token(&Token::LParen)?;
    let values = parser.parse_comma_separated(Parser::parse_expr_with_alias)?;
    parser.expect_token(&Token::RParen)?;
    let value = |value: ExprWithAlias| match value.alias {
        Some(name) => Expr::Named {
            expr: Box::new(value.expr),
            name,
        },
        None => value.expr,
    };
    Ok(Expr::InList {
        expr: Box::new(column),
        list: values.into_iter().map(value).collect(),
        negated: false,
    })
}

/// The query with the `ORDER BY` and the `LIMIT` that follow.
fn ordered(mut query: Box<Query>, parser: &mut Parser<'_>) -> Parsed<Box<Query>> {
    query.order_by = parser.parse_optional_order_by()?;
    if parser.parse_keyword(Keyword::LIMIT) {
        query.limit_clause = Some(LimitClause::LimitOffset {
            limit: Some(parser.parse_expr()?),
            offset: None,
            limit_by: Vec::new(),
        });
    }
    Ok(query)
}

fn count() -> Parsed<ExprWithAlias> {
    let item = select(&mut *query("SELECT count(*)")?).and_then(|select| select.projection.pop());
    match item {
        Some(SelectItem::UnnamedExpr(expr)) => Ok(ExprWithAlias { expr, alias: None }),
        _ => Err(refused("no aggregate")),
    }
}

fn refused(reason: &str) -> ParserError {
    ParserError::ParserError(reason.to_owned())
}

/// A table of the columns that rows are made by, and of those that are asked for.
fn only(
    table: TableFactor,
    rows: Vec<Expr>,
    across: &[Expr],
    aggregates: &[ExprWithAlias],
) -> Parsed<TableFactor> {
    let asked = aggregates.iter().map(|aggregate| &aggregate.expr);
    let asked = columns(across.iter().chain(asked));
    let both = rows.iter().find(|row| match row {
        Expr::Identifier(row) => asked.iter().any(|asked| same(asked, row)),
        _ => false,
    });
    if let Some(row) = both {
        let reason = format!("PIVOT: `{row}` cannot be in GROUP BY and in ON or USING as well");
        return Err(refused(&reason));
    }
    let mut all = all_of(table)?;
    if let Some(select) = select(&mut all) {
        let rows = rows.into_iter().map(SelectItem::UnnamedExpr);
        let asked = asked
            .into_iter()
            .map(|name| SelectItem::UnnamedExpr(Expr::Identifier(name)));
        select.projection = rows.chain(asked).collect();
    }
    Ok(derived(all))
}

/// Two spellings of one name.
pub(in crate::query) fn same(one: &Ident, other: &Ident) -> bool {
    let spelled = |name: &Ident| match name.quote_style {
        Some(_) => name.value.clone(),
        None => name.value.to_lowercase(),
    };
    spelled(one) == spelled(other)
}

/// The columns that expressions name, each once.
pub(in crate::query) fn columns<'a>(exprs: impl IntoIterator<Item = &'a Expr>) -> Vec<Ident> {
    struct Columns(Vec<Ident>);
    impl Visitor for Columns {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            let name = match expr {
                Expr::Identifier(name) => Some(name),
                Expr::CompoundIdentifier(names) => names.last(),
                _ => None,
            };
            if let Some(name) = name
                && !self.0.iter().any(|known| same(known, name))
            {
                self.0.push(name.clone());
            }
            ControlFlow::Continue(())
        }
    }
    let mut columns = Columns(Vec::new());
    for expr in exprs {
        let _ = expr.visit(&mut columns);
    }
    columns.0
}

fn unpivot(parser: &mut Parser<'_>) -> Parsed<Box<Query>> {
    let table = table(parser)?;
    parser.expect_keyword_is(Keyword::ON)?;
    let columns = parser.parse_comma_separated(Parser::parse_expr_with_alias)?;
    let (mut name, mut value) = (Ident::new("name"), Ident::new("value"));
    if parser.parse_keyword(Keyword::INTO) {
        parser.expect_keyword_is(Keyword::NAME)?;
        name = parser.parse_identifier()?;
        parser.expect_keyword_is(Keyword::VALUE)?;
        value = parser.parse_identifier()?;
    }
    let query = all_of(TableFactor::Unpivot {
        table: Box::new(table),
        value: Expr::Identifier(value),
        name,
        columns,
        null_inclusion: Some(NullInclusion::ExcludeNulls),
        alias: None,
    })?;
    ordered(query, parser)
}

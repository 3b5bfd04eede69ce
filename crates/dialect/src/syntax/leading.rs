//! DuckDB statements with a leading keyword: `SUMMARIZE`, `DESCRIBE`, `PIVOT`, `UNPIVOT`.
//!
//! Each is parsed as an equivalent query. `SUMMARIZE t` and `DESCRIBE t` become one of the relations [`SUMMARIZE`] and
//! [`DESCRIBE`], the others become `t PIVOT (...)` and `t UNPIVOT (...)` of standard SQL.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, ExprWithAlias, FunctionArg, FunctionArgExpr, Ident, LimitClause, NullInclusion,
    ObjectName, PivotValueSource, Query, SelectItem, Statement, TableFactor, Visit as _, Visitor,
};
use datafusion::sql::sqlparser::dialect::{Dialect as _, PostgreSqlDialect, Precedence};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;

use super::pieces::{derived_table, first_select, parse_query, select_all_from};
use tsql_engine::{DESCRIBE, SUMMARIZE};

type Parsed<T> = Result<T, ParserError>;

/// Parses one of these statements; `None` if the first word is another one.
pub(crate) fn parse_statement(parser: &mut Parser<'_>) -> Option<Parsed<Statement>> {
    let Token::Word(word) = &parser.peek_token_ref().token else {
        return None;
    };
    if word.quote_style.is_some() {
        return None;
    }
    let parse = match word.value.to_ascii_uppercase().as_str() {
        "SUMMARIZE" => parse_summarize,
        "DESC" | "DESCRIBE" => parse_describe,
        "PIVOT" => parse_pivot,
        "UNPIVOT" => parse_unpivot,
        _ => return None,
    };
    parser.next_token();
    Some(parse(parser).map(Statement::Query))
}

/// Parses a table, or a query as a derived table.
fn parse_table(parser: &mut Parser<'_>) -> Parsed<TableFactor> {
    let begins = [
        Keyword::SELECT,
        Keyword::WITH,
        Keyword::FROM,
        Keyword::VALUES,
    ];
    if begins.into_iter().any(|word| parser.peek_keyword(word)) {
        return parser.parse_query().map(derived_table);
    }
    parser.parse_table_factor()
}

fn parse_describe(parser: &mut Parser<'_>) -> Parsed<Box<Query>> {
    let _ = parser.parse_keyword(Keyword::TABLE);
    let all = select_all_from(parse_table(parser)?)?;
    select_all_from(table_function(DESCRIBE, all, []))
}

fn parse_summarize(parser: &mut Parser<'_>) -> Parsed<Box<Query>> {
    let all = select_all_from(parse_table(parser)?)?;
    select_all_from(table_function(SUMMARIZE, all, []))
}

/// A table function that [`tsql_engine::relations`] plans.
pub(crate) fn table_function(
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

fn parse_pivot(parser: &mut Parser<'_>) -> Parsed<Box<Query>> {
    let table = parse_table(parser)?;
    parser.expect_keyword_is(Keyword::ON)?;
    let across = parser.parse_comma_separated(parse_pivot_column)?;
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
        project_columns(table, rows, &across, &aggregates)?
    });
    let query = select_all_from(TableFactor::Pivot {
        table,
        aggregate_functions: aggregates,
        value_column: across,
        value_source: PivotValueSource::Any(Vec::new()),
        default_on_null: None,
        alias: None,
    })?;
    parse_order_and_limit(query, parser)
}

/// Parses a pivot column, with the values that `IN` lists for it.
fn parse_pivot_column(parser: &mut Parser<'_>) -> Parsed<Expr> {
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

/// Parses the `ORDER BY` and `LIMIT` that follow, and adds them to the query.
fn parse_order_and_limit(mut query: Box<Query>, parser: &mut Parser<'_>) -> Parsed<Box<Query>> {
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
    let item = first_select(&mut *parse_query("SELECT count(*)")?)
        .and_then(|select| select.projection.pop());
    match item {
        Some(SelectItem::UnnamedExpr(expr)) => Ok(ExprWithAlias { expr, alias: None }),
        _ => Err(parser_error("no aggregate")),
    }
}

fn parser_error(reason: &str) -> ParserError {
    ParserError::ParserError(reason.to_owned())
}

/// Projects a table to the pivot columns, the grouping columns and the columns of the aggregates.
fn project_columns(
    table: TableFactor,
    rows: Vec<Expr>,
    across: &[Expr],
    aggregates: &[ExprWithAlias],
) -> Parsed<TableFactor> {
    let asked = aggregates.iter().map(|aggregate| &aggregate.expr);
    let asked = column_names(across.iter().chain(asked));
    let both = rows.iter().find(|row| match row {
        Expr::Identifier(row) => asked.iter().any(|asked| same_identifier(asked, row)),
        _ => false,
    });
    if let Some(row) = both {
        let reason = format!("PIVOT: `{row}` cannot be both in GROUP BY and in ON or USING");
        return Err(parser_error(&reason));
    }
    let mut all = select_all_from(table)?;
    if let Some(select) = first_select(&mut all) {
        let rows = rows.into_iter().map(SelectItem::UnnamedExpr);
        let asked = asked
            .into_iter()
            .map(|name| SelectItem::UnnamedExpr(Expr::Identifier(name)));
        select.projection = rows.chain(asked).collect();
    }
    Ok(derived_table(all))
}

/// Returns whether two spellings denote the same name.
pub(crate) fn same_identifier(one: &Ident, other: &Ident) -> bool {
    let spelled = |name: &Ident| match name.quote_style {
        Some(_) => name.value.clone(),
        None => name.value.to_lowercase(),
    };
    spelled(one) == spelled(other)
}

/// Columns that expressions reference, each once.
pub(crate) fn column_names<'a>(exprs: impl IntoIterator<Item = &'a Expr>) -> Vec<Ident> {
    struct ColumnCollector(Vec<Ident>);
    impl Visitor for ColumnCollector {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            let name = match expr {
                Expr::Identifier(name) => Some(name),
                Expr::CompoundIdentifier(names) => names.last(),
                _ => None,
            };
            if let Some(name) = name
                && !self.0.iter().any(|known| same_identifier(known, name))
            {
                self.0.push(name.clone());
            }
            ControlFlow::Continue(())
        }
    }
    let mut columns = ColumnCollector(Vec::new());
    for expr in exprs {
        let _ = expr.visit(&mut columns);
    }
    columns.0
}

fn parse_unpivot(parser: &mut Parser<'_>) -> Parsed<Box<Query>> {
    let table = parse_table(parser)?;
    parser.expect_keyword_is(Keyword::ON)?;
    let columns = parser.parse_comma_separated(Parser::parse_expr_with_alias)?;
    let (mut name, mut value) = (Ident::new("name"), Ident::new("value"));
    if parser.parse_keyword(Keyword::INTO) {
        parser.expect_keyword_is(Keyword::NAME)?;
        name = parser.parse_identifier()?;
        parser.expect_keyword_is(Keyword::VALUE)?;
        value = parser.parse_identifier()?;
    }
    let query = select_all_from(TableFactor::Unpivot {
        table: Box::new(table),
        value: Expr::Identifier(value),
        name,
        columns,
        null_inclusion: Some(NullInclusion::ExcludeNulls),
        alias: None,
    })?;
    parse_order_and_limit(query, parser)
}

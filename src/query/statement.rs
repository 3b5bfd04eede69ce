//! SQL as people type it, in a form that DataFusion's planner takes.
//!
//! | typed | planned |
//! |---|---|
//! | `FETCH FIRST 5 ROWS ONLY` | `LIMIT 5` |
//! | `SELECT a, a`, `SELECT (SELECT 1), (SELECT 2)` | names made unique: `a`, `a_2` |
//! | `WHERE (a, b) IN (SELECT x, y ...)` | `EXISTS`, which is the same where a row is kept or not |
//! | `a OR b OR c OR d` | `(a OR b) OR (c OR d)`, where there are many |
//! | `FROM t WHERE a > 1`, `SELECT a, FROM t` | `SELECT * FROM t WHERE a > 1`, `SELECT a FROM t` |
//! | `SELECT * RENAME (a AS b) FROM t` | the same without it, in a relation that names its columns |
//! | `sum(a), sum(CAST(a AS DOUBLE))` | a cast that has a name of its own (see [`casts`]) |
//! | `ORDER BY ALL`, `SELECT DISTINCT x % 3 ... ORDER BY x % 3` | `ORDER BY 1, 2, 3`, `ORDER BY 1` |
//! | `x = ANY([1, 2])`, `x > ANY(list)` | `x IN (1, 2)`, `NOT x <= ALL(list)` (see [`quantified`]) |
//! | `year(t)`, `count_if(a > 1)`, `quantile_cont(x, [0.1, 0.9])` | calls that there are (see [`calls`]) |
//! | `(a, b) < (1, 2)`, `CASE x WHEN 1 THEN y END` | `a < 1 OR a = 1 AND b < 2`, `CASE WHEN x = 1 THEN y END` (see [`rows`]) |
//! | `SEMI JOIN`, `ANTI JOIN` | `LEFT SEMI JOIN`, `LEFT ANTI JOIN` |
//! | `SHOW TABLES`, `SHOW tsql.rules` | queries of the tables that need no schema, and of the rules with their switches |
//! | `SUMMARIZE t`, `FROM (SUMMARIZE t)`, `DESCRIBE t` | a relation of a row for each column |
//! | `SELECT 1, round(x, 2)` | `SELECT 1 AS "1", round(x, 2) AS "round(x, 2)"` |
//! | `PIVOT t ON k USING sum(x)`, `t PIVOT (sum(x) FOR k IN ('a'))` | `sum(x) FILTER (WHERE k = 'a') AS a ... GROUP BY ALL` |
//! | `UNPIVOT t ON a, b`, `t UNPIVOT (v FOR n IN (a, b))` | `unnest(['a', 'b']) AS n, unnest([a, b]) AS v` |
//! | `split('by-task')`, `table_version('records')` | an expression over the keys of a record (see [`splits`]), a number |
//! | `config_key` of `records` | the same column of `configurations`, joined (see [`keys`]) |
//! | `a IS DISTINCT FROM b AND c` | `(a IS DISTINCT FROM b) AND c`, as it is meant (see `upstream_workarounds`) |
//!
//! This is for text that comes from people; sessions of the library take what DataFusion takes.

mod boolean;
mod calls;
mod casts;
mod depth;
mod grouped;
mod keys;
mod names;
mod ordinals;
mod pivot;
mod quantified;
mod renamed;
mod row_in;
mod rows;
pub(super) mod splits;
mod store_writes;
#[cfg(test)]
mod tests;
mod walk;
mod words;

use std::collections::VecDeque;
use std::ops::ControlFlow;

use datafusion::common::config::ConfigExtension as _;
use datafusion::dataframe::DataFrame;
use datafusion::logical_expr::LogicalPlan;
use datafusion::prelude::SessionContext;
use datafusion::sql::parser::{DFParserBuilder, Statement};
use datafusion::sql::sqlparser::ast::{
    Expr, JoinOperator, LimitClause, Query, Select, Statement as SqlStatement, TableFactor, Value,
    VisitorMut,
};
use datafusion::sql::sqlparser::parser::{Parser, ParserError};

use super::dialect::Typed;
use super::engine::check_changes;
use super::files::as_table;
use super::mistakes::{unplanned, unread};
use super::placeholders::bound;
use crate::error::{Error, Result};
use crate::store::Settings;
use depth::Depth;
use walk::walk;

/// Stack for the longest chains; what is not used of it takes no memory.
const STACK_BYTES: usize = 64 << 20;

/// `SHOW TABLES`: DataFusion's lists the schemas of stored columns and of itself too.
const OWN_TABLES: &str = "SELECT table_name, table_type FROM information_schema.tables \
                          WHERE table_schema = 'public' ORDER BY table_name";

/// `SHOW tsql.rules`: the switches of rules among all settings.
const RULES: &str = "SELECT substr(name, 7) AS rule, value = 'true' AS enabled, description \
                     FROM information_schema.df_settings WHERE starts_with(name, 'rules.') ORDER BY rule";

/// The statements of a text, ready to be planned.
///
/// # Errors
/// [`Error::Sql`] where it is no SQL, [`Error::Refused`] for what is refused.
pub(crate) fn statements(sql: &str) -> Result<VecDeque<Statement>> {
    depth::bounded(sql, &Typed)?;
    // Chains are as deep as they are long until they are balanced: even to drop them takes stack.
    stacker::grow(STACK_BYTES, || parsed(sql))
}

fn parsed(sql: &str) -> Result<VecDeque<Statement>> {
    let words = words::words(sql);
    let words = words.map_err(|error| unread(ParserError::from(error).into(), sql))?;
    let mut grouped = Vec::new();
    let words = grouped::taken_out(words, &mut grouped);
    let words = words.map_err(|error| unread(error.into(), sql))?;
    let parser = DFParserBuilder::new(words).with_dialect(&Typed).build();
    let parsed = parser.and_then(|mut parser| parser.parse_statements());
    let mut statements = parsed.map_err(|error| unread(error, sql))?;
    let compares = sql.to_ascii_uppercase().contains("DISTINCT");
    for statement in &mut statements {
        keys::written(statement, sql)?;
        let mut written = Written {
            compares,
            grouped: &grouped,
            depth: Depth::default(),
        };
        if let ControlFlow::Break(error) = walk(statement, &mut written) {
            return Err(error);
        }
    }
    Ok(statements)
}

/// Plans a statement of the text `sql`.
///
/// # Errors
/// [`Error::Sql`] where it cannot be, [`Error::Refused`] for what is refused.
pub(crate) async fn planned(
    context: &SessionContext,
    statement: Statement,
    sql: &str,
) -> Result<DataFrame> {
    planned_with(context, statement, sql, &[]).await
}

/// Plans a statement of the text `sql`, with the `given` values for its `$NAME`.
///
/// # Errors
/// As [`planned`]; [`Error::Argument`] where a value is none of its type.
pub(crate) async fn planned_with(
    context: &SessionContext,
    statement: Statement,
    sql: &str,
    given: &[(String, String)],
) -> Result<DataFrame> {
    let bind = |plan| match given {
        [] => Ok(plan),
        given => bound(plan, given),
    };
    planned_by(context, statement, sql, bind).await
}

/// Plans a statement of the text `sql`; `bind` gives the plan its values.
///
/// # Errors
/// As [`planned`], and those of `bind`.
pub(super) async fn planned_by(
    context: &SessionContext,
    mut statement: Statement,
    sql: &str,
    bind: impl Fn(LogicalPlan) -> Result<LogicalPlan>,
) -> Result<DataFrame> {
    pivot::written(context, &mut statement).await?;
    let out = splits::written(context, &mut statement).await?;
    let plan = context.state().statement_to_plan(statement).await;
    let plan = plan.map_err(|error| out.explained(unplanned(error, sql, context)))?;
    let plan = bind(out.kept(plan))?;
    check_changes(&plan, context.state().config_options())?;
    let frame = context.execute_logical_plan(plan).await;
    frame.map_err(|error| unplanned(error, sql, context))
}

/// Rewrites one statement.
struct Written<'a> {
    /// It has `DISTINCT` somewhere, maybe in `IS DISTINCT FROM`.
    compares: bool,
    /// Statements that stand in parentheses.
    grouped: &'a [Query],
    depth: Depth,
}

impl VisitorMut for Written<'_> {
    type Break = Error;

    fn pre_visit_statement(&mut self, statement: &mut SqlStatement) -> ControlFlow<Error> {
        if let Err(error) = store_writes::check(statement) {
            return ControlFlow::Break(error);
        }
        match rewrite_show(statement) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        ordinals::of_distinct(query);
        casts::name(query);
        let united = depth::united(query).and_then(|()| limited(query));
        match united.and_then(|()| ordinals::count(query)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Error> {
        grouped::put_back(factor, self.grouped);
        as_table(factor);
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        if let Err(error) = renamed::last(select) {
            return ControlFlow::Break(error);
        }
        for joined in select.from.iter_mut().flat_map(|from| &mut from.joins) {
            name_side(&mut joined.join_operator);
        }
        names::make_unique(&mut select.projection);
        for condition in [&mut select.selection, &mut select.having] {
            if let Some(condition) = condition
                && let Err(error) = row_in::exists(condition)
            {
                return ControlFlow::Break(error);
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        if self.compares {
            boolean::regroup(expr);
        }
        calls::write(expr);
        quantified::write(expr);
        rows::compare(expr);
        depth::balance(expr);
        let selected = row_in::select_values(expr);
        match selected.and_then(|()| self.depth.enter(expr)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        self.depth.leave(expr);
        ControlFlow::Continue(())
    }
}

/// `SEMI JOIN` as `LEFT SEMI JOIN`, `ANTI JOIN` as `LEFT ANTI JOIN`.
fn name_side(operator: &mut JoinOperator) {
    match operator {
        JoinOperator::Semi(on) => *operator = JoinOperator::LeftSemi(on.clone()),
        JoinOperator::Anti(on) => *operator = JoinOperator::LeftAnti(on.clone()),
        _ => {}
    }
}

/// Rewrites `SHOW TABLES` and `SHOW tsql.NAME`. DataFusion lists settings of extensions without their prefix.
fn rewrite_show(statement: &mut SqlStatement) -> Result<()> {
    match statement {
        SqlStatement::ShowTables { .. } => *statement = query(OWN_TABLES)?,
        SqlStatement::ShowVariable { variable } => {
            let names: Vec<String> = variable
                .iter()
                .map(|name| name.value.to_lowercase())
                .collect();
            match names.as_slice() {
                [prefix, name] if prefix == Settings::PREFIX && name == "rules" => {
                    *statement = query(RULES)?
                }
                [prefix, _, ..] if prefix == Settings::PREFIX => {
                    variable.remove(0);
                }
                _ => {}
            }
        }
        _ => {}
    }
    Ok(())
}

/// Parses a query of our own.
fn query(sql: &str) -> Result<SqlStatement> {
    let parsed = Parser::parse_sql(&Typed, sql);
    let parsed = parsed.map_err(|error| unread(error.into(), sql))?;
    let query = parsed.into_iter().next();
    query.ok_or_else(|| Error::Refused("the query is empty".to_owned()))
}

/// `FETCH FIRST n ROWS ONLY` as `LIMIT n`.
fn limited(query: &mut Query) -> Result<()> {
    let Some(fetch) = query.fetch.take() else {
        return Ok(());
    };
    if fetch.with_ties || fetch.percent {
        let reason = "FETCH takes a number of rows: no PERCENT, no WITH TIES\n\
                      hint: rank() OVER (ORDER BY ...) AS place in a subquery, then WHERE place <= n";
        return Err(Error::Refused(reason.to_owned()));
    }
    let one = || Expr::Value(Value::Number("1".to_owned(), false).into());
    let rows = fetch.quantity.unwrap_or_else(one);
    let offset = match query.limit_clause.take() {
        None => None,
        Some(LimitClause::LimitOffset {
            limit: None,
            offset,
            limit_by,
        }) if limit_by.is_empty() => offset,
        Some(_) => {
            let reason = "LIMIT and FETCH both say how many rows are wanted";
            return Err(Error::Refused(reason.to_owned()));
        }
    };
    query.limit_clause = Some(LimitClause::LimitOffset {
        limit: Some(rows),
        offset,
        limit_by: Vec::new(),
    });
    Ok(())
}

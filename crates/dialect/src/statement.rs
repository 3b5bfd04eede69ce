//! Rewrites SQL of tsql's dialect to a form that DataFusion's planner accepts.
//!
//! | input | rewritten |
//! |---|---|
//! | `FETCH FIRST 5 ROWS ONLY` | `LIMIT 5` |
//! | `SELECT a, a`, `SELECT (SELECT 1), (SELECT 2)` | names made unique: `a`, `a_2` |
//! | `WHERE (a, b) IN (SELECT x, y ...)` | `EXISTS`, which is equivalent in filters |
//! | `a OR b OR c OR d` | `(a OR b) OR (c OR d)`, for long chains |
//! | `FROM t WHERE a > 1`, `SELECT a, FROM t` | `SELECT * FROM t WHERE a > 1`, `SELECT a FROM t` |
//! | `SELECT * RENAME (a AS b) FROM t` | the same without `RENAME`, inside of a renaming relation |
//! | `sum(a), sum(CAST(a AS DOUBLE))` | a cast with its own name (see `casts`) |
//! | `ORDER BY ALL`, `SELECT DISTINCT x % 3 ... ORDER BY x % 3` | `ORDER BY 1, 2, 3`, `ORDER BY 1` |
//! | `x = ANY([1, 2])`, `x > ANY(list)` | `x IN (1, 2)`, `NOT x <= ALL(list)` (see `quantified`) |
//! | `year(t)`, `if(a, b, c)`, `quantile_cont(x, [0.1, 0.9])`, `a // b` | existing functions and operators (see `calls`) |
//! | `(a, b) < (1, 2)`, `CASE x WHEN 1 THEN y END` | `a < 1 OR a = 1 AND b < 2`, `CASE WHEN x = 1 THEN y END` (see `rows`) |
//! | `OVER (w ORDER BY i) ... WINDOW w AS (PARTITION BY g)` | `OVER (PARTITION BY g ORDER BY i)` (see `named_windows`) |
//! | `SELECT k FROM a FULL JOIN b USING (k)` | `SELECT coalesce(a.k, b.k) AS k ...` (see `using_columns`) |
//! | `SEMI JOIN`, `ANTI JOIN` | `LEFT SEMI JOIN`, `LEFT ANTI JOIN` |
//! | `SHOW TABLES`, `SHOW tsql.rules` | queries for the tables of the default schema, and for the rules with their settings |
//! | `SUMMARIZE t`, `FROM (SUMMARIZE t)`, `DESCRIBE t` | a relation with a row per column |
//! | `SELECT 1, round(x, 2)` | `SELECT 1 AS "1", round(x, 2) AS "round(x, 2)"` |
//! | `PIVOT t ON k USING sum(x)`, `t PIVOT (sum(x) FOR k IN ('a'))` | `sum(x) FILTER (WHERE k = 'a') AS a ... GROUP BY ALL` |
//! | `UNPIVOT t ON a, b`, `t UNPIVOT (v FOR n IN (a, b))` | `unnest(['a', 'b']) AS n, unnest([a, b]) AS v` |
//! | `split('by-task')`, `table_version('records')` | an expression over the keys of a record (see [`splits`]), a number |
//! | `config_key` of `records` | the same column of `configurations`, joined (see `keys`) |
//! | `CREATE TEMP TABLE t AS ...` | `CREATE TABLE t AS ...`: both end with the session |
//! | `unnest($a)` with a list | `unnest(arrow_cast($a, 'List(Int64)'))` (see `list_arguments`) |
//! | `a IS DISTINCT FROM b AND c` | `(a IS DISTINCT FROM b) AND c`, as the standard defines (see `workarounds` of `tensorsql-engine`) |
//!
//! This applies to text from users. Sessions of the library accept what DataFusion accepts.

mod boolean;
mod calls;
mod casts;
mod depth;
mod intervals;
mod json_operators;
mod keys;
mod list_arguments;
mod named_windows;
mod names;
mod ordinals;
mod parenthesized;
mod pivot;
mod quantified;
mod row_in;
mod rows;
pub mod splits;
mod star_rename;
mod store_writes;
#[cfg(test)]
mod tests;
mod token_rewrites;
mod using_columns;
mod walk;

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

use crate::diagnostics::{parse_error, planning_error};
use crate::placeholders::bind_placeholders;
use crate::syntax::TsqlDialect;
use depth::OperatorDepth;
pub use list_arguments::cast_list_arguments;
use tsql_engine::check_setting_changes;
use tsql_engine::rewrite_read_call;
use tsql_error::{Error, Result};
use tsql_schema as schema;
use tsql_store::Settings;
use walk::visit_statement;

/// Stack size for the longest chains. Unused stack takes no memory.
const STACK_BYTES: usize = 64 << 20;

/// `SHOW tsql.rules`: the rule switches among all settings.
const SHOW_RULES: &str = "SELECT substr(name, 7) AS rule, value = 'true' AS enabled, description \
                     FROM information_schema.df_settings WHERE starts_with(name, 'rules.') ORDER BY rule";

/// Parses and rewrites the statements of a text.
///
/// # Errors
/// [`Error::Sql`] for invalid SQL, [`Error::Refused`] for unsupported statements.
pub fn parse_statements(sql: &str) -> Result<VecDeque<Statement>> {
    depth::check_chain_length(sql, &TsqlDialect)?;
    // Before balancing, chains are as deep as they are long. Even dropping them takes stack.
    stacker::grow(STACK_BYTES, || parse(sql))
}

fn parse(sql: &str) -> Result<VecDeque<Statement>> {
    let words = token_rewrites::rewrite_tokens(sql);
    let words = words.map_err(|error| parse_error(ParserError::from(error).into(), sql))?;
    let mut grouped = Vec::new();
    let words = parenthesized::extract_statements(words, &mut grouped);
    let words = words.map_err(|error| parse_error(error.into(), sql))?;
    let parser = DFParserBuilder::new(words)
        .with_dialect(&TsqlDialect)
        .build();
    let parsed = parser.and_then(|mut parser| parser.parse_statements());
    let mut statements = parsed.map_err(|error| parse_error(error, sql))?;
    let uppercase = sql.to_ascii_uppercase();
    let (compares, has_windows) = (uppercase.contains("DISTINCT"), uppercase.contains("OVER"));
    for statement in &mut statements {
        keys::expand_keys(statement, sql)?;
        let mut written = StatementRewriter {
            compares,
            has_windows,
            grouped: &grouped,
            depth: OperatorDepth::default(),
        };
        if let ControlFlow::Break(error) = visit_statement(statement, &mut written) {
            return Err(error);
        }
    }
    Ok(statements)
}

/// Plans a statement of the text `sql`.
///
/// # Errors
/// [`Error::Sql`] if it cannot be planned, [`Error::Refused`] for unsupported statements.
pub async fn plan_statement(
    context: &SessionContext,
    statement: Statement,
    sql: &str,
) -> Result<DataFrame> {
    plan_with_values(context, statement, sql, &[]).await
}

/// Plans a statement of the text `sql`, with the `given` values for `$NAME`.
///
/// # Errors
/// As [`plan_statement`]; [`Error::Argument`] for a value of a wrong type.
pub async fn plan_with_values(
    context: &SessionContext,
    statement: Statement,
    sql: &str,
    given: &[(String, String)],
) -> Result<DataFrame> {
    let bind = |plan| match given {
        [] => Ok(plan),
        given => bind_placeholders(plan, given),
    };
    plan_with(context, statement, sql, bind).await
}

/// Plans a statement of the text `sql`; `bind` binds values to the plan.
///
/// # Errors
/// As [`plan_statement`], and those of `bind`.
pub async fn plan_with(
    context: &SessionContext,
    mut statement: Statement,
    sql: &str,
    bind: impl Fn(LogicalPlan) -> Result<LogicalPlan>,
) -> Result<DataFrame> {
    pivot::expand_pivots(context, &mut statement).await?;
    let out = splits::expand_calls(context, &mut statement).await?;
    let plan = context.state().statement_to_plan(statement).await;
    let plan = plan.map_err(|error| out.explain_error(planning_error(error, sql, context)))?;
    let plan = bind(out.restore_view_text(plan))?;
    check_setting_changes(&plan, context.state().config_options())?;
    json_operators::check_plan(&plan, sql)?;
    let frame = context.execute_logical_plan(plan).await;
    frame.map_err(|error| planning_error(error, sql, context))
}

/// Rewriter of one statement.
struct StatementRewriter<'a> {
    /// Whether the text has `DISTINCT`, possibly in `IS DISTINCT FROM`.
    compares: bool,
    /// Whether the text has `OVER`.
    has_windows: bool,
    /// Parenthesized statements.
    grouped: &'a [Query],
    depth: OperatorDepth,
}

impl VisitorMut for StatementRewriter<'_> {
    type Break = Error;

    fn pre_visit_statement(&mut self, statement: &mut SqlStatement) -> ControlFlow<Error> {
        if let Err(error) = store_writes::check(statement) {
            return ControlFlow::Break(error);
        }
        store_writes::drop_temporary(statement);
        match rewrite_show(statement) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        let named = match self.has_windows {
            true => named_windows::replace_in_query(query),
            false => Ok(()),
        };
        if let Err(error) = named.and_then(|()| using_columns::replace_in_query(query)) {
            return ControlFlow::Break(error);
        }
        ordinals::order_distinct_by_position(query);
        casts::name_casts(query);
        let united = depth::check_set_operations(query).and_then(|()| rewrite_fetch(query));
        match united.and_then(|()| ordinals::expand_order_by_all(query)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Error> {
        parenthesized::restore_statement(factor, self.grouped);
        rewrite_read_call(factor);
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        let named = match self.has_windows {
            true => named_windows::replace_in_select(select),
            false => Ok(()),
        };
        let renamed = named
            .and_then(|()| using_columns::replace_in_select(select))
            .and_then(|()| star_rename::rewrite_rename(select));
        if let Err(error) = renamed {
            return ControlFlow::Break(error);
        }
        for joined in select.from.iter_mut().flat_map(|from| &mut from.joins) {
            rewrite_join_side(&mut joined.join_operator);
        }
        names::make_unique(&mut select.projection);
        for condition in [&mut select.selection, &mut select.having] {
            if let Some(condition) = condition
                && let Err(error) = row_in::rewrite_conditions(condition)
            {
                return ControlFlow::Break(error);
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        if let Err(error) = json_operators::check_expr(expr) {
            return ControlFlow::Break(error);
        }
        if self.compares {
            boolean::regroup(expr);
        }
        calls::rewrite_call(expr);
        calls::rewrite_fields(expr);
        intervals::quote_number(expr);
        quantified::rewrite_any(expr);
        rows::rewrite_comparison(expr);
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

/// Rewrites `SEMI JOIN` to `LEFT SEMI JOIN`, and `ANTI JOIN` to `LEFT ANTI JOIN`.
fn rewrite_join_side(operator: &mut JoinOperator) {
    match operator {
        JoinOperator::Semi(on) => *operator = JoinOperator::LeftSemi(on.clone()),
        JoinOperator::Anti(on) => *operator = JoinOperator::LeftAnti(on.clone()),
        _ => {}
    }
}

/// Rewrites `SHOW TABLES` and `SHOW tsql.NAME`. DataFusion lists settings of extensions without their prefix.
fn rewrite_show(statement: &mut SqlStatement) -> Result<()> {
    match statement {
        SqlStatement::ShowTables { .. } => *statement = parse_own_query(&show_tables())?,
        SqlStatement::ShowVariable { variable } => {
            let names: Vec<String> = variable
                .iter()
                .map(|name| name.value.to_lowercase())
                .collect();
            match names.as_slice() {
                [prefix, name] if prefix == Settings::PREFIX && name == "rules" => {
                    *statement = parse_own_query(SHOW_RULES)?
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

/// `SHOW TABLES` without the schemas of stored columns and of DataFusion itself, important tables first.
fn show_tables() -> String {
    let ranks = schema::FIRST_LISTED.iter().enumerate();
    let ranks = ranks.map(|(rank, name)| format!("WHEN table_name = '{name}' THEN {rank}"));
    format!(
        "SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = 'public' \
         ORDER BY CASE {} END NULLS LAST, table_name",
        ranks.collect::<Vec<_>>().join(" ")
    )
}

/// Parses an internal query.
fn parse_own_query(sql: &str) -> Result<SqlStatement> {
    let parsed = Parser::parse_sql(&TsqlDialect, sql);
    let parsed = parsed.map_err(|error| parse_error(error.into(), sql))?;
    let query = parsed.into_iter().next();
    query.ok_or_else(|| Error::Refused("the query is empty".to_owned()))
}

/// Rewrites `FETCH FIRST n ROWS ONLY` to `LIMIT n`.
fn rewrite_fetch(query: &mut Query) -> Result<()> {
    let Some(fetch) = query.fetch.take() else {
        return Ok(());
    };
    if fetch.with_ties || fetch.percent {
        let reason = "FETCH supports neither PERCENT nor WITH TIES, expected a number of rows\n\
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
            let reason = "the query has both LIMIT and FETCH, expected one of them";
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

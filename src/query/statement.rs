//! SQL as people type it, in a form that DataFusion's planner takes.
//!
//! | typed | planned |
//! |---|---|
//! | `FETCH FIRST 5 ROWS ONLY` | `LIMIT 5` |
//! | `SELECT a, a`, `SELECT (SELECT 1), (SELECT 2)` | names made unique: `a`, `a_2` |
//! | `WHERE (a, b) IN (SELECT x, y ...)` | `EXISTS`, which is the same where a row is kept or not |
//! | `a OR b OR c OR d` | `(a OR b) OR (c OR d)`, where there are many |
//! | `a IS DISTINCT FROM b AND c` | `(a IS DISTINCT FROM b) AND c`, as it is meant (see `mended`) |
//!
//! This is for text that comes from people; sessions of the library take what DataFusion takes.

mod boolean;
mod depth;
mod names;
mod pieces;
mod row_in;

use std::collections::VecDeque;
use std::ops::ControlFlow;

use datafusion::dataframe::DataFrame;
use datafusion::prelude::SessionContext;
use datafusion::sql::parser::{CopyToSource, DFParser, Statement};
use datafusion::sql::sqlparser::ast::{
    Expr, LimitClause, Query, Select, Set, Statement as SqlStatement, TableFactor, Value,
    VisitMut as _, VisitorMut,
};

use super::dialect::Typed;
use super::engine::may_be_set;
use super::files::as_table;
use super::mistakes::{unplanned, unread};
use super::placeholders::bound;
use crate::error::{Error, Result};
use depth::Depth;

/// Stack for the longest chains; what is not used of it takes no memory.
const STACK_BYTES: usize = 64 << 20;

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
    let parsed = DFParser::parse_sql_with_dialect(sql, &Typed);
    let mut statements = parsed.map_err(|error| unread(error, sql))?;
    let compares = sql.to_ascii_uppercase().contains("DISTINCT");
    for statement in &mut statements {
        let mut written = Written {
            compares,
            depth: Depth::default(),
        };
        write(statement, &mut written)?;
    }
    Ok(statements)
}

/// Plans a statement of the text `sql`.
///
/// # Errors
/// [`Error::Sql`] where it cannot be.
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
/// [`Error::Sql`] where it cannot be, [`Error::Argument`] where a value is none of its type.
pub(crate) async fn planned_with(
    context: &SessionContext,
    statement: Statement,
    sql: &str,
    given: &[(String, String)],
) -> Result<DataFrame> {
    let plan = context.state().statement_to_plan(statement).await;
    let mut plan = plan.map_err(|error| unplanned(error, sql, context))?;
    if !given.is_empty() {
        plan = bound(plan, given)?;
    }
    let frame = context.execute_logical_plan(plan).await;
    frame.map_err(|error| unplanned(error, sql, context))
}

fn write(statement: &mut Statement, written: &mut Written) -> Result<()> {
    let flow = match statement {
        Statement::Statement(statement) => statement.visit(written),
        Statement::Explain(explain) => return write(&mut explain.statement, written),
        Statement::CopyTo(copy) => match &mut copy.source {
            CopyToSource::Query(query) => query.visit(written),
            CopyToSource::Relation(_) => ControlFlow::Continue(()),
        },
        Statement::CreateExternalTable(_) | Statement::Reset(_) => ControlFlow::Continue(()),
    };
    match flow {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

/// Rewrites one statement.
struct Written {
    /// It has `DISTINCT` somewhere, maybe in `IS DISTINCT FROM`.
    compares: bool,
    depth: Depth,
}

impl VisitorMut for Written {
    type Break = Error;

    fn pre_visit_statement(&mut self, statement: &mut SqlStatement) -> ControlFlow<Error> {
        if let SqlStatement::Set(Set::SingleAssignment { variable, .. }) = statement
            && let Err(error) = may_be_set(&variable.to_string())
        {
            return ControlFlow::Break(error);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        match depth::united(query).and_then(|()| limited(query)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Error> {
        as_table(factor);
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
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
        depth::balance(expr);
        match self.depth.enter(expr) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        self.depth.leave(expr);
        ControlFlow::Continue(())
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn written(sql: &str) -> String {
        statements(sql).unwrap().pop_front().unwrap().to_string()
    }

    #[test]
    fn fetch_is_a_limit() {
        assert_eq!(
            written("SELECT 1 FETCH FIRST 5 ROWS ONLY"),
            "SELECT 1 LIMIT 5"
        );
        assert_eq!(written("SELECT 1 FETCH NEXT ROW ONLY"), "SELECT 1 LIMIT 1");
        let offset = written("SELECT 1 OFFSET 2 ROWS FETCH FIRST 5 ROWS ONLY");
        assert_eq!(offset, "SELECT 1 LIMIT 5 OFFSET 2 ROWS");
        let inside = written("SELECT * FROM (SELECT 1 FETCH FIRST ROW ONLY) AS t");
        assert_eq!(inside, "SELECT * FROM (SELECT 1 LIMIT 1) AS t");
        for refused in [
            "SELECT 1 FETCH FIRST 5 PERCENT ROWS ONLY",
            "SELECT 1 FETCH FIRST 5 ROWS WITH TIES",
        ] {
            assert!(
                matches!(statements(refused), Err(Error::Refused(_))),
                "{refused}"
            );
        }
    }

    #[test]
    fn names_are_unique() {
        for (sql, wanted) in [
            (
                "SELECT a, a, A FROM t",
                "SELECT a, a AS \"a_2\", A AS \"a_3\" FROM t",
            ),
            (
                "SELECT a, CAST(a AS DOUBLE) FROM t",
                "SELECT a, CAST(a AS DOUBLE) AS \"a_2\" FROM t",
            ),
            ("SELECT a.x, b.x FROM a, b", "SELECT a.x, b.x FROM a, b"),
            ("SELECT a, b AS a FROM t", "SELECT a, b AS a FROM t"),
            (
                "SELECT a AS \"a_2\", b, b FROM t",
                "SELECT a AS \"a_2\", b, b AS \"b_2\" FROM t",
            ),
            (
                "SELECT a, a AS \"a_2\", a FROM t",
                "SELECT a, a AS \"a_2\", a AS \"a_3\" FROM t",
            ),
            (
                "SELECT (SELECT count(*) FROM a), (SELECT count(*) FROM b)",
                "SELECT (SELECT count(*) FROM a) AS \"count(*)\", (SELECT count(*) FROM b) AS \"count(*)_2\"",
            ),
            (
                "COPY (SELECT a, a FROM t) TO 'x.csv'",
                "COPY (SELECT a, a AS \"a_2\" FROM t) TO x.csv",
            ),
        ] {
            assert_eq!(written(sql), wanted);
        }
    }

    #[test]
    fn rows_in_a_subquery_exist() {
        let exists = written("SELECT 1 FROM t WHERE (a, b + 1) IN (SELECT x, y FROM u) AND c");
        assert!(
            exists.contains("EXISTS (SELECT 1 FROM (SELECT x, y FROM u) AS "),
            "{exists}"
        );
        assert!(
            exists.contains("= (a)") && exists.contains("= (b + 1)"),
            "{exists}"
        );
        let refused = statements("SELECT 1 FROM t WHERE (a, b) NOT IN (SELECT x, y FROM u)");
        assert!(matches!(refused, Err(Error::Refused(_))));
        let refused = statements("SELECT 1 FROM t WHERE NOT ((a, b) IN (SELECT x, y FROM u))");
        assert!(matches!(refused, Err(Error::Refused(_))));
    }

    #[test]
    fn what_is_distinct_ends_at_and() {
        for (condition, wanted) in [
            ("x IS DISTINCT FROM y AND z", "(x IS DISTINCT FROM y) AND z"),
            (
                "p AND x IS NOT DISTINCT FROM y OR z",
                "p AND (x IS NOT DISTINCT FROM y) OR z",
            ),
            (
                "x IS DISTINCT FROM y AND z IS DISTINCT FROM w OR v",
                "(x IS DISTINCT FROM y) AND (z IS DISTINCT FROM w) OR v",
            ),
            (
                "NOT x IS DISTINCT FROM y AND z",
                "(NOT x IS DISTINCT FROM y) AND z",
            ),
            (
                "x IS DISTINCT FROM (y AND z)",
                "(y AND z) IS DISTINCT FROM x",
            ),
            (
                "(x IS DISTINCT FROM y OR v) AND z",
                "((x IS DISTINCT FROM y) OR v) AND z",
            ),
            ("x = y AND z OR v", "x = y AND z OR v"),
            (
                "CASE WHEN x IS DISTINCT FROM y AND z THEN 1 END = 1",
                "CASE WHEN (x IS DISTINCT FROM y) AND z THEN 1 END = 1",
            ),
        ] {
            let wanted = written(&format!("SELECT {wanted}"));
            let wanted = wanted.replace("(x IS DISTINCT FROM y)", "x IS DISTINCT FROM y");
            let wanted = wanted.replace("(x IS NOT DISTINCT FROM y)", "x IS NOT DISTINCT FROM y");
            let wanted = wanted.replace("(z IS DISTINCT FROM w)", "z IS DISTINCT FROM w");
            let wanted = wanted.replace("(NOT x IS DISTINCT FROM y)", "NOT x IS DISTINCT FROM y");
            assert_eq!(
                written(&format!("SELECT {condition}")),
                wanted,
                "{condition}"
            );
        }
    }

    #[test]
    fn what_is_too_long_or_deep_is_refused_with_a_hint() {
        let chain = |word: &str, count: usize| vec!["1"; count].join(word);
        for (sql, wanted) in [
            (
                format!("SELECT {}", chain(" + ", 50_000)),
                "more than 500 operators",
            ),
            (
                format!("SELECT {}", chain(" || ", 600)),
                "concat(a, b, ...)",
            ),
            (
                format!("SELECT 1{}", "::int".repeat(600)),
                "more than 500 operators",
            ),
            (
                format!("SELECT {}", chain("+", 200_000)),
                "a chain of more than",
            ),
            (
                format!("SELECT 1 WHERE {}", chain(" OR ", 200_000)),
                "`x IN (...)`",
            ),
            (
                chain(" UNION SELECT ", 5000).replacen('1', "SELECT 1", 1),
                "5000 queries in one UNION",
            ),
            (
                format!("SELECT {}1{}", "(".repeat(200), ")".repeat(200)),
                "nests too deep",
            ),
        ] {
            let error = statements(&sql).unwrap_err().to_string();
            assert!(error.contains(wanted), "{error}");
        }
        // Lists are no chains, and what stands in them by itself neither.
        let list = (0..200_000).map(|n| format!("{n} + 1"));
        let list = list.collect::<Vec<_>>().join(", ");
        assert!(statements(&format!("SELECT 1 WHERE 1 IN ({list})")).is_ok());
        assert!(statements(&format!("SELECT 1 WHERE {}", chain(" OR ", 20_000))).is_ok());
    }

    #[test]
    fn calls_nest_without_taking_twice_as_long_each() {
        let sql = format!("SELECT {}1{}", "abs(".repeat(40), ")".repeat(40));
        assert!(statements(&sql).is_ok());
        let named = written("SELECT f(a => 1, b)");
        assert_eq!(named, "SELECT f(a => 1, b)");
    }

    #[test]
    fn settings_that_make_answers_wrong_are_refused() {
        let set = "SET datafusion.optimizer.enable_window_topn = true";
        assert!(matches!(statements(set), Err(Error::Refused(_))));
        assert!(statements("SET datafusion.execution.batch_size = 100").is_ok());
    }
}

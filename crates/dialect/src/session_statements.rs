//! Statements whose effect is limited to the session.

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::Statement as SqlStatement;

use crate::statement::parse_statements;
use tsql_error::Result;

/// Returns the kind of the last statement if its effect ends with the session: `CREATE VIEW`, `SET`.
///
/// A session of a single call would discard the effect. `None` for queries and for statements that write files.
///
/// ```
/// let ends = tsql_dialect::session_statements::ends_with_session("CREATE VIEW v AS SELECT 1")?;
/// assert_eq!(ends, Some("CREATE VIEW"));
/// assert_eq!(tsql_dialect::session_statements::ends_with_session("CREATE VIEW v AS SELECT 1; FROM v")?, None);
/// # Ok::<(), tsql_error::Error>(())
/// ```
///
/// # Errors
/// [`Error::Sql`](tsql_error::Error) for invalid SQL.
pub fn ends_with_session(sql: &str) -> Result<Option<&'static str>> {
    Ok(parse_statements(sql)?
        .pop_back()
        .as_ref()
        .and_then(statement_effect))
}

fn statement_effect(statement: &Statement) -> Option<&'static str> {
    let Statement::Statement(inner) = statement else {
        return match statement {
            Statement::CreateExternalTable(_) => Some("CREATE EXTERNAL TABLE"),
            Statement::Reset(_) => Some("RESET"),
            _ => None,
        };
    };
    Some(match inner.as_ref() {
        SqlStatement::CreateView(_) => "CREATE VIEW",
        SqlStatement::CreateTable(_) => "CREATE TABLE",
        SqlStatement::CreateSchema { .. } => "CREATE SCHEMA",
        SqlStatement::CreateFunction(_) => "CREATE FUNCTION",
        SqlStatement::Drop { .. } => "DROP",
        SqlStatement::Set(_) => "SET",
        SqlStatement::Prepare { .. } => "PREPARE",
        SqlStatement::Deallocate { .. } => "DEALLOCATE",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_statement_decides() {
        for (sql, effect) in [
            ("CREATE OR REPLACE VIEW v AS SELECT 1", Some("CREATE VIEW")),
            ("CREATE TABLE t AS SELECT 1", Some("CREATE TABLE")),
            (
                "CREATE EXTERNAL TABLE t STORED AS CSV LOCATION 'x.csv'",
                Some("CREATE EXTERNAL TABLE"),
            ),
            ("SELECT 1; DROP VIEW v", Some("DROP")),
            ("SET datafusion.execution.batch_size = 7", Some("SET")),
            ("PREPARE p AS SELECT $1", Some("PREPARE")),
            ("PREPARE p AS SELECT $1; EXECUTE p(2)", None),
            ("CREATE TABLE t AS SELECT 1; FROM t", None),
            ("FROM records", None),
            ("SUMMARIZE records", None),
            ("EXPLAIN SELECT 1", None),
            ("COPY (SELECT 1) TO 'x.csv'", None),
        ] {
            assert_eq!(ends_with_session(sql).unwrap(), effect, "{sql}");
        }
    }
}

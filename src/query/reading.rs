//! Text from whoever may only read.

use datafusion::dataframe::DataFrame;
use datafusion::execution::context::SQLOptions;
use datafusion::logical_expr::LogicalPlan;
use datafusion::prelude::SessionContext;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{Set, Statement as SqlStatement};

use super::names::other_tables;
use super::session::elsewhere;
use super::statement::{planned_by, statements};
use crate::error::{Error, Result};

/// Prefix of the switches of rules.
const RULES: &str = "tsql.rules.";

/// Plans a question that writes nowhere and changes nothing, but for switches of rules before it in the session; with `store_only`
/// none that names a file.
///
/// Looked at are both the text, for what is no question, and its plan, for what writes within one.
///
/// # Errors
/// [`Error::Refused`] for anything else, and those of any question.
pub(crate) async fn ask_reading(
    context: &SessionContext,
    sql: &str,
    store_only: bool,
) -> Result<DataFrame> {
    reads(sql)?;
    if store_only {
        let is_file = |name: &String| name.contains(['/', '\\', '.', '*']);
        if let Some(file) = other_tables(sql)?.into_iter().find(is_file) {
            return Err(elsewhere(&file));
        }
    }
    let mut statements = statements(sql)?;
    let question = statements.pop_back().ok_or_else(empty)?;
    for switch in statements {
        planned_by(context, switch, sql, Ok).await?;
    }
    planned_by(context, question, sql, verified).await
}

/// Is the text one question, maybe after switches of rules?
///
/// # Errors
/// [`Error::Refused`] where it is something else, [`Error::Sql`] where it is no SQL.
pub(crate) fn reads(sql: &str) -> Result<()> {
    let mut statements = statements(sql)?;
    let statement = statements.pop_back().ok_or_else(empty)?;
    if !statements.iter().all(is_switch) {
        let reason = "one question at a time: the text has several statements\nhint: WITH name AS (SELECT ...) SELECT ...";
        return Err(Error::Refused(reason.to_owned()));
    }
    if is_question(&statement) {
        return Ok(());
    }
    let said = statement.to_string();
    Err(writes(said.split_whitespace().next().unwrap_or_default()))
}

fn is_switch(statement: &Statement) -> bool {
    let Statement::Statement(inner) = statement else {
        return false;
    };
    match inner.as_ref() {
        SqlStatement::Set(Set::SingleAssignment { variable, .. }) => {
            variable.to_string().to_lowercase().starts_with(RULES)
        }
        _ => false,
    }
}

fn is_question(statement: &Statement) -> bool {
    match statement {
        Statement::Statement(inner) => is_read(inner),
        Statement::Explain(explain) => is_question(&explain.statement),
        Statement::CreateExternalTable(_) | Statement::CopyTo(_) | Statement::Reset(_) => false,
    }
}

fn is_read(statement: &SqlStatement) -> bool {
    match statement {
        SqlStatement::Explain { statement, .. } => is_read(statement),
        SqlStatement::Query(_)
        | SqlStatement::ExplainTable { .. }
        | SqlStatement::ShowColumns { .. }
        | SqlStatement::ShowFunctions { .. }
        | SqlStatement::ShowTables { .. }
        | SqlStatement::ShowVariable { .. } => true,
        _ => false,
    }
}

fn verified(plan: LogicalPlan) -> Result<LogicalPlan> {
    let only_reads = SQLOptions::new()
        .with_allow_ddl(false)
        .with_allow_dml(false)
        .with_allow_statements(false);
    match only_reads.verify_plan(&plan) {
        Ok(()) => Ok(plan),
        Err(error) => Err(writes(&error.strip_backtrace())),
    }
}

fn empty() -> Error {
    Error::Refused("the query is empty".to_owned())
}

fn writes(what: &str) -> Error {
    Error::Refused(format!(
        "here is only asked, nothing is changed or written: {what}\nhint: the shell (`tsql`) and `tsql -o FILE` do that"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::SessionOptions;
    use crate::store::Store;

    #[tokio::test]
    async fn questions_are_taken_and_nothing_else() {
        let store = Store::demo().await.unwrap();
        let options = SessionOptions::default().store_only();
        let context = store.session_with(&options).await.unwrap();
        let ask = async |sql: &str| match ask_reading(&context, sql, true).await {
            Ok(frame) => frame.collect().await.map(|_| ()).map_err(Error::Query),
            Err(error) => Err(error),
        };
        for question in [
            "SELECT count(*) FROM records",
            "FROM records LIMIT 1",
            "WITH r AS (SELECT 1 AS a) SELECT a FROM r;",
            "VALUES (1), (2)",
            "EXPLAIN SELECT 1",
            "EXPLAIN ANALYZE SELECT 1",
            "SUMMARIZE records",
            "DESCRIBE records",
            "SHOW TABLES",
            "SHOW tsql.rules",
            "SHOW tsql.verify",
            "SET tsql.rules.full_sort = false; SELECT 1",
            "PIVOT records ON status USING count(*) GROUP BY platform",
        ] {
            ask(question)
                .await
                .unwrap_or_else(|error| panic!("{question}: {error}"));
        }
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.csv");
        std::fs::write(&file, "a\n1\n").unwrap();
        let path = file.to_str().unwrap();
        let out = folder.path().join("out.csv");
        let to = out.to_str().unwrap();
        for refused in [
            format!("COPY (SELECT 1) TO '{to}'"),
            format!("COPY records TO '{to}'"),
            format!("EXPLAIN ANALYZE COPY (SELECT 1) TO '{to}'"),
            format!("CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '{path}'"),
            "CREATE TABLE t AS SELECT 1".to_owned(),
            "CREATE VIEW v AS SELECT 1".to_owned(),
            "SELECT 1 AS a INTO t".to_owned(),
            "INSERT INTO records SELECT * FROM records".to_owned(),
            "EXPLAIN ANALYZE INSERT INTO records SELECT * FROM records".to_owned(),
            "UPDATE records SET line = 1".to_owned(),
            "DELETE FROM records".to_owned(),
            "DROP VIEW nodes".to_owned(),
            "SET datafusion.execution.batch_size = 1".to_owned(),
            "SET tsql.rules.full_sort = false".to_owned(),
            "SET tsql.verify = 'never'; SELECT 1".to_owned(),
            "PREPARE p AS SELECT 1".to_owned(),
            "SELECT 1; SELECT 2".to_owned(),
            String::new(),
            format!("SELECT * FROM '{path}'"),
            format!("SELECT * FROM read_csv('{path}')"),
            "SELECT * FROM 'https://localhost/x.csv'".to_owned(),
        ] {
            assert!(ask(&refused).await.is_err(), "{refused}");
        }
        assert!(!out.exists());
        let told = ask("DELETE FROM records").await.unwrap_err().to_string();
        assert!(told.contains("which SQL only reads: DELETE"), "{told}");
        let told = ask("DELETE FROM mine").await.unwrap_err().to_string();
        assert!(
            told.contains("nothing is changed or written: DELETE"),
            "{told}"
        );
        let told = ask(&format!("SELECT * FROM '{path}'"))
            .await
            .unwrap_err()
            .to_string();
        assert!(
            told.contains("is a file: answers come from the store"),
            "{told}"
        );
        // Where files may be read, they are.
        let context = store.session().await.unwrap();
        let read = format!("SELECT a FROM '{path}'");
        let rows = ask_reading(&context, &read, false).await.unwrap();
        assert_eq!(rows.count().await.unwrap(), 1);
        let copied = format!("COPY (SELECT 1) TO '{to}'");
        assert!(ask_reading(&context, &copied, false).await.is_err() && !out.exists());
    }

    /// What one asks takes what the others may have.
    #[tokio::test]
    async fn sessions_that_share_have_their_memory_together() {
        let store = Store::create("memory:").await.unwrap();
        let options = SessionOptions::default().memory_limit_bytes(8 << 20);
        let options = options.sharing().unwrap();
        let pool = async || {
            let context = store.session_with(&options).await.unwrap();
            std::sync::Arc::clone(&context.runtime_env().memory_pool)
        };
        assert!(std::sync::Arc::ptr_eq(&pool().await, &pool().await));
    }
}

//! Read-only SQL, for users without write access.

use datafusion::common::{ParamValues, ScalarValue};
use datafusion::dataframe::DataFrame;
use datafusion::execution::context::SQLOptions;
use datafusion::logical_expr::LogicalPlan;
use datafusion::prelude::SessionContext;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{Set, Statement as SqlStatement};
use tsql_dialect::referenced_tables::other_tables;
use tsql_dialect::statement::{cast_list_arguments, parse_statements, plan_with};
use tsql_error::{Error, Result};
use tsql_store::Store;

use super::session::{SessionOptions, file_not_allowed, open_session_with};

/// Prefix of the optimizer rule settings.
const RULE_PREFIX: &str = "tsql.rules.";

/// Plans a query that writes nothing and changes nothing. Settings of optimizer rules may precede it.
///
/// With `store_only`, queries that reference files are rejected. Both the text and its plan are checked: the text for
/// statements other than queries, the plan for writes inside of a query.
///
/// # Errors
/// [`Error::Refused`] for anything else, and the errors of any query.
pub async fn run_read_only(
    context: &SessionContext,
    sql: &str,
    store_only: bool,
) -> Result<DataFrame> {
    run_read_only_with(context, sql, store_only, &[]).await
}

/// Plans a query over the newest version of a store. It writes nothing, changes nothing, and reads no files.
///
/// `values` are those of `$NAME`. Without any, placeholders stay in the plan.
///
/// # Errors
/// As [`run_read_only`], and of a session.
pub async fn query_read_only(
    store: &Store,
    options: &SessionOptions,
    sql: &str,
    values: &[(String, ScalarValue)],
) -> Result<DataFrame> {
    // A write is rejected as such, and not for the names in it.
    check_reads(sql)?;
    let options = options.clone().store_only().sql(sql);
    let context = open_session_with(store, &options).await?;
    run_read_only_with(&context, sql, true, values).await
}

async fn run_read_only_with(
    context: &SessionContext,
    sql: &str,
    store_only: bool,
    values: &[(String, ScalarValue)],
) -> Result<DataFrame> {
    check_reads(sql)?;
    if store_only {
        let is_file = |name: &String| name.contains(['/', '\\', '.', '*']);
        if let Some(file) = other_tables(sql)?.into_iter().find(is_file) {
            return Err(file_not_allowed(&file));
        }
    }
    let mut statements = parse_statements(sql)?;
    let mut query = statements.pop_back().ok_or_else(empty_query)?;
    for switch in statements {
        plan_with(context, switch, sql, Ok).await?;
    }
    cast_list_arguments(&mut query, values);
    let parameters = ParamValues::from(values.to_vec());
    let bind = |plan: LogicalPlan| match values {
        [] => Ok(plan),
        _ => plan
            .with_param_values(parameters.clone())
            .map_err(Error::Query),
    };
    plan_with(context, query, sql, |plan| check_plan(bind(plan)?)).await
}

/// Checks that the text is one query, possibly after settings of optimizer rules.
///
/// # Errors
/// [`Error::Refused`] for other statements, [`Error::Sql`] for invalid SQL.
pub fn check_reads(sql: &str) -> Result<()> {
    let mut statements = parse_statements(sql)?;
    let statement = statements.pop_back().ok_or_else(empty_query)?;
    if !statements.iter().all(is_switch) {
        let reason = "the text has several statements, expected one query\n\
            hint: WITH name AS (SELECT ...) SELECT ...";
        return Err(Error::Refused(reason.to_owned()));
    }
    if is_query(&statement) {
        return Ok(());
    }
    let said = statement.to_string();
    Err(rejected_write(
        said.split_whitespace().next().unwrap_or_default(),
    ))
}

fn is_switch(statement: &Statement) -> bool {
    let Statement::Statement(inner) = statement else {
        return false;
    };
    match inner.as_ref() {
        SqlStatement::Set(Set::SingleAssignment { variable, .. }) => {
            variable.to_string().to_lowercase().starts_with(RULE_PREFIX)
        }
        _ => false,
    }
}

fn is_query(statement: &Statement) -> bool {
    match statement {
        Statement::Statement(inner) => is_read(inner),
        Statement::Explain(explain) => is_query(&explain.statement),
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

fn check_plan(plan: LogicalPlan) -> Result<LogicalPlan> {
    let only_reads = SQLOptions::new()
        .with_allow_ddl(false)
        .with_allow_dml(false)
        .with_allow_statements(false);
    match only_reads.verify_plan(&plan) {
        Ok(()) => Ok(plan),
        Err(error) => Err(rejected_write(&error.strip_backtrace())),
    }
}

fn empty_query() -> Error {
    Error::Refused("the query is empty".to_owned())
}

fn rejected_write(what: &str) -> Error {
    Error::Refused(format!(
        "only queries are allowed here, found a statement that changes or writes data: {what}\n\
         hint: the shell (`tsql`) and `tsql -o FILE` can change or write data"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SessionOptions, open_session, open_session_with};
    use arrow::datatypes::DataType;
    use tsql_dataset::demo::create_demo;

    #[tokio::test]
    async fn only_queries_are_accepted() {
        let store = create_demo().await.unwrap();
        let options = SessionOptions::default().store_only();
        let context = open_session_with(&store, &options).await.unwrap();
        let ask = async |sql: &str| match run_read_only(&context, sql, true).await {
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
        assert!(told.contains("which SQL cannot change: DELETE"), "{told}");
        let told = ask("DELETE FROM mine").await.unwrap_err().to_string();
        assert!(
            told.contains("a statement that changes or writes data: DELETE"),
            "{told}"
        );
        let told = ask(&format!("SELECT * FROM '{path}'"))
            .await
            .unwrap_err()
            .to_string();
        assert!(
            told.contains("is a file, but queries can read only the store"),
            "{told}"
        );
        // Files are read if they are allowed.
        let context = open_session(&store).await.unwrap();
        let read = format!("SELECT a FROM '{path}'");
        let rows = run_read_only(&context, &read, false).await.unwrap();
        assert_eq!(rows.count().await.unwrap(), 1);
        let copied = format!("COPY (SELECT 1) TO '{to}'");
        assert!(run_read_only(&context, &copied, false).await.is_err() && !out.exists());
    }

    #[tokio::test]
    async fn lists_are_arguments_of_functions() {
        let store = create_demo().await.unwrap();
        let numbers = [3_i64, 4].map(|number| ScalarValue::Int64(Some(number)));
        let list = ScalarValue::new_list_nullable(&numbers, &DataType::Int64);
        let values = [("a".to_owned(), ScalarValue::List(list))];
        let count = async |condition: &str| {
            let sql = format!("SELECT line FROM records WHERE {condition}");
            let options = SessionOptions::default();
            let frame = query_read_only(&store, &options, &sql, &values).await;
            frame.unwrap().count().await.unwrap()
        };
        let equal = count("line = ANY($a)").await;
        assert!(equal > 0);
        assert_eq!(count("line IN (SELECT unnest($a))").await, equal);
        assert_eq!(count("list_contains($a, line)").await, equal);
    }

    /// A query of one user takes the shared memory of the others.
    #[tokio::test]
    async fn sessions_that_share_have_their_memory_together() {
        let store = Store::create("memory:").await.unwrap();
        let options = SessionOptions::default().memory_limit_bytes(8 << 20);
        let options = options.share_memory().unwrap();
        let pool = async || {
            let context = open_session_with(&store, &options).await.unwrap();
            std::sync::Arc::clone(&context.runtime_env().memory_pool)
        };
        assert!(std::sync::Arc::ptr_eq(&pool().await, &pool().await));
    }
}

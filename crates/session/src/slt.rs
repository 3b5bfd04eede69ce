//! Runs the queries of `tests/slt` in tsql's SQL dialect against an empty store.

use std::path::{Path, PathBuf};

use arrow::array::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::prelude::SessionContext;
use sqllogictest::{DB, DBOutput, DefaultColumnType, Runner};
use tokio::runtime::Runtime;
use tsql_dialect::statement::{parse_statements, plan_statement};
use tsql_error::{Error, Result};
use tsql_store::Store;

use crate::open_session;

/// A session that runs queries.
struct TsqlRunner {
    runtime: Runtime,
    context: SessionContext,
}

impl TsqlRunner {
    fn new() -> Result<Self> {
        let runtime = Runtime::new().map_err(Error::io("a runtime"))?;
        let context = runtime.block_on(async {
            let store = Store::create("memory:").await?;
            open_session(&store).await
        })?;
        Ok(Self { runtime, context })
    }
}

impl DB for TsqlRunner {
    type Error = Error;
    type ColumnType = DefaultColumnType;

    fn run(&mut self, sql: &str) -> Result<DBOutput<DefaultColumnType>> {
        self.runtime.block_on(async {
            let mut rows = Vec::new();
            let mut types = Vec::new();
            for statement in parse_statements(sql)? {
                let frame = plan_statement(&self.context, statement, sql).await?;
                types = vec![DefaultColumnType::Any; frame.schema().fields().len()];
                let batches = frame.collect().await.map_err(Error::Query)?;
                rows = batches.iter().flat_map(texts).collect();
            }
            if types.is_empty() {
                return Ok(DBOutput::StatementComplete(0));
            }
            Ok(DBOutput::Rows { types, rows })
        })
    }

    fn engine_name(&self) -> &'static str {
        "tsql"
    }
}

/// Rows as text. Empty text is written as a word, because blanks are invisible.
fn texts(batch: &RecordBatch) -> Vec<Vec<String>> {
    let options = FormatOptions::default().with_null("NULL");
    let columns = batch.columns().iter();
    let columns: Vec<ArrayFormatter> = columns
        .map(|column| ArrayFormatter::try_new(column.as_ref(), &options).unwrap())
        .collect();
    let text = |column: &ArrayFormatter, row| {
        let text = column.value(row).to_string();
        if text.is_empty() {
            "(empty)".to_owned()
        } else {
            text
        }
    };
    let row = |row| columns.iter().map(|column| text(column, row)).collect();
    (0..batch.num_rows()).map(row).collect()
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/slt");
    let entries = std::fs::read_dir(folder).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn queries_have_the_recorded_results() {
    let mut wrong = Vec::new();
    let mut asked = 0;
    for file in files() {
        let mut runner = Runner::new(|| async { TsqlRunner::new() });
        runner.add_label("tsql");
        for record in sqllogictest::parse_file(&file).unwrap() {
            asked += 1;
            if let Err(error) = runner.run(record) {
                wrong.push(error.display(false).to_string());
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n\n")
    );
    assert!(asked > 200, "{asked}");
}

/// Results marked as DuckDB's are compared with DuckDB.
#[test]
fn queries_that_duckdb_supports_have_its_results() {
    let Some(python) = std::env::var_os("TSQL_TEST_PYTHON") else {
        assert!(
            std::env::var_os("TSQL_REQUIRE_PYTHON").is_none(),
            "no TSQL_TEST_PYTHON"
        );
        return;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/python/slt.py");
    let ran = std::process::Command::new(python)
        .arg(script)
        .args(files())
        .output();
    let ran = ran.unwrap();
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
}

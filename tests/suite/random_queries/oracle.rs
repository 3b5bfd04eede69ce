//! DuckDB over the exported rows: a process that runs one query after the other.

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use super::results::{Cell, Row};

pub(super) struct Oracle {
    process: Child,
    queries: Option<ChildStdin>,
    results: Lines<BufReader<ChildStdout>>,
}

impl Oracle {
    pub(super) fn start(folder: &Path, python: &Path) -> Self {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/python/query_server.py");
        let mut process = Command::new(python)
            .arg(script)
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            queries: process.stdin.take(),
            results: BufReader::new(process.stdout.take().unwrap()).lines(),
            process,
        }
    }

    /// Runs a query and returns its rows.
    ///
    /// # Errors
    /// The error message of DuckDB.
    pub(super) fn run_query(&mut self, sql: &str) -> Result<Vec<Row>, String> {
        let queries = self.queries.as_mut().unwrap();
        writeln!(queries, "{}", json!({"sql": sql})).unwrap();
        let line = self
            .results
            .next()
            .expect("DuckDB's process ended")
            .unwrap();
        let result: Value = serde_json::from_str(&line).unwrap();
        if let Some(error) = result.get("error") {
            return Err(error.as_str().unwrap().to_owned());
        }
        let rows = result["rows"].as_array().unwrap().iter();
        Ok(rows
            .map(|row| {
                row.as_array()
                    .unwrap()
                    .iter()
                    .map(Cell::from_json)
                    .collect()
            })
            .collect())
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        drop(self.queries.take());
        let _ = self.process.wait();
    }
}

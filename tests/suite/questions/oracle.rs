//! DuckDB over the exported rows: a process that answers one question after the other.

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use super::answers::{Cell, Row};

pub(super) struct Oracle {
    process: Child,
    questions: Option<ChildStdin>,
    answers: Lines<BufReader<ChildStdout>>,
}

impl Oracle {
    pub(super) fn over(folder: &Path, python: &Path) -> Self {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/python/answers.py");
        let mut process = Command::new(python)
            .arg(script)
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            questions: process.stdin.take(),
            answers: BufReader::new(process.stdout.take().unwrap()).lines(),
            process,
        }
    }

    /// Its answer, or why it has none.
    pub(super) fn ask(&mut self, sql: &str) -> Result<Vec<Row>, String> {
        let questions = self.questions.as_mut().unwrap();
        writeln!(questions, "{}", json!({"sql": sql})).unwrap();
        let line = self
            .answers
            .next()
            .expect("DuckDB's process ended")
            .unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        if let Some(error) = answer.get("error") {
            return Err(error.as_str().unwrap().to_owned());
        }
        let rows = answer["rows"].as_array().unwrap().iter();
        Ok(rows
            .map(|row| row.as_array().unwrap().iter().map(Cell::of_json).collect())
            .collect())
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        drop(self.questions.take());
        let _ = self.process.wait();
    }
}

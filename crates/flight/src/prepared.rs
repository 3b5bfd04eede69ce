//! Prepared statements.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use arrow::array::RecordBatch;
use bytes::Bytes;
use datafusion::common::ScalarValue;
use tonic::Status;
use uuid::Uuid;

/// Maximum number of open statements. The oldest one is closed for a new one.
const MAX_STATEMENTS: usize = 1000;

/// A query with the values of its parameters.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    pub(crate) sql: String,
    pub(crate) values: Vec<ScalarValue>,
    number: u64,
}

/// Open statements by handle. A handle cannot be guessed.
#[derive(Debug, Default)]
pub(crate) struct Statements(Mutex<OpenStatements>);

#[derive(Debug, Default)]
struct OpenStatements {
    by_handle: HashMap<Bytes, Statement>,
    opened: u64,
}

impl Statements {
    /// Opens a statement, and returns its handle.
    pub(crate) fn open(&self, sql: String) -> Bytes {
        let mut all = self.lock();
        if all.by_handle.len() >= MAX_STATEMENTS {
            let oldest = all
                .by_handle
                .iter()
                .min_by_key(|(_, statement)| statement.number);
            if let Some(handle) = oldest.map(|(handle, _)| handle.clone()) {
                all.by_handle.remove(&handle);
            }
        }
        all.opened += 1;
        let handle = Bytes::from(Uuid::new_v4().simple().to_string());
        let statement = Statement {
            sql,
            values: Vec::new(),
            number: all.opened,
        };
        all.by_handle.insert(handle.clone(), statement);
        handle
    }

    pub(crate) fn get(&self, handle: &Bytes) -> Result<Statement, Status> {
        let all = self.lock();
        all.by_handle.get(handle).cloned().ok_or_else(closed)
    }

    /// Sets the values of the parameters.
    pub(crate) fn bind(&self, handle: &Bytes, values: Vec<ScalarValue>) -> Result<(), Status> {
        let mut all = self.lock();
        let statement = all.by_handle.get_mut(handle).ok_or_else(closed)?;
        statement.values = values;
        Ok(())
    }

    pub(crate) fn close(&self, handle: &Bytes) {
        self.lock().by_handle.remove(handle);
    }

    fn lock(&self) -> MutexGuard<'_, OpenStatements> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn closed() -> Status {
    Status::not_found("the prepared statement is closed\nhint: prepare it again")
}

/// Returns the values of one row of parameters.
pub(crate) fn row_values(batches: &[RecordBatch]) -> Result<Vec<ScalarValue>, Status> {
    let mut batches = batches.iter().filter(|batch| batch.num_rows() > 0);
    let (first, more) = (batches.next(), batches.next());
    let Some(row) = first else {
        return Ok(Vec::new());
    };
    if row.num_rows() > 1 || more.is_some() {
        return Err(Status::invalid_argument(
            "several rows of parameters are given, expected one",
        ));
    }
    let values = row
        .columns()
        .iter()
        .map(|column| ScalarValue::try_from_array(column, 0));
    values
        .collect::<Result<_, _>>()
        .map_err(|error| Status::invalid_argument(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_statement_is_closed_for_a_new_one() {
        let statements = Statements::default();
        let first = statements.open("SELECT 0".to_owned());
        let second = statements.open("SELECT 1".to_owned());
        for number in 2..=MAX_STATEMENTS {
            statements.open(format!("SELECT {number}"));
        }
        assert!(statements.get(&first).is_err());
        assert_eq!(
            statements.get(&second).ok().map(|one| one.sql),
            Some("SELECT 1".to_owned())
        );
        statements.close(&second);
        assert!(statements.get(&second).is_err());
    }
}

//! The rows of an answer while they are computed: read by this program, or by whoever imports the stream.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};

use futures::StreamExt as _;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use tokio::task::{AbortHandle, block_in_place};
use tsql::Error;
use tsql::arrow::array::{RecordBatch, RecordBatchOptions, RecordBatchReader};
use tsql::arrow::compute::{CastOptions, cast_with_options};
use tsql::arrow::datatypes::SchemaRef;
use tsql::arrow::error::ArrowError;
use tsql::datafusion::dataframe::DataFrame;
use tsql::query::ending_rows;

use crate::runtime::{LOOK_EVERY, leave_stuck, look, runtime};

/// Batches that are computed ahead of whoever reads.
const AHEAD: usize = 2;

/// Rows that come batch by batch, in bounded memory.
pub(crate) struct Rows {
    schema: SchemaRef,
    /// `None` after the last one: whoever computes them may be lost before.
    batches: Receiver<Option<tsql::Result<RecordBatch>>>,
    /// The last one was read.
    ended: bool,
    task: AbortHandle,
    process: u32,
}

impl Drop for Rows {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Rows {
    /// Begins to answer; `schema` describes the columns.
    pub(crate) fn of(frame: DataFrame, schema: SchemaRef) -> PyResult<Self> {
        let (sender, batches) = sync_channel(AHEAD);
        let task = runtime()?.spawn(async move {
            let mut stream = match ending_rows(frame).await {
                Ok(stream) => stream,
                Err(error) => {
                    // Nobody reads any more where this fails.
                    let _ = sender.send(Some(Err(error)));
                    return;
                }
            };
            while let Some(batch) = stream.next().await {
                let batch = batch.map_err(Error::Query);
                let failed = batch.is_err();
                // Whoever reads may take its time.
                let sent = block_in_place(|| sender.send(Some(batch)));
                if sent.is_err() || failed {
                    return;
                }
            }
            let _ = block_in_place(|| sender.send(None));
        });
        Ok(Self {
            schema,
            batches,
            ended: false,
            task: task.abort_handle(),
            process: std::process::id(),
        })
    }

    pub(crate) fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// The next batch; `None` after the last one. Others may run Python meanwhile.
    ///
    /// # Errors
    /// `KeyboardInterrupt` where Ctrl-C was pressed; the inner one is why the question failed.
    pub(crate) fn next(&mut self, py: Python<'_>) -> PyResult<Option<tsql::Result<RecordBatch>>> {
        if self.process != std::process::id() {
            let reason = "a result that was begun before a fork: ask again in this process";
            return Ok(Some(Err(Error::Refused(reason.to_owned()))));
        }
        if self.ended {
            return Ok(None);
        }
        loop {
            let waited = py.detach(|| self.wait());
            if let Some(batch) = waited {
                self.ended = batch.is_none();
                return Ok(batch.map(|batch| batch.map(|batch| self.described(batch))));
            }
            if let Err(raised) = look(py) {
                self.task.abort();
                leave_stuck(py)?;
                return Err(raised);
            }
        }
    }

    /// The batch with what the schema says of its columns.
    fn described(&self, batch: RecordBatch) -> RecordBatch {
        let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let columns = batch.columns().to_vec();
        let described = RecordBatch::try_new_with_options(self.schema(), columns, &rows);
        described.unwrap_or(batch)
    }

    /// The next batch, if it comes in a moment.
    fn wait(&mut self) -> Option<Option<tsql::Result<RecordBatch>>> {
        match self.batches.recv_timeout(LOOK_EVERY) {
            Ok(batch) => Some(batch),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                let lost = "an answer ended in the middle: see standard error";
                Some(Some(Err(Error::Internal(lost.to_owned()))))
            }
        }
    }
}

/// Rows for whoever imports a stream.
pub(crate) struct Stream {
    /// Batches that were read already.
    read: std::vec::IntoIter<RecordBatch>,
    rows: Rows,
    /// What the consumer wants; the types that there are unless it said so.
    schema: SchemaRef,
}

impl Stream {
    /// The rows that were `read` already and the others, as `wanted`.
    ///
    /// # Errors
    /// [`ArrowError`] where the columns cannot be what is wanted.
    pub(crate) fn new(
        read: Vec<RecordBatch>,
        rows: Rows,
        wanted: Option<SchemaRef>,
    ) -> Result<Self, ArrowError> {
        let schema = wanted.unwrap_or_else(|| rows.schema());
        cast(&RecordBatch::new_empty(rows.schema()), &schema)?;
        Ok(Self {
            read: read.into_iter(),
            rows,
            schema,
        })
    }
}

impl Iterator for Stream {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(batch) = self.read.next() {
            return Some(cast(&batch, &self.schema));
        }
        let next = Python::attach(|py| match self.rows.next(py) {
            Ok(next) => next.map(|batch| {
                batch.map_err(|error| ArrowError::from_external_error(Box::new(error)))
            }),
            Err(raised) => {
                // Its text first: whoever makes a text in Python is interrupted.
                let reason = raised.to_string();
                if raised.is_instance_of::<PyKeyboardInterrupt>(py) {
                    interrupt_again();
                }
                Some(Err(ArrowError::ExternalError(reason.into())))
            }
        });
        next.map(|batch| cast(&batch?, &self.schema))
    }
}

impl RecordBatchReader for Stream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

/// Whoever reads a stream of C sees an error where Ctrl-C was pressed, and would go on: the interpreter is told once more.
#[allow(unsafe_code, reason = "there is no other way to say it")]
fn interrupt_again() {
    // SAFETY: it sets a flag.
    unsafe { pyo3::ffi::PyErr_SetInterrupt() }
}

/// The batch with the types of this schema.
fn cast(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    if batch.schema_ref() == schema {
        return Ok(batch.clone());
    }
    if batch.num_columns() != schema.fields().len() {
        let reason = format!(
            "the answer has {} columns, {} were asked for",
            batch.num_columns(),
            schema.fields().len()
        );
        return Err(ArrowError::SchemaError(reason));
    }
    let options = CastOptions {
        safe: false,
        ..CastOptions::default()
    };
    let columns = batch.columns().iter().zip(schema.fields());
    let columns =
        columns.map(|(column, field)| cast_with_options(column, field.data_type(), &options));
    let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(
        Arc::clone(schema),
        columns.collect::<Result<_, _>>()?,
        &rows,
    )
}

//! Streams the rows of a result while they are computed: read by this program, or by a consumer of the Arrow
//! stream.

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
use tsql::query::execute_stream_cancellable;

use crate::runtime::{POLL_INTERVAL, raise_signals, replace_stuck_threads, runtime};

/// Number of prefetched batches.
const PREFETCH_BATCHES: usize = 2;

/// A stream of batches, in bounded memory.
pub(crate) struct RowStream {
    schema: SchemaRef,
    /// `None` after the last batch, which distinguishes the end from a lost computation.
    batches: Receiver<Option<tsql::Result<RecordBatch>>>,
    /// True once the last batch was read.
    ended: bool,
    task: AbortHandle,
    process: u32,
}

impl Drop for RowStream {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl RowStream {
    /// Starts the query; `schema` describes the columns.
    pub(crate) fn start(frame: DataFrame, schema: SchemaRef) -> PyResult<Self> {
        let (sender, batches) = sync_channel(PREFETCH_BATCHES);
        let task = runtime()?.spawn(async move {
            let mut stream = match execute_stream_cancellable(frame).await {
                Ok(stream) => stream,
                Err(error) => {
                    // If this fails, the reader is gone.
                    let _ = sender.send(Some(Err(error)));
                    return;
                }
            };
            while let Some(batch) = stream.next().await {
                let batch = batch.map_err(Error::Query);
                let failed = batch.is_err();
                // The reader may be slow.
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

    /// Returns the next batch; `None` after the last one. Releases the interpreter while it waits.
    ///
    /// # Errors
    /// `KeyboardInterrupt` after Ctrl-C; the inner error is a failure of the query.
    pub(crate) fn next(&mut self, py: Python<'_>) -> PyResult<Option<tsql::Result<RecordBatch>>> {
        if self.process != std::process::id() {
            let reason =
                "the result was started before a fork\nhint: run the query again in this process";
            return Ok(Some(Err(Error::Refused(reason.to_owned()))));
        }
        if self.ended {
            return Ok(None);
        }
        loop {
            let waited = py.detach(|| self.wait());
            if let Some(batch) = waited {
                self.ended = batch.is_none();
                return Ok(batch.map(|batch| batch.map(|batch| self.with_metadata(batch))));
            }
            if let Err(raised) = raise_signals(py) {
                self.task.abort();
                replace_stuck_threads(py)?;
                return Err(raised);
            }
        }
    }

    /// Returns the batch with the metadata of the schema.
    fn with_metadata(&self, batch: RecordBatch) -> RecordBatch {
        let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let columns = batch.columns().to_vec();
        let described = RecordBatch::try_new_with_options(self.schema(), columns, &rows);
        described.unwrap_or(batch)
    }

    /// Waits briefly for the next batch.
    fn wait(&mut self) -> Option<Option<tsql::Result<RecordBatch>>> {
        match self.batches.recv_timeout(POLL_INTERVAL) {
            Ok(batch) => Some(batch),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                let lost = "a result ended early: see standard error";
                Some(Some(Err(Error::Internal(lost.to_owned()))))
            }
        }
    }
}

/// Exported Arrow stream of rows.
pub(crate) struct Stream {
    /// Batches that were read already.
    read: std::vec::IntoIter<RecordBatch>,
    rows: RowStream,
    /// Schema that the consumer requests, or that of the result.
    schema: SchemaRef,
}

impl Stream {
    /// Creates a stream of the `read` batches and the remaining rows, with the requested schema.
    ///
    /// # Errors
    /// [`ArrowError`] if the columns cannot be cast to the requested types.
    pub(crate) fn new(
        read: Vec<RecordBatch>,
        rows: RowStream,
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
                // The text comes first: creating a text in Python can be interrupted.
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

/// Sets the interrupt flag again after Ctrl-C: the consumer of a C stream only sees an error, and would
/// continue.
#[allow(unsafe_code, reason = "no safe function does this")]
fn interrupt_again() {
    // SAFETY: it sets a flag.
    unsafe { pyo3::ffi::PyErr_SetInterrupt() }
}

/// Casts the batch to the types of this schema.
pub(crate) fn cast(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    if batch.schema_ref() == schema {
        return Ok(batch.clone());
    }
    if batch.num_columns() != schema.fields().len() {
        let reason = format!(
            "the rows have {} columns, expected {}",
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

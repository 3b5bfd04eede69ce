//! Appends a stream to a store.

use std::future::Future;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pyo3::prelude::*;
use tokio::sync::Mutex;
use tsql::ingest::{Appender, StreamFormat};
use tsql::optional_setting::OptionalSetting as _;
use tsql::{AppendOptions, Error};

use crate::arrow::import_rows;
use crate::errors::to_py_err;
use crate::runtime::wait;
use crate::store::{Store, json};

/// A stream, open or closed.
#[pyclass(frozen, module = "tsql._native")]
pub(crate) struct Appending {
    /// `None` once it was closed.
    appender: Arc<Mutex<Option<Appender>>>,
    stop: Arc<AtomicBool>,
    process: u32,
}

impl Appending {
    /// Runs a step of the stream, and aborts the stream if it fails.
    fn step<T: Send + 'static, F>(
        &self,
        py: Python<'_>,
        step: impl FnOnce(Arc<Mutex<Option<Appender>>>) -> F + Send + 'static,
    ) -> PyResult<T>
    where
        F: Future<Output = tsql::Result<T>>,
    {
        if self.process != process::id() {
            return Err(to_py_err(py, &Error::Closed));
        }
        let appender = Arc::clone(&self.appender);
        let done = wait(py, move || step(appender));
        if done.is_err() {
            self.abort(py)?;
        }
        done
    }
}

/// Returns the format of a line stream by its name.
pub(crate) fn format_of(py: Python<'_>, name: String) -> PyResult<StreamFormat> {
    let mut known: Vec<StreamFormat> = StreamFormat::all().collect();
    known.retain(|format| *format != StreamFormat::ARROW);
    let names: Vec<&str> = known.iter().map(|format| format.name()).collect();
    let format = known.iter().find(|format| format.name() == name);
    format.copied().ok_or_else(|| {
        to_py_err(
            py,
            &Error::Unknown {
                kind: "stream format",
                name,
                known: names.join(", "),
            },
        )
    })
}

#[pymethods]
impl Store {
    fn append(
        &self,
        py: Python<'_>,
        stream: String,
        platform: String,
        how: AppendArgs,
    ) -> PyResult<Appending> {
        let stop = Arc::new(AtomicBool::new(false));
        let format = format_of(py, how.format)?;
        let mut options = AppendOptions::new(stream, platform)
            .format(format)
            .strict(how.strict)
            .labels(how.labels)
            .stop(Arc::clone(&stop))
            .set_if(how.group_lines, AppendOptions::group_lines);
        if let Some(seconds) = how.group_s {
            let time = Duration::try_from_secs_f64(seconds);
            let time = time.map_err(|error| {
                crate::errors::argument_error(py, "group_s", format!("{seconds} s: {error}"))
            })?;
            options = options.group_time(time);
        }
        let store = self.get(py)?;
        let appender = wait(py, move || async move { store.appender(&options).await })?;
        Ok(Appending {
            appender: Arc::new(Mutex::new(Some(appender))),
            stop,
            process: process::id(),
        })
    }
}

/// Options of a stream, passed by Python.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct AppendArgs {
    format: String,
    labels: Vec<(String, String)>,
    strict: bool,
    group_lines: Option<u64>,
    group_s: Option<f64>,
}

#[pymethods]
impl Appending {
    /// Appends bytes: lines, or parts of lines.
    fn write(&self, py: Python<'_>, bytes: Vec<u8>) -> PyResult<()> {
        self.step(py, move |appender| async move {
            let mut appender = appender.lock().await;
            let appender = appender.as_mut().ok_or(Error::Closed)?;
            appender.write(&bytes).await
        })
    }

    /// Appends rows of an object with Arrow's interface.
    fn write_rows(&self, py: Python<'_>, rows: &Bound<'_, PyAny>) -> PyResult<()> {
        let (_, batches) = import_rows(rows)?;
        self.step(py, move |appender| async move {
            let mut appender = appender.lock().await;
            let appender = appender.as_mut().ok_or(Error::Closed)?;
            for batch in &batches {
                appender.write_batch(batch).await?;
            }
            Ok(())
        })
    }

    /// Waits until all written data is durable; returns the durable lines and bytes of the stream.
    fn flush(&self, py: Python<'_>) -> PyResult<(u64, u64)> {
        self.step(py, move |appender| async move {
            let mut appender = appender.lock().await;
            let appender = appender.as_mut().ok_or(Error::Closed)?;
            let position = appender.flush().await?;
            Ok((position.lines, position.bytes))
        })
    }

    /// Returns the durable lines and bytes of the stream.
    fn durable(&self, py: Python<'_>) -> PyResult<(u64, u64)> {
        let appender = self.appender.try_lock();
        let appender = appender.map_err(|_| to_py_err(py, &Error::Closed))?;
        let appender = appender.as_ref();
        let position = appender
            .ok_or_else(|| to_py_err(py, &Error::Closed))?
            .durable();
        Ok((position.lines, position.bytes))
    }

    /// Stores the remaining data; returns the report as JSON.
    fn close(&self, py: Python<'_>) -> PyResult<String> {
        let report = self.step(py, move |appender| async move {
            let appender = appender.lock().await.take().ok_or(Error::Closed)?;
            appender.close().await
        })?;
        json(py, &report)
    }

    /// Aborts the stream: durable data stays, the rest is dropped.
    fn abort(&self, py: Python<'_>) -> PyResult<()> {
        self.stop.store(true, Ordering::Relaxed);
        if self.process != process::id() {
            return Ok(());
        }
        let appender = Arc::clone(&self.appender);
        wait(py, move || async move {
            let Some(appender) = appender.lock().await.take() else {
                return Ok(());
            };
            // The result only reports that it was stopped.
            let _ = appender.close().await;
            Ok(())
        })
    }
}

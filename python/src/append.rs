//! A stream that goes into a store while it is written.

use std::future::Future;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pyo3::prelude::*;
use tokio::sync::Mutex;
use tsql::ingest::{Appender, StreamFormat};
use tsql::{AppendOptions, Error};

use crate::arrow::imported;
use crate::errors::raised;
use crate::runtime::wait;
use crate::store::{Store, json};

/// A stream that is open, or was.
#[pyclass(frozen, module = "tsql._native")]
pub(crate) struct Appending {
    /// `None` after its end.
    appender: Arc<Mutex<Option<Appender>>>,
    stop: Arc<AtomicBool>,
    process: u32,
}

impl Appending {
    /// Runs a step of the stream, which is over where that fails.
    fn step<T: Send + 'static, F>(
        &self,
        py: Python<'_>,
        step: impl FnOnce(Arc<Mutex<Option<Appender>>>) -> F + Send + 'static,
    ) -> PyResult<T>
    where
        F: Future<Output = tsql::Result<T>>,
    {
        if self.process != process::id() {
            return Err(raised(py, &Error::Closed));
        }
        let appender = Arc::clone(&self.appender);
        let done = wait(py, move || step(appender));
        if done.is_err() {
            self.abort(py)?;
        }
        done
    }
}

/// The format of a stream of lines by its name.
pub(crate) fn format_of(py: Python<'_>, name: String) -> PyResult<StreamFormat> {
    let known = StreamFormat::ALL.into_iter();
    let mut known = known.filter(|format| *format != StreamFormat::Arrow);
    let names: Vec<&str> = known.clone().map(StreamFormat::name).collect();
    let format = known.find(|format| format.name() == name);
    format.ok_or_else(|| {
        raised(
            py,
            &Error::Unknown {
                kind: "format of streams",
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
        how: How,
    ) -> PyResult<Appending> {
        let stop = Arc::new(AtomicBool::new(false));
        let format = format_of(py, how.format)?;
        let mut options = AppendOptions::new(stream, platform)
            .format(format)
            .strict(how.strict)
            .stop(Arc::clone(&stop));
        for (key, value) in how.labels {
            options = options.label(key, value);
        }
        if let Some(lines) = how.group_lines {
            options = options.group_lines(lines);
        }
        if let Some(seconds) = how.group_s {
            let time = Duration::try_from_secs_f64(seconds);
            let time = time.map_err(|error| {
                crate::errors::argument(py, "group_s", format!("{seconds} s: {error}"))
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

/// How a stream is appended, as Python hands it over.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct How {
    format: String,
    labels: Vec<(String, String)>,
    strict: bool,
    group_lines: Option<u64>,
    group_s: Option<f64>,
}

#[pymethods]
impl Appending {
    /// Hands over bytes: lines, or parts of them.
    fn write(&self, py: Python<'_>, bytes: Vec<u8>) -> PyResult<()> {
        self.step(py, move |appender| async move {
            let mut appender = appender.lock().await;
            let appender = appender.as_mut().ok_or(Error::Closed)?;
            appender.write(&bytes).await
        })
    }

    /// Hands over rows that something exports by Arrow's interface.
    fn write_rows(&self, py: Python<'_>, rows: &Bound<'_, PyAny>) -> PyResult<()> {
        let (_, batches) = imported(rows)?;
        self.step(py, move |appender| async move {
            let mut appender = appender.lock().await;
            let appender = appender.as_mut().ok_or(Error::Closed)?;
            for batch in &batches {
                appender.write_batch(batch).await?;
            }
            Ok(())
        })
    }

    /// Waits until all that was written is durable; lines and bytes of the stream that are.
    fn flush(&self, py: Python<'_>) -> PyResult<(u64, u64)> {
        self.step(py, move |appender| async move {
            let mut appender = appender.lock().await;
            let appender = appender.as_mut().ok_or(Error::Closed)?;
            let position = appender.flush().await?;
            Ok((position.lines, position.bytes))
        })
    }

    /// Lines and bytes of the stream that are durable.
    fn durable(&self, py: Python<'_>) -> PyResult<(u64, u64)> {
        let appender = self.appender.try_lock();
        let appender = appender.map_err(|_| raised(py, &Error::Closed))?;
        let appender = appender.as_ref();
        let position = appender
            .ok_or_else(|| raised(py, &Error::Closed))?
            .durable();
        Ok((position.lines, position.bytes))
    }

    /// Stores what is left; the report as JSON.
    fn close(&self, py: Python<'_>) -> PyResult<String> {
        let report = self.step(py, move |appender| async move {
            let appender = appender.lock().await.take().ok_or(Error::Closed)?;
            appender.close().await
        })?;
        json(py, &report)
    }

    /// Ends it: what is durable stays, the rest is dropped.
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
            // It says that it was stopped.
            let _ = appender.close().await;
            Ok(())
        })
    }
}

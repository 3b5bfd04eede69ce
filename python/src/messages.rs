//! Forwards messages of the library (such as waiting for another writer, or a server) to Python's `logging`.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;

/// Messages that were not forwarded yet. Threads of the library never call Python.
static PENDING: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Queues a message.
pub(crate) fn enqueue(message: &str) {
    let mut told = PENDING.lock().unwrap_or_else(PoisonError::into_inner);
    told.push(message.to_owned());
}

/// Forwards the messages to the logger `tsql`.
///
/// # Errors
/// Exceptions of a log handler.
pub(crate) fn flush_to_logger(py: Python<'_>) -> PyResult<()> {
    let told = std::mem::take(&mut *PENDING.lock().unwrap_or_else(PoisonError::into_inner));
    if told.is_empty() {
        return Ok(());
    }
    let logger = py.import("logging")?.call_method1("getLogger", ("tsql",))?;
    for message in told {
        logger.call_method1("info", ("%s", message))?;
    }
    Ok(())
}

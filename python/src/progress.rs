//! Reports progress to a Python callable, on the thread that waits.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;

/// Current item, completed amount, and total amount.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct ProgressState {
    what: String,
    done: u64,
    of: u64,
}

/// Progress: written by the library's threads, read by the waiting thread.
#[derive(Clone, Default)]
pub(crate) struct Progress(Arc<Mutex<ProgressState>>);

impl Progress {
    /// Sets the progress.
    pub(crate) fn note(&self, what: &str, done: u64, of: u64) {
        let mut now = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *now = ProgressState {
            what: what.to_owned(),
            done,
            of,
        };
    }

    /// Updates the progress of an ingest, in bytes.
    pub(crate) fn note_event(&self, event: tsql::ingest::Event<'_>) {
        let mut now = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            tsql::ingest::Event::Planned { bytes, .. } => now.of = bytes,
            tsql::ingest::Event::File(name) => name.clone_into(&mut now.what),
            tsql::ingest::Event::Bytes(count) => now.done += count,
            _ => {}
        }
    }

    /// Returns a function that calls `heard(what, done, of)` if the progress has changed since the last call.
    pub(crate) fn reporter(
        &self,
        heard: Option<Py<PyAny>>,
    ) -> impl FnMut(Python<'_>) -> PyResult<()> {
        let (now, mut told) = (Arc::clone(&self.0), ProgressState::default());
        move |py| {
            let Some(heard) = &heard else {
                return Ok(());
            };
            let at = now.lock().unwrap_or_else(PoisonError::into_inner).clone();
            if at != told {
                heard.call1(py, (at.what.as_str(), at.done, at.of))?;
                told = at;
            }
            Ok(())
        }
    }
}

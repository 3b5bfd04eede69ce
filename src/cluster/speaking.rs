//! The threads that speak to other machines.
//!
//! They do nothing else: whoever computes for seconds without a pause must still answer that it is there, or the others
//! take it for lost.

use std::sync::OnceLock;
use std::time::Duration;

use tokio::runtime::{Builder, Handle, Runtime};

use crate::error::{Error, Result};

const THREADS: usize = 2;

/// Pause after which a connection is tried on which nothing came.
pub(crate) const QUIET: Duration = Duration::from_secs(3);

/// How long the other side may take to answer that.
pub(crate) const GONE: Duration = Duration::from_secs(10);

/// Where connections live, of this process's workers and of those whom it asks.
///
/// # Errors
/// [`Error::Io`] where threads cannot be started.
pub(crate) fn speaking() -> Result<&'static Handle> {
    static RUNTIME: OnceLock<std::io::Result<Runtime>> = OnceLock::new();
    let started = RUNTIME.get_or_init(|| {
        Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("speaking")
            .enable_all()
            .build()
    });
    started
        .as_ref()
        .map(Runtime::handle)
        .map_err(|error| Error::Io {
            path: "threads".into(),
            source: std::io::Error::new(error.kind(), error.to_string()),
        })
}

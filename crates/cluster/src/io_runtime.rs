//! Runtime whose threads do network I/O with other machines only.
//!
//! A thread that computes for seconds could not answer keep-alive pings, and other machines would treat the
//! process as lost.

use std::sync::OnceLock;
use std::time::Duration;

use tokio::runtime::{Builder, Handle, Runtime};
use tsql_error::{Error, Result};

const THREADS: usize = 2;

/// Idle time after which a connection is pinged.
pub(crate) const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(3);

/// Timeout of the ping response.
pub(crate) const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(10);

/// Returns the runtime for connections of this process's workers and to other workers.
///
/// # Errors
/// [`Error::Io`] if threads cannot be started.
pub fn io_runtime() -> Result<&'static Handle> {
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

//! Runs calls of the library on threads of its own, without the interpreter's lock; handles Ctrl-C and forks.

use std::future::Future;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;
use std::{process, ptr, thread};

use pyo3::prelude::*;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tsql::Error;

use crate::errors::to_py_err;
use crate::forks::{KEEP_ALIVE, count_threads};
use crate::messages::flush_to_logger;

/// Interval of checks for Ctrl-C, and of progress reports, while waiting.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Stack size of the threads that read and compute, as in the command, in bytes.
const STACK_BYTES: usize = 8 << 20;

/// Stack size of the planning thread, in bytes: walking an expression takes up to 10 kB for each operator.
const CALL_STACK_BYTES: usize = 64 << 20;

/// Time for threads to start a task after Ctrl-C, before they are replaced.
const START_TIMEOUT: Duration = Duration::from_millis(100);

/// Threads of one process.
struct Threads {
    process: u32,
    /// Unique number.
    number: u64,
    runtime: Runtime,
}

/// Number of thread sets so far.
static COUNT: AtomicU64 = AtomicU64::new(0);

/// Threads of this process; after a fork those of the parent, until the first call.
static THREADS: AtomicPtr<Threads> = AtomicPtr::new(ptr::null_mut());

/// Returns the threads that run all calls of this process. A forked process has none of its parent's threads,
/// so it starts new ones. The inherited ones are leaked, because dropping them would wait for threads that do
/// not exist.
#[expect(
    unsafe_code,
    reason = "a lock may be held by a thread that a fork has left behind"
)]
fn threads() -> PyResult<&'static Threads> {
    let known = THREADS.load(Ordering::Acquire);
    // SAFETY: the pointer is null or came from `Box::leak` below, and is never freed.
    if let Some(threads) = unsafe { known.as_ref() }
        && threads.process == process::id()
    {
        return Ok(threads);
    }
    let runtime = count_threads(&mut Builder::new_multi_thread())
        .thread_name("tsql")
        .thread_stack_size(STACK_BYTES)
        .thread_keep_alive(KEEP_ALIVE)
        .enable_all()
        .build()?;
    let threads: &'static mut Threads = Box::leak(Box::new(Threads {
        process: process::id(),
        number: COUNT.fetch_add(1, Ordering::Relaxed),
        runtime,
    }));
    let threads: &'static Threads = threads;
    let made = ptr::from_ref(threads).cast_mut();
    let won = THREADS.compare_exchange(known, made, Ordering::AcqRel, Ordering::Acquire);
    match won {
        Ok(_) => Ok(threads),
        // Another thread of this process was faster.
        Err(_) => self::threads(),
    }
}

/// Returns the runtime of this process, if a call has started it.
#[expect(unsafe_code, reason = "as in `threads`")]
pub(crate) fn existing_runtime() -> Option<&'static Runtime> {
    // SAFETY: as in `threads`.
    let threads = unsafe { THREADS.load(Ordering::Acquire).as_ref() }?;
    (threads.process == process::id()).then_some(&threads.runtime)
}

/// Returns the runtime of the current threads.
///
/// # Errors
/// The system cannot start more threads.
pub(crate) fn runtime() -> PyResult<&'static Runtime> {
    threads().map(|threads| &threads.runtime)
}

/// Returns an identifier of the threads, unique over processes: connections belong to the threads that opened
/// them.
///
/// # Errors
/// As [`runtime`].
pub(crate) fn generation() -> PyResult<(u32, u64)> {
    threads().map(|threads| (threads.process, threads.number))
}

/// Replaces stuck threads after Ctrl-C. A cancelled query may block all threads for the duration of one step,
/// which may be hours (a cross join of large tables). Then the next call gets new threads. The old ones finish
/// other calls, and cost nothing afterwards.
pub(crate) fn replace_stuck_threads(py: Python<'_>) -> PyResult<()> {
    let stuck = threads()?;
    let (begin, begun) = mpsc::channel();
    stuck.runtime.spawn(async move {
        // The receiver may be gone.
        let _ = begin.send(());
    });
    if py
        .detach(move || begun.recv_timeout(START_TIMEOUT))
        .is_err()
    {
        let stuck = ptr::from_ref(stuck).cast_mut();
        let none = ptr::null_mut();
        // If this fails, another thread has replaced them.
        let _ = THREADS.compare_exchange(stuck, none, Ordering::AcqRel, Ordering::Acquire);
    }
    Ok(())
}

/// Waits for the result of a library call.
///
/// # Errors
/// The errors of the call; `KeyboardInterrupt` after Ctrl-C, which drops the call.
pub(crate) fn wait<T: Send + 'static, F: Future<Output = tsql::Result<T>>>(
    py: Python<'_>,
    call: impl FnOnce() -> F + Send + 'static,
) -> PyResult<T> {
    wait_with_progress(py, call, |_| Ok(()))
}

/// As [`wait`], with regular calls of `tell`; an exception of `tell` ends the call.
///
/// # Errors
/// As [`wait`], and exceptions of `tell`.
pub(crate) fn wait_with_progress<T: Send + 'static, F: Future<Output = tsql::Result<T>>>(
    py: Python<'_>,
    call: impl FnOnce() -> F + Send + 'static,
    mut tell: impl FnMut(Python<'_>) -> PyResult<()>,
) -> PyResult<T> {
    let (end, mut ended) = mpsc::channel();
    let (leave, left) = oneshot::channel::<()>();
    let runtime = runtime()?;
    // Calls of the library stay on their first thread.
    thread::Builder::new()
        .name("tsql call".to_owned())
        .stack_size(CALL_STACK_BYTES)
        .spawn(move || {
            let given = runtime.block_on(async {
                tokio::select! {
                    given = call() => given,
                    _ = left => Err(Error::Interrupted),
                }
            });
            // An interrupted caller is not waiting for it.
            let _ = end.send(given);
        })?;
    loop {
        if let Some(given) = py.detach(|| poll_result(&mut ended)) {
            flush_to_logger(py).and_then(|()| tell(py))?;
            return given.map_err(|error| to_py_err(py, &error));
        }
        if let Err(raised) = raise_signals(py)
            .and_then(|()| flush_to_logger(py))
            .and_then(|()| tell(py))
        {
            // The call releases its resources before the next call, unless that takes long.
            drop(leave);
            py.detach(|| poll_result(&mut ended));
            replace_stuck_threads(py)?;
            return Err(raised);
        }
    }
}

/// Waits briefly for the result. A timer of the runtime would not fire while queries use all threads.
fn poll_result<T>(ended: &mut mpsc::Receiver<tsql::Result<T>>) -> Option<tsql::Result<T>> {
    match ended.recv_timeout(POLL_INTERVAL) {
        Ok(given) => Some(given),
        Err(RecvTimeoutError::Timeout) => None,
        Err(RecvTimeoutError::Disconnected) => {
            let lost = "a call ended early: see standard error";
            Some(Err(Error::Internal(lost.to_owned())))
        }
    }
}

/// Raises exceptions of signal handlers.
///
/// # Errors
/// `KeyboardInterrupt`, or an exception of the program's own handler.
pub(crate) fn raise_signals(py: Python<'_>) -> PyResult<()> {
    // Handlers run between two interpreter instructions: without one, a pending signal is not noticed.
    py.run(c"pass", None, None)?;
    py.check_signals()
}

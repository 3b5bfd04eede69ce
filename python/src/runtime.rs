//! Waiting for the library: on threads of its own, without the interpreter's lock, with an eye on Ctrl-C and on forks.

use std::future::Future;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;
use std::{process, ptr, thread};

use pyo3::prelude::*;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tsql::Error;

use crate::errors::raised;
use crate::messages::hand_over;

/// How often somebody who waits looks whether Ctrl-C was pressed, and tells progress.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Stack of the threads that read and compute, as the command has it.
const STACK_BYTES: usize = 8 << 20;

/// Stack of the thread that plans: what walks an expression takes up to 10 kB for each operator.
const CALL_STACK_BYTES: usize = 64 << 20;

/// How long threads may take to begin with something after Ctrl-C, before others take their place.
const BEGINS: Duration = Duration::from_millis(100);

/// The threads of one process.
struct Threads {
    process: u32,
    /// Another number for each.
    number: u64,
    runtime: Runtime,
}

/// How many there were.
static COUNT: AtomicU64 = AtomicU64::new(0);

/// Those of this process; those of the process that it was forked from, until somebody asks.
static THREADS: AtomicPtr<Threads> = AtomicPtr::new(ptr::null_mut());

/// The threads that all calls of this process run on. A forked process has none of its parent's, so it begins with new
/// ones; what it inherited is left alone, since to drop it would wait for threads that are not there.
#[expect(
    unsafe_code,
    reason = "a lock may be held by a thread that a fork has left behind"
)]
fn threads() -> PyResult<&'static Threads> {
    let known = THREADS.load(Ordering::Acquire);
    // SAFETY: the pointer is null or came from `Box::leak` below, and nothing is ever freed.
    if let Some(threads) = unsafe { known.as_ref() }
        && threads.process == process::id()
    {
        return Ok(threads);
    }
    let runtime = Builder::new_multi_thread()
        .thread_name("tsql")
        .thread_stack_size(STACK_BYTES)
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
        // Another thread of this process was quicker.
        Err(_) => self::threads(),
    }
}

/// The threads that calls of this process run on now.
///
/// # Errors
/// Where the system has no more threads.
pub(crate) fn runtime() -> PyResult<&'static Runtime> {
    threads().map(|threads| &threads.runtime)
}

/// Which threads these are, among all of all processes: connections belong to those that made them.
///
/// # Errors
/// As [`runtime`].
pub(crate) fn generation() -> PyResult<(u32, u64)> {
    threads().map(|threads| (threads.process, threads.number))
}

/// After Ctrl-C: a question that was given up may hold all threads for as long as one step of it takes, which may be hours
/// (a join of everything with everything). Then whoever calls next gets others. Those left behind end what others ask of
/// them, and cost nothing once they are done.
pub(crate) fn leave_stuck(py: Python<'_>) -> PyResult<()> {
    let stuck = threads()?;
    let (begin, begun) = mpsc::channel();
    stuck.runtime.spawn(async move {
        // Nobody may wait for it any more.
        let _ = begin.send(());
    });
    if py.detach(move || begun.recv_timeout(BEGINS)).is_err() {
        let stuck = ptr::from_ref(stuck).cast_mut();
        let none = ptr::null_mut();
        // Where that fails, somebody else has done it.
        let _ = THREADS.compare_exchange(stuck, none, Ordering::AcqRel, Ordering::Acquire);
    }
    Ok(())
}

/// Waits for what a call of the library gives.
///
/// # Errors
/// The call's own; `KeyboardInterrupt` where Ctrl-C was pressed, and the call is dropped then.
pub(crate) fn wait<T: Send + 'static, F: Future<Output = tsql::Result<T>>>(
    py: Python<'_>,
    call: impl FnOnce() -> F + Send + 'static,
) -> PyResult<T> {
    wait_telling(py, call, |_| Ok(()))
}

/// As [`wait`]; `tell` is called now and then meanwhile, and what it raises ends the call.
///
/// # Errors
/// As [`wait`], and what `tell` raises.
pub(crate) fn wait_telling<T: Send + 'static, F: Future<Output = tsql::Result<T>>>(
    py: Python<'_>,
    call: impl FnOnce() -> F + Send + 'static,
    mut tell: impl FnMut(Python<'_>) -> PyResult<()>,
) -> PyResult<T> {
    let (end, mut ended) = mpsc::channel();
    let (leave, left) = oneshot::channel::<()>();
    let runtime = runtime()?;
    // Calls of the library stay on the thread that they began on.
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
            // Whoever was interrupted does not wait for it.
            let _ = end.send(given);
        })?;
    loop {
        if let Some(given) = py.detach(|| wait_a_moment(&mut ended)) {
            hand_over(py).and_then(|()| tell(py))?;
            return given.map_err(|error| raised(py, &error));
        }
        if let Err(raised) = look(py)
            .and_then(|()| hand_over(py))
            .and_then(|()| tell(py))
        {
            // What it holds is let go before somebody calls again, unless that takes long.
            drop(leave);
            py.detach(|| wait_a_moment(&mut ended));
            leave_stuck(py)?;
            return Err(raised);
        }
    }
}

/// What was given, if it comes in a moment. A clock of the runtime would stand still while questions take all threads.
fn wait_a_moment<T>(ended: &mut mpsc::Receiver<tsql::Result<T>>) -> Option<tsql::Result<T>> {
    match ended.recv_timeout(LOOK_EVERY) {
        Ok(given) => Some(given),
        Err(RecvTimeoutError::Timeout) => None,
        Err(RecvTimeoutError::Disconnected) => {
            let lost = "a call ended in the middle: see standard error";
            Some(Err(Error::Internal(lost.to_owned())))
        }
    }
}

/// Raises what a signal has asked for.
///
/// # Errors
/// `KeyboardInterrupt`, or what the program's own handler raises.
pub(crate) fn look(py: Python<'_>) -> PyResult<()> {
    // Handlers run between two steps of the interpreter: without one, a signal that came meanwhile is not seen.
    py.run(c"pass", None, None)?;
    py.check_signals()
}

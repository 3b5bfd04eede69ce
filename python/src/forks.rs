//! Keeps the table of `parking_lot` free of threads at a fork.
//!
//! `parking_lot` has a global table of parked threads, whose entries are on their stacks. A forked child inherits the
//! table without the threads, and reuses their stacks: it may crash or hang as soon as one of its own threads parks.
//! Idle threads of tokio are parked there. So before a fork each worker gets a task that runs until the fork is over,
//! and idle threads for blocking calls end ([`KEEP_ALIVE`]). Calls of other threads may be parked during a fork: those are
//! not waited for.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use tokio::runtime::Builder;

use crate::runtime::existing_runtime;

/// Time after which an idle thread for blocking calls ends.
pub(crate) const KEEP_ALIVE: Duration = Duration::from_millis(5);

/// Maximum time for the workers to start their tasks, and for the other threads to end. A thread that takes longer is
/// computing, and not parked.
const QUIET_TIMEOUT: Duration = Duration::from_millis(500);

/// Maximum time of a task. A fork takes less.
const MAX_FORK_TIME: Duration = Duration::from_secs(1);

/// Number of forks in progress.
static FORKS: AtomicUsize = AtomicUsize::new(0);

/// Number of threads of runtimes in this process.
static THREADS: AtomicUsize = AtomicUsize::new(0);

/// Counts the threads of a runtime.
pub(crate) fn count_threads(builder: &mut Builder) -> &mut Builder {
    builder
        .on_thread_start(|| {
            THREADS.fetch_add(1, Ordering::AcqRel);
        })
        .on_thread_stop(|| {
            THREADS.fetch_sub(1, Ordering::AcqRel);
        })
}

/// Keeps all workers awake until [`after_fork`].
#[pyfunction]
pub(crate) fn before_fork() {
    FORKS.fetch_add(1, Ordering::AcqRel);
    let Some(runtime) = existing_runtime() else {
        return;
    };
    let (start, started) = mpsc::channel();
    let workers = runtime.metrics().num_workers();
    for _ in 0..workers {
        let start = start.clone();
        runtime.spawn(async move {
            let begin = Instant::now();
            // The receiver may have given up.
            let _ = start.send(());
            while FORKS.load(Ordering::Acquire) > 0 && begin.elapsed() < MAX_FORK_TIME {
                thread::sleep(Duration::from_micros(100));
            }
        });
    }
    let end = Instant::now() + QUIET_TIMEOUT;
    let left = || end.saturating_duration_since(Instant::now());
    for _ in 0..workers {
        if started.recv_timeout(left()).is_err() {
            break;
        }
    }
    while THREADS.load(Ordering::Acquire) > workers && !left().is_zero() {
        thread::sleep(Duration::from_millis(1));
    }
}

/// Ends the tasks of [`before_fork`], in the parent.
#[pyfunction]
pub(crate) fn after_fork() {
    FORKS.fetch_sub(1, Ordering::AcqRel);
}

/// Forgets the forks and threads of the parent, in the child.
#[pyfunction]
pub(crate) fn after_fork_in_child() {
    FORKS.store(0, Ordering::Release);
    THREADS.store(0, Ordering::Release);
}

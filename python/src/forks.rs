//! Keeps the table of `parking_lot` free of threads at a fork.
//!
//! `parking_lot` has a global table of parked threads, whose entries are on their stacks. A forked child inherits the
//! table without the threads, and reuses their stacks: it may crash or hang as soon as one of its own threads parks.
//! Idle threads of tokio are parked there. So before a fork each worker gets a task that runs until the fork is over,
//! and idle threads for blocking calls end ([`KEEP_ALIVE`]).

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use crate::runtime::existing_runtime;

/// Time after which an idle thread for blocking calls ends.
pub(crate) const KEEP_ALIVE: Duration = Duration::from_millis(5);

/// Maximum time for the workers to start their tasks. A worker that is late is computing, and not parked.
const START_TIMEOUT: Duration = Duration::from_millis(100);

/// Maximum time of a task. A fork takes less.
const MAX_FORK_TIME: Duration = Duration::from_secs(1);

/// Number of forks in progress.
static FORKS: AtomicUsize = AtomicUsize::new(0);

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
    let end = Instant::now() + START_TIMEOUT;
    for _ in 0..workers {
        if started
            .recv_timeout(end.saturating_duration_since(Instant::now()))
            .is_err()
        {
            break;
        }
    }
    thread::sleep(KEEP_ALIVE * 3);
}

/// Ends the tasks of [`before_fork`], in the parent.
#[pyfunction]
pub(crate) fn after_fork() {
    FORKS.fetch_sub(1, Ordering::AcqRel);
}

/// Forgets the forks of the parent, in the child.
#[pyfunction]
pub(crate) fn after_fork_in_child() {
    FORKS.store(0, Ordering::Release);
}

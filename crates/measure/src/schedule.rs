#![expect(
    unsafe_code,
    reason = "no crate in use wraps the call that sets a scheduling policy"
)]
//! CPU affinity and priority of threads.

use std::io;

use nix::libc;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

/// Any real-time priority precedes all ordinary processes. The watchdog precedes the worker.
const WORKER_PRIORITY: i32 = 10;
const WATCHDOG_PRIORITY: i32 = 20;

/// The calling thread.
const SELF: Pid = Pid::from_raw(0);

/// Reserves the core while the returned guard lives; `None` if that is not permitted.
///
/// The kernel's own limit remains: ordinary processes get 5 % of each second.
pub(super) fn enter_realtime() -> Option<Realtime> {
    set_policy(libc::SCHED_FIFO, WORKER_PRIORITY).ok()?;
    Some(Realtime(()))
}

/// Guard returned by [`enter_realtime`].
pub(super) struct Realtime(());

impl Drop for Realtime {
    fn drop(&mut self) {
        let _ = set_policy(libc::SCHED_OTHER, 0);
    }
}

/// Binds the calling thread to `core`. Returns whether that succeeded.
pub(super) fn pin_to_core(core: usize) -> bool {
    let mut cores = CpuSet::new();
    cores.set(core).is_ok() && sched_setaffinity(SELF, &cores).is_ok()
}

/// Keeps the calling thread responsive while a worker reserves `busy_core`, as far as permitted.
pub(super) fn become_watchdog(busy_core: Option<usize>) {
    let Some(busy) = busy_core else {
        return;
    };
    if let Ok(mut cores) = sched_getaffinity(SELF) {
        let _ = cores.unset(busy);
        // The call fails if there is no other core; the priority is enough then.
        let _ = sched_setaffinity(SELF, &cores);
    }
    let _ = set_policy(libc::SCHED_FIFO, WATCHDOG_PRIORITY);
}

/// Sets the policy of the calling thread. Its child threads and processes get the ordinary policy.
fn set_policy(policy: i32, priority: i32) -> io::Result<()> {
    let parameter = libc::sched_param {
        sched_priority: priority,
    };
    // SAFETY: the call only reads `parameter`, which lives until it returns.
    let result = unsafe {
        libc::sched_setscheduler(0, policy | libc::SCHED_RESET_ON_FORK, &raw const parameter)
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

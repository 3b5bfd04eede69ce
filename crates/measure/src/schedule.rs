#![expect(
    unsafe_code,
    reason = "no crate in use wraps the call that sets a scheduling policy"
)]
//! Which core a thread runs on, and before whom.

use std::io;

use nix::libc;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

/// Any real-time priority is before all ordinary processes. The watchdog is before the worker.
const WORKER_PRIORITY: i32 = 10;
const WATCHDOG_PRIORITY: i32 = 20;

/// The calling thread.
const SELF: Pid = Pid::from_raw(0);

/// Takes the core from every ordinary process as long as the returned guard lives;
/// `None` where that is not allowed.
///
/// The kernel's own limit stays on: an ordinary process gets 5 % of each second.
pub(super) fn realtime() -> Option<Realtime> {
    set_policy(libc::SCHED_FIFO, WORKER_PRIORITY).ok()?;
    Some(Realtime(()))
}

/// See [`realtime`].
pub(super) struct Realtime(());

impl Drop for Realtime {
    fn drop(&mut self) {
        let _ = set_policy(libc::SCHED_OTHER, 0);
    }
}

/// Lets the calling thread run only on `core`.
pub(super) fn pin(core: usize) -> bool {
    let mut cores = CpuSet::new();
    cores.set(core).is_ok() && sched_setaffinity(SELF, &cores).is_ok()
}

/// Keeps the calling thread able to act while a worker has `busy_core` for itself, as far as is allowed.
pub(super) fn become_watchdog(busy_core: Option<usize>) {
    let Some(busy) = busy_core else {
        return;
    };
    if let Ok(mut cores) = sched_getaffinity(SELF) {
        let _ = cores.unset(busy);
        // It fails where there is no other core; the priority does then.
        let _ = sched_setaffinity(SELF, &cores);
    }
    let _ = set_policy(libc::SCHED_FIFO, WATCHDOG_PRIORITY);
}

/// Sets the policy of the calling thread; threads and processes that it starts are ordinary ones.
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

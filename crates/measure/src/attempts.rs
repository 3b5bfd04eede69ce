//! What the system lets this process do, found by doing it: permissions, capabilities, limits and
//! filters of system calls are too many to be read one by one.
//!
//! Linux only; the calls are those that no crate of ours wraps.

#![expect(unsafe_code, reason = "system calls without a safe wrapper")]

use std::io;

/// A hardware event that counters may count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counter {
    Cycles,
    Instructions,
}

/// Opens a counter of this thread in user space, and closes it again.
///
/// Fails with `NotFound` where the processor shows no counters (most virtual machines), with
/// `PermissionDenied` where the system forbids it.
pub(crate) fn open_counter(counter: Counter) -> io::Result<()> {
    use std::os::fd::{FromRawFd as _, OwnedFd};
    /// `PERF_TYPE_HARDWARE` is 0; the size is that of the structure's first version (64 bytes),
    /// which all kernels take.
    const TYPE_AND_SIZE: u64 = 64 << 32;
    /// Flags `disabled`, `exclude_kernel` and `exclude_hv`, in the order of bits on little-endian machines.
    const FLAGS: u64 = 1 | 1 << 5 | 1 << 6;
    let event = match counter {
        Counter::Cycles => 0,
        Counter::Instructions => 1,
    };
    // `struct perf_event_attr`: type and size, config, period, sample type, read format, flags, ...
    let attributes: [u64; 8] = [TYPE_AND_SIZE, event, 0, 0, 0, FLAGS, 0, 0];
    // SAFETY: the pointer leads to 64 readable bytes, as their size field says, for the whole call;
    // 0 and -1 are this thread on any processor, -1 no group, 8 is `PERF_FLAG_FD_CLOEXEC`.
    let descriptor =
        unsafe { libc::syscall(libc::SYS_perf_event_open, attributes.as_ptr(), 0, -1, -1, 8) };
    match i32::try_from(descriptor) {
        Ok(descriptor) if descriptor >= 0 => {
            // SAFETY: the kernel has just opened it for this call alone.
            drop(unsafe { OwnedFd::from_raw_fd(descriptor) });
            Ok(())
        }
        _ => Err(io::Error::last_os_error()),
    }
}

/// Tries to become a realtime thread (`SCHED_FIFO`) of this priority, in a thread that then ends.
pub(crate) fn become_realtime(priority: i32) -> io::Result<()> {
    let attempt = std::thread::spawn(move || {
        // SAFETY: `sched_param` is plain numbers, for which all zeros is a value.
        let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
        parameters.sched_priority = priority;
        // SAFETY: the pointer leads to a `sched_param` that lives during the call; 0 is this thread.
        let code = unsafe {
            libc::syscall(
                libc::SYS_sched_setscheduler,
                0,
                libc::SCHED_FIFO,
                &raw const parameters,
            )
        };
        if code == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    });
    attempt
        .join()
        .unwrap_or_else(|_| Err(io::Error::other("the thread ended early")))
}

/// `glibc 2.36`: the C library that this process runs with.
#[cfg(target_env = "gnu")]
pub(crate) fn libc_version() -> Option<String> {
    // SAFETY: the function takes nothing and returns a constant string with a zero at its end.
    let version = unsafe { std::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
    Some(format!("glibc {}", version.to_str().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_opens_or_the_reason_is_one_that_is_known() {
        // ENOENT, EACCES, EPERM, ENOSYS, EOPNOTSUPP; EINVAL would be a fault of the structure.
        match open_counter(Counter::Instructions) {
            Ok(()) => {}
            Err(error) => assert!(
                [2, 13, 1, 38, 95].contains(&error.raw_os_error().unwrap()),
                "{error}"
            ),
        }
    }

    #[test]
    fn a_priority_that_does_not_exist_is_refused() {
        assert!(become_realtime(1000).is_err());
    }

    #[test]
    fn this_thread_stays_as_it_was() {
        let _ = become_realtime(1);
        let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        // Field 41 is the policy; the name of the thread, in brackets, may hold blanks.
        let policy = stat
            .rsplit_once(')')
            .unwrap()
            .1
            .split_ascii_whitespace()
            .nth(38)
            .unwrap();
        assert_eq!(policy, "0");
    }

    #[cfg(target_env = "gnu")]
    #[test]
    fn the_c_library_has_a_version() {
        let version = libc_version().unwrap();
        assert!(
            version
                .strip_prefix("glibc 2.")
                .unwrap()
                .parse::<u32>()
                .unwrap()
                >= 17,
            "{version}"
        );
    }
}

//! Capabilities of this process, found by trying them.
//!
//! Permissions, capabilities, limits and system call filters are too many to evaluate one by one. Linux
//! only; these system calls have no wrapper in our dependencies.

#![expect(unsafe_code, reason = "system calls without a safe wrapper")]

use std::io;

/// A hardware event that a performance counter can count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counter {
    Cycles,
    Instructions,
}

/// Opens a user-space counter of this thread and closes it again.
///
/// # Errors
/// `NotFound` if the processor has no counters (most virtual machines), `PermissionDenied` if the system
/// forbids them.
pub(crate) fn open_counter(counter: Counter) -> io::Result<()> {
    use std::os::fd::{FromRawFd as _, OwnedFd};
    /// `PERF_TYPE_HARDWARE` (0), and the size of the structure's first version (64 bytes), which all
    /// kernels accept.
    const TYPE_AND_SIZE: u64 = 64 << 32;
    /// The flags `disabled`, `exclude_kernel` and `exclude_hv`, in the bit order of little-endian machines.
    const FLAGS: u64 = 1 | 1 << 5 | 1 << 6;
    let event = match counter {
        Counter::Cycles => 0,
        Counter::Instructions => 1,
    };
    // `struct perf_event_attr`: type and size, config, period, sample type, read format, flags, ...
    let attributes: [u64; 8] = [TYPE_AND_SIZE, event, 0, 0, 0, FLAGS, 0, 0];
    // SAFETY: the pointer refers to 64 readable bytes for the whole call, as their size field says. 0 and
    // -1 select this thread on any processor, -1 is no group, 8 is `PERF_FLAG_FD_CLOEXEC`.
    let descriptor =
        unsafe { libc::syscall(libc::SYS_perf_event_open, attributes.as_ptr(), 0, -1, -1, 8) };
    match i32::try_from(descriptor) {
        Ok(descriptor) if descriptor >= 0 => {
            // SAFETY: the kernel has just opened the descriptor for this call; nothing else owns it.
            drop(unsafe { OwnedFd::from_raw_fd(descriptor) });
            Ok(())
        }
        _ => Err(io::Error::last_os_error()),
    }
}

/// Tries to set `SCHED_FIFO` with this priority, on a short-lived thread.
pub(crate) fn set_realtime(priority: i32) -> io::Result<()> {
    let attempt = std::thread::spawn(move || {
        // SAFETY: `sched_param` consists of integers, for which all zeros is a valid value.
        let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
        parameters.sched_priority = priority;
        // SAFETY: the pointer refers to a `sched_param` that lives during the call; 0 is this thread.
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

/// Version of the C library of this process, e.g. `glibc 2.36`.
#[cfg(target_env = "gnu")]
pub(crate) fn libc_version() -> Option<String> {
    // SAFETY: the function takes no arguments and returns a constant NUL-terminated string.
    let version = unsafe { std::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
    Some(format!("glibc {}", version.to_str().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_opens_or_the_reason_is_one_that_is_known() {
        // ENOENT, EACCES, EPERM, ENOSYS, EOPNOTSUPP; EINVAL would be an error in the structure.
        match open_counter(Counter::Instructions) {
            Ok(()) => {}
            Err(error) => assert!(
                [2, 13, 1, 38, 95].contains(&error.raw_os_error().unwrap()),
                "{error}"
            ),
        }
    }

    #[test]
    fn an_invalid_priority_is_rejected() {
        assert!(set_realtime(1000).is_err());
    }

    #[test]
    fn this_thread_stays_as_it_was() {
        let _ = set_realtime(1);
        let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        // Field 41 is the policy; the thread name, in brackets, can contain spaces.
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

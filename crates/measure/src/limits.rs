//! Resource limits of a worker, enforced by the system independently of its parent.

use std::fs;

use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::resource::{Resource, rlim_t, setrlimit};
use nix::sys::signal::Signal;
use nix::unistd::{Pid, SysconfVar, getppid, sysconf};

use super::job::{Job, Task, WorkerLimits};
use super::sandbox::{self, SandboxProfile};

/// Address space in addition to the buffers: libraries, the kernel's own memory, and the cache flush.
const BASE_MEMORY_BYTES: u64 = 5 << 28;
/// Stack and heap of each thread.
const THREAD_BYTES: u64 = 72 << 20;
/// Maximum bytes that a kernel may write to a file.
const FILE_BYTES: u64 = 1 << 20;
/// Seconds of processor time above the wall time limit, which the parent enforces.
const GRACE_S: u64 = 2;

/// Sets all limits of the calling process. Returns the names of active limits, or why the worker must not
/// start.
pub(super) fn apply_limits(job: &Job, buffer_bytes: u64) -> Result<Vec<String>, String> {
    end_with_parent(&job.bounds)?;
    let mut active = Vec::new();
    if set_limits(job, buffer_bytes).is_ok() {
        active.push("rlimits".to_owned());
    }
    // Required for both parts of the sandbox if the user is not root.
    let no_new_privileges = prctl::set_no_new_privs().is_ok();
    if no_new_privileges && job.bounds.sandbox {
        let bounds = &job.bounds;
        let confined = SandboxProfile::Kernel;
        active.extend(sandbox::enter(confined, &bounds.folder, &bounds.readable));
    }
    Ok(active)
}

fn end_with_parent(bounds: &WorkerLimits) -> Result<(), String> {
    prctl::set_pdeathsig(Signal::SIGKILL).map_err(|errno| errno.to_string())?;
    // The parent may have exited before.
    if getppid() == Pid::from_raw(bounds.parent) {
        Ok(())
    } else {
        Err("the process that started the worker has ended".to_owned())
    }
}

fn set_limits(job: &Job, buffer_bytes: u64) -> Result<(), Errno> {
    let threads = u64::from(job.settings.threads.max(1));
    let set_both = |resource, limit: u64| {
        let limit = rlim_t::from(limit);
        setrlimit(resource, limit, limit)
    };
    // The buffers, and the reference's outputs for the comparison.
    let data = buffer_bytes.saturating_mul(2);
    let address_space = [
        mapped_bytes(),
        data,
        BASE_MEMORY_BYTES,
        THREAD_BYTES * threads,
    ];
    set_both(
        Resource::RLIMIT_AS,
        address_space.into_iter().fold(0, u64::saturating_add),
    )?;
    let seconds = std::time::Duration::from_secs_f64(job.settings.timeout_run_s.clamp(1.0, 1e6));
    set_both(
        Resource::RLIMIT_CPU,
        (seconds.as_secs() + 1) * threads + GRACE_S,
    )?;
    let written = match job.task {
        Task::Reference { .. } => buffer_bytes,
        Task::Probe | Task::Time { .. } => 0,
    };
    set_both(Resource::RLIMIT_FSIZE, written.saturating_add(FILE_BYTES))?;
    set_both(Resource::RLIMIT_CORE, 0)?;
    // The limit counts all threads of the user, including other programs. Root has no limit.
    set_both(Resource::RLIMIT_NPROC, running_threads() + threads + 64)
}

/// Current address space of this process, in bytes.
fn mapped_bytes() -> u64 {
    let page = sysconf(SysconfVar::PAGE_SIZE).ok().flatten();
    let page = page
        .and_then(|bytes| u64::try_from(bytes).ok())
        .unwrap_or(4096);
    let pages = fs::read_to_string("/proc/self/statm").ok();
    let pages = pages.and_then(|text| text.split(' ').next()?.parse::<u64>().ok());
    pages.unwrap_or(1 << 20).saturating_mul(page)
}

/// Number of threads on this machine, from `0.1 0.2 0.3 2/345 6789`.
fn running_threads() -> u64 {
    let text = fs::read_to_string("/proc/loadavg").ok();
    let count = text.and_then(|text| text.split(['/', ' ']).nth(4)?.parse().ok());
    count.unwrap_or(4096)
}

/// Memory available without swapping; `None` if unknown.
pub(super) fn available_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_facts_behind_the_limits_are_read() {
        assert!(mapped_bytes() > 1 << 20);
        assert!((1..1 << 22).contains(&running_threads()));
        assert!(available_bytes().unwrap() > 1 << 20);
    }
}

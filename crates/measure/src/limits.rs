//! How much a worker may take before the system stops it, whatever its parent does.

use std::fs;

use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::resource::{Resource, rlim_t, setrlimit};
use nix::sys::signal::Signal;
use nix::unistd::{Pid, SysconfVar, getppid, sysconf};

use super::job::{Bounds, Job, Task};
use super::sandbox::{self, Confined};

/// Address space beyond the buffers: libraries, the kernel's own scratch memory, what flushes the caches.
const ALLOWANCE_BYTES: u64 = 5 << 28;
/// For the stack and the heap of each thread.
const THREAD_BYTES: u64 = 72 << 20;
/// Bytes that a kernel may write to a file.
const FILE_BYTES: u64 = 1 << 20;
/// Seconds of processor time beyond the wall limit, which the parent keeps.
const GRACE_S: u64 = 2;

/// Sets all limits of the calling process. Gives the names of those that hold, or why the worker must not start.
pub(super) fn enter(job: &Job, buffer_bytes: u64) -> Result<Vec<String>, String> {
    die_with_parent(&job.bounds)?;
    let mut active = Vec::new();
    if set_limits(job, buffer_bytes).is_ok() {
        active.push("rlimits".to_owned());
    }
    // Needed for both parts of the sandbox where the user is not root.
    let no_new_privileges = prctl::set_no_new_privs().is_ok();
    if no_new_privileges && job.bounds.sandbox {
        let bounds = &job.bounds;
        let confined = Confined::Kernel;
        active.extend(sandbox::enter(confined, &bounds.folder, &bounds.readable));
    }
    Ok(active)
}

fn die_with_parent(bounds: &Bounds) -> Result<(), String> {
    prctl::set_pdeathsig(Signal::SIGKILL).map_err(|errno| errno.to_string())?;
    // It may have died before.
    if getppid() == Pid::from_raw(bounds.parent) {
        Ok(())
    } else {
        Err("the process that started the worker is gone".to_owned())
    }
}

fn set_limits(job: &Job, buffer_bytes: u64) -> Result<(), Errno> {
    let threads = u64::from(job.settings.threads.max(1));
    let both = |resource, limit: u64| {
        let limit = rlim_t::from(limit);
        setrlimit(resource, limit, limit)
    };
    // The buffers, and the reference's outputs to compare them with.
    let data = buffer_bytes.saturating_mul(2);
    let address_space = [
        mapped_bytes(),
        data,
        ALLOWANCE_BYTES,
        THREAD_BYTES * threads,
    ];
    both(
        Resource::RLIMIT_AS,
        address_space.into_iter().fold(0, u64::saturating_add),
    )?;
    let seconds = std::time::Duration::from_secs_f64(job.settings.timeout_run_s.clamp(1.0, 1e6));
    both(
        Resource::RLIMIT_CPU,
        (seconds.as_secs() + 1) * threads + GRACE_S,
    )?;
    let written = match job.task {
        Task::Reference { .. } => buffer_bytes,
        Task::Probe | Task::Time { .. } => 0,
    };
    both(Resource::RLIMIT_FSIZE, written.saturating_add(FILE_BYTES))?;
    both(Resource::RLIMIT_CORE, 0)?;
    // It counts all of the user's threads, also those of other programs. Root has no limit.
    both(Resource::RLIMIT_NPROC, running_threads() + threads + 64)
}

/// Address space that this process has now.
fn mapped_bytes() -> u64 {
    let page = sysconf(SysconfVar::PAGE_SIZE).ok().flatten();
    let page = page
        .and_then(|bytes| u64::try_from(bytes).ok())
        .unwrap_or(4096);
    let pages = fs::read_to_string("/proc/self/statm").ok();
    let pages = pages.and_then(|text| text.split(' ').next()?.parse::<u64>().ok());
    pages.unwrap_or(1 << 20).saturating_mul(page)
}

/// Threads on this machine, from `0.1 0.2 0.3 2/345 6789`.
fn running_threads() -> u64 {
    let text = fs::read_to_string("/proc/loadavg").ok();
    let count = text.and_then(|text| text.split(['/', ' ']).nth(4)?.parse().ok());
    count.unwrap_or(4096)
}

/// Memory that can be had without swapping; `None` where the system does not say.
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

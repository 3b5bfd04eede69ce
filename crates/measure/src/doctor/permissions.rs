//! Checks of permissions: hardware counters, real-time priority, address layout.

use super::finding::Finding;
use super::probe::{AccessError, Probe};
use crate::machine::Machine;

pub(super) fn findings(machine: &Machine, probe: &Probe) -> Vec<Finding> {
    let all = [
        Some(counters(machine, probe)),
        Some(realtime(probe)),
        aslr(machine),
        pages(machine),
        Some(compiler(machine)),
    ];
    all.into_iter().flatten().collect()
}

fn counters(machine: &Machine, probe: &Probe) -> Finding {
    let paranoid = machine.system.perf_event_paranoid;
    let level = paranoid.map_or_else(|| "unknown".to_owned(), |level| level.to_string());
    match probe.counters {
        Ok(()) => Finding::ok("counters", "cycles and instructions can be counted"),
        Err(AccessError::Missing) => {
            Finding::note("counters", "the processor has no counters of cycles and instructions, as in most virtual machines")
        }
        Err(AccessError::Forbidden) => Finding::note("counters", format!("not available to this process (`perf_event_paranoid` is {level})"))
            .with_hint("`sudo sysctl kernel.perf_event_paranoid=2`; a container also needs `CAP_PERFMON` and a seccomp profile with `perf_event_open`"),
    }
}

fn realtime(probe: &Probe) -> Finding {
    match probe.realtime {
        Ok(()) => Finding::ok("realtime", "allowed: kernels of one thread have priority over other processes while they are timed"),
        Err(_) => Finding::note("realtime", "not allowed")
            .with_hint("`ulimit -r 50` (limits.conf: `rtprio`), `CAP_SYS_NICE`, or `docker run --cap-add sys_nice --ulimit rtprio=50`"),
    }
}

fn aslr(machine: &Machine) -> Option<Finding> {
    Some(match machine.system.aslr? {
        0 => Finding::ok("aslr", "off"),
        _ => Finding::note(
            "aslr",
            "on: addresses and cache conflicts differ between processes",
        )
        .with_hint(
            "`setarch -R tsql measure ...` disables it for one run; or measure again and compare",
        ),
    })
}

fn pages(machine: &Machine) -> Option<Finding> {
    Some(match machine.memory.transparent_huge_pages.as_deref()? {
        "always" => Finding::note(
            "huge pages",
            "`always`: large buffers get huge pages if the kernel finds some, so runs differ",
        ),
        "madvise" => Finding::ok("huge pages", "`madvise`: only on request"),
        other => Finding::ok("huge pages", format!("`{other}`")),
    })
}

fn compiler(machine: &Machine) -> Finding {
    match &machine.toolchain {
        Some(found) => Finding::ok(
            "compiler",
            format!("`{}`: {}", found.path, found.version_line),
        ),
        None => Finding::warning(
            "compiler",
            "none found: kernels in C and C++ cannot be built",
        )
        .with_hint("install gcc or clang (`apt install gcc`), or name one in the variable `CC`"),
    }
}

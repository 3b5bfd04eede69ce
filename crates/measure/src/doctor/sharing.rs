//! Checks for others on the processor: virtual machines, processes, threads of the core.

use super::finding::Finding;
use super::probe::Probe;
use crate::conditions::{Conditions, Ticks, fraction, steal_fraction};
use crate::machine::{Machine, parse_quota};

/// Fraction of lost or stolen time that is visible in timings with a precision of 1 %.
const DISTURBING_FRACTION: f64 = 0.01;

/// Pressure in percent above which the machine is busy.
const BUSY_PERCENT: f64 = 10.0;

pub(super) fn findings(machine: &Machine, conditions: &Conditions, probe: &Probe) -> Vec<Finding> {
    let all = [
        Some(hypervisor(machine)),
        Some(busy(machine, conditions)),
        Some(interruptions(probe)),
        steal(conditions, probe),
        Some(quota(machine, conditions)),
        Some(cpuset(machine, probe)),
        smt(machine),
        isolation(machine),
        core_types(machine),
    ];
    all.into_iter().flatten().collect()
}

fn hypervisor(machine: &Machine) -> Finding {
    match machine.processor.hypervisor.as_deref() {
        None => Finding::note("hypervisor", "unknown: this may be a virtual machine"),
        Some("none") => Finding::ok("hypervisor", "none"),
        Some(name) => Finding::note(
            "hypervisor",
            format!("a virtual machine ({name}): the host may mask the processor's model and share its cores"),
        )
        .with_hint("compare timings only with others of this machine"),
    }
}

fn busy(machine: &Machine, conditions: &Conditions) -> Finding {
    let threads = u64::from(machine.topology.threads.unwrap_or(1));
    let load = conditions.load.map_or_else(String::new, |[load, ..]| {
        format!(", load {load:.1} on {threads} threads")
    });
    let hint = "end other work, or wait until it ends; short repeats (`min_repeat_ms` of 1 to 10) find undisturbed moments";
    match (conditions.pressure_percent, conditions.runnable) {
        (Some(pressure), _) => {
            let detail = format!(
                "in {pressure:.0} % of the last 10 s some task waited for a processor{load}"
            );
            if pressure >= BUSY_PERCENT {
                Finding::warning("busy", detail).with_hint(hint)
            } else {
                Finding::ok("busy", detail)
            }
        }
        (None, Some(runnable)) => {
            let detail = format!("{runnable} tasks running or waiting{load}");
            // This process is runnable, too.
            if runnable > threads {
                Finding::warning("busy", detail).with_hint(hint)
            } else {
                Finding::ok("busy", detail)
            }
        }
        (None, None) => Finding::note("busy", "the system does not report its load"),
    }
}

fn interruptions(probe: &Probe) -> Finding {
    let clock = probe.clock;
    let detail = format!(
        "a loop lost its core for {} of 0.2 s, for {} µs at most",
        percent(clock.lost),
        clock.longest_gap_us
    );
    if clock.lost < DISTURBING_FRACTION {
        return Finding::ok("interruptions", detail);
    }
    Finding::warning("interruptions", detail)
        .with_hint("real-time priority prevents interruptions by other processes; see `realtime`")
}

fn steal(conditions: &Conditions, probe: &Probe) -> Option<Finding> {
    let since_start = |Ticks { steal, total, .. }: Ticks| fraction(steal, total);
    let long = conditions.ticks.map(since_start)?;
    let now = steal_fraction(conditions, &probe.after);
    let detail = format!(
        "the host used {} of the time since the start, {} now",
        percent(long),
        percent(now)
    );
    Some(if now >= DISTURBING_FRACTION {
        Finding::warning("steal", detail)
            .with_hint("a dedicated or bare-metal machine has no steal time")
    } else if long >= DISTURBING_FRACTION {
        Finding::note("steal", detail)
    } else {
        Finding::ok("steal", detail)
    })
}

fn quota(machine: &Machine, conditions: &Conditions) -> Finding {
    let Some(cpu_max) = machine.container.cpu_max.as_deref() else {
        return Finding::ok("quota", "no control group limits the processor time");
    };
    let Some(cores) = parse_quota(cpu_max) else {
        return Finding::ok(
            "quota",
            "the control group does not limit the processor time",
        );
    };
    let stopped = conditions.quota_stop_us.filter(|&stop| stop > 0);
    let stopped = stopped.map_or_else(String::new, |stop| {
        format!("; it has stopped processes for {} ms", stop / 1000)
    });
    Finding::warning("quota", format!("the control group may use {cores:.2} processors (`cpu.max` is `{cpu_max}`){stopped}"))
        .with_hint("start the container without a limit of processor time (`--cpus`, `limits.cpu`), give it whole cores instead (`--cpuset-cpus`)")
}

fn cpuset(machine: &Machine, probe: &Probe) -> Finding {
    let list = machine.container.cpuset.as_deref().unwrap_or("unknown");
    match probe.allowed_cores {
        0 => Finding::note("cores", "the system does not report the allowed cores"),
        1 => Finding::warning(
            "cores",
            format!("one core only (`{list}`): compilers and the timed kernel share it"),
        )
        .with_hint("allow a second core, or build with `--jobs 1` before anything is timed"),
        many => Finding::ok("cores", format!("{many} may be used (`{list}`)")),
    }
}

fn smt(machine: &Machine) -> Option<Finding> {
    let guest = machine
        .processor
        .hypervisor
        .as_deref()
        .is_some_and(|name| name != "none");
    Some(match machine.topology.smt_active? {
        true => Finding::note("smt", "two or more threads share each core and slow each other")
            .with_hint("leave the other threads of the measured core idle, or `echo off | sudo tee /sys/devices/system/cpu/smt/control`"),
        false if guest => Finding::ok("smt", "not visible in this machine; the host may use it"),
        false => Finding::ok("smt", "off"),
    })
}

fn isolation(machine: &Machine) -> Option<Finding> {
    let isolated = machine
        .system
        .isolated_cpus
        .as_deref()
        .filter(|list| !list.is_empty())?;
    Some(Finding::ok(
        "isolation",
        format!("the scheduler does not use cores `{isolated}`; measurements prefer them"),
    ))
}

fn core_types(machine: &Machine) -> Option<Finding> {
    let kinds = machine.processor.core_kinds.filter(|&kinds| kinds > 1)?;
    let detail = format!("{kinds} kinds of cores with different speeds");
    Some(
        Finding::note("hybrid", detail)
            .with_hint("measure on one core only (`--core N`), and on the same one each time"),
    )
}

/// Formats a fraction as percent with one decimal.
fn percent(fraction: f64) -> String {
    format!("{:.1} %", fraction * 100.0)
}

//! Checks of the processor's clock, and of the clock that timings use.

use super::finding::Finding;
use super::probe::Probe;
use crate::conditions::{Conditions, is_throttled};
use crate::machine::Machine;

/// A repeat takes at least 1 ms and should be precise to 0.1 %, so a step of 1 µs is too coarse.
const COARSE_STEP_NS: u64 = 1_000;

/// Temperature in m°C near which processors of all makers start to throttle.
const HOT_MILLICELSIUS: i64 = 90_000;

pub(super) fn findings(machine: &Machine, conditions: &Conditions, probe: &Probe) -> Vec<Finding> {
    let all = [
        Some(governor(machine)),
        boost(machine),
        Some(throttling(conditions, probe)),
        temperature(conditions),
        battery(conditions),
        Some(resolution(probe)),
        clocksource(machine),
    ];
    all.into_iter().flatten().collect()
}

fn governor(machine: &Machine) -> Finding {
    let frequency = &machine.frequency;
    let Some(governor) = frequency.governor.as_deref() else {
        return Finding::note(
            "governor",
            "unknown: the host or the firmware controls the clock",
        );
    };
    let preference = frequency.preference.as_deref();
    let named = preference.map_or_else(String::new, |preference| {
        format!(", preference `{preference}`")
    });
    let detail = format!("`{governor}`{named}");
    match (governor, preference) {
        ("performance", _) => Finding::ok("governor", detail),
        // Drivers that leave the clock to the hardware have two governors; the energy preference decides.
        ("powersave", Some("performance")) => Finding::ok("governor", detail),
        _ => Finding::warning("governor", format!("{detail}: the clock follows the load"))
            .with_hint("`sudo cpupower frequency-set -g performance`"),
    }
}

fn boost(machine: &Machine) -> Option<Finding> {
    let intel = machine
        .frequency
        .driver
        .as_deref()
        .is_some_and(|driver| driver.contains("intel_pstate"));
    let off = if intel {
        "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo"
    } else {
        "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost"
    };
    Some(match machine.frequency.boost? {
        true => Finding::note(
            "boost",
            "on: the clock depends on the temperature and the number of busy cores",
        )
        .with_hint(format!("for timings with a precision of 1 %: `{off}`")),
        false => Finding::ok("boost", "off"),
    })
}

fn throttling(conditions: &Conditions, probe: &Probe) -> Finding {
    if is_throttled(conditions, &probe.after) {
        return Finding::warning(
            "throttling",
            "the processor is throttled by heat, a lowered limit or a quota",
        )
        .with_hint("let the processor cool, check its fans, and see `quota` above");
    }
    match conditions.throttle_count {
        None => Finding::note("throttling", "the processor does not report throttling"),
        Some(0) => Finding::ok("throttling", "never since the start"),
        Some(count) => Finding::note(
            "throttling",
            format!("heat throttled the processor {count} times since the start"),
        )
        .with_hint("repeat the measurements with the flag `throttled`"),
    }
}

fn temperature(conditions: &Conditions) -> Option<Finding> {
    let (sensor, &hottest) = conditions
        .temperatures_mc
        .iter()
        .max_by_key(|(_, reading)| **reading)?;
    let detail = format!("{} °C (`{sensor}`)", hottest / 1000);
    Some(if hottest >= HOT_MILLICELSIUS {
        Finding::warning("temperature", detail).with_hint("let the machine cool before measuring")
    } else {
        Finding::ok("temperature", detail)
    })
}

fn battery(conditions: &Conditions) -> Option<Finding> {
    Some(if conditions.on_battery? {
        Finding::warning("power", "on battery: clocks are lowered").with_hint("plug it in")
    } else {
        Finding::ok("power", "plugged in")
    })
}

fn resolution(probe: &Probe) -> Finding {
    let step = probe.clock.step_ns;
    let detail = format!("the smallest observed step is {step} ns");
    if step < COARSE_STEP_NS {
        return Finding::ok("clock", detail);
    }
    Finding::warning("clock", detail).with_hint("raise `min_repeat_ms`, see `clocksource`")
}

fn clocksource(machine: &Machine) -> Option<Finding> {
    let source = machine.system.clocksource.as_deref()?;
    let detail = format!("`{source}`");
    Some(match source {
        "tsc" | "arch_sys_counter" => Finding::ok("clocksource", detail),
        // Both are read without a system call, but the host adjusts them.
        "kvm-clock" | "hyperv_clocksource_tsc_page" => Finding::note("clocksource", format!("{detail}: corrected by the host")),
        _ => Finding::warning("clocksource", format!("{detail}: slow to read, or coarse"))
            .with_hint("`cat /sys/devices/system/clocksource/clocksource0/available_clocksource`; the kernel's log states why `tsc` is not used"),
    })
}

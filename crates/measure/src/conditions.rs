//! Changing state of the machine: load, steal time, temperature, clocks.
//!
//! Read before and after a kernel is timed, in the process that times it (`Watch`). Counters run since
//! boot, so only differences are meaningful. The kernel counts in ticks (mostly 10 ms), so short intervals
//! are coarse. Unknown values are null.

mod sensors;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};
use nix::unistd::{SysconfVar, sysconf};

use crate::fs_root::FsRoot;
use crate::machine::{cpu_groups, meminfo_bytes, siblings};

/// Load of other processes above which the machine is busy, as a fraction of one processor's time and of
/// all processors'.
///
/// Other processes use caches, memory bandwidth and clock headroom. The services of an idle machine used up
/// to 5 % of a processor. Pressure (`/proc/pressure/cpu`) is unsuitable: threads bound to a core wait while
/// a real-time worker has it, so pressure is high on an idle machine, too.
const BUSY_PROCESSOR: f64 = 0.10;
const BUSY_ALL: f64 = 0.02;

/// Fraction of steal time (processor time that the host gave to other machines) that is reported: timings
/// should be precise to 1 %.
const MIN_STEAL_FRACTION: f64 = 0.01;

/// Fraction of time that a sibling thread of the core was busy. Two threads slow each other by 20 to 50 %,
/// so 5 % of the time is 1 to 2.5 % of the timing.
const BUSY_SIBLING: f64 = 0.05;

/// Smaller tick differences can be rounding errors of the two readings.
const MIN_TICKS: u64 = 2;

/// Ticks per second on nearly all machines.
const USER_HZ: u64 = 100;

/// Ticks since boot, of one or several processors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ticks {
    /// Ticks spent working for this machine.
    pub(crate) busy: u64,
    /// Ticks requested but given to another machine by the host.
    pub(crate) steal: u64,
    pub(crate) total: u64,
}

impl Ticks {
    /// Sum of both.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            busy: self.busy + other.busy,
            steal: self.steal + other.steal,
            total: self.total + other.total,
        }
    }

    /// Busy fraction of the ticks since `before`; 0 if there were none.
    pub(crate) fn busy_fraction_since(self, before: Self) -> f64 {
        let busy = self.busy.saturating_sub(before.busy);
        fraction(busy, self.total.saturating_sub(before.total))
    }
}

/// State of the machine at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Conditions {
    /// Core described by `ticks`, `sibling_ticks` and the clocks; null for the whole machine.
    pub(crate) core: Option<usize>,
    /// Percentage of the last 10 s in which some task waited for a processor.
    pub(crate) pressure_percent: Option<f64>,
    /// Load average over 1, 5 and 15 minutes.
    pub(crate) load: Option<[f64; 3]>,
    /// Runnable tasks at this moment, including this one.
    pub(crate) runnable: Option<u64>,
    pub(crate) ticks: Option<Ticks>,
    /// Ticks of all processors.
    pub(crate) all_ticks: Option<Ticks>,
    /// Ticks of the other threads of the core.
    pub(crate) sibling_ticks: Option<Ticks>,
    /// Maximum of each processor sensor, in thousandths of a degree Celsius.
    pub(crate) temperatures_mc: BTreeMap<String, i64>,
    /// Current or last clock of the core, in kHz.
    pub(crate) clock_khz: Option<u64>,
    /// Current upper limit of the clock, in kHz.
    pub(crate) clock_limit_khz: Option<u64>,
    /// Number of thermal throttling events.
    pub(crate) throttle_count: Option<u64>,
    /// Sum of the cooling steps that slow the processor; 0 is full speed.
    pub(crate) cooling_steps: Option<u64>,
    /// Time that the control group's quota stopped this process and its siblings, in µs.
    pub(crate) quota_stop_us: Option<u64>,
    pub(crate) swap_used_bytes: Option<u64>,
    /// Pages written to and read from swap since boot.
    pub(crate) swapped_pages: Option<u64>,
    pub(crate) on_battery: Option<bool>,
}

impl Conditions {
    /// Reads the state of the whole machine.
    pub fn now() -> Self {
        Self::read_at(&FsRoot::system(), None)
    }

    /// Reads the state of the machine for a measurement on `core`.
    pub(crate) fn for_core(core: usize) -> Self {
        Self::read_at(&FsRoot::system(), Some(core))
    }

    /// Reads the files below `root`.
    pub(crate) fn read_at(root: &FsRoot, core: Option<usize>) -> Self {
        let pressure = root.text("/proc/pressure/cpu").unwrap_or_default();
        let stat = root.text("/proc/stat").unwrap_or_default();
        let meminfo = root.text("/proc/meminfo").unwrap_or_default();
        let vmstat = root.text("/proc/vmstat").unwrap_or_default();
        let siblings = core.map(|core| siblings(root, core)).unwrap_or_default();
        let swap = |key| meminfo_bytes(&meminfo, key);
        Self {
            core,
            pressure_percent: pressure_field(&pressure, "avg10=")
                .and_then(|text| text.parse().ok()),
            load: parse_load(&root.text("/proc/loadavg").unwrap_or_default()),
            runnable: parse_counter(&stat, "procs_running"),
            ticks: parse_ticks(
                &stat,
                &core.map_or_else(|| "cpu".to_owned(), |core| format!("cpu{core}")),
            ),
            all_ticks: parse_ticks(&stat, "cpu"),
            sibling_ticks: siblings
                .iter()
                .filter_map(|sibling| parse_ticks(&stat, &format!("cpu{sibling}")))
                .reduce(Ticks::plus),
            temperatures_mc: sensors::read_temperatures(root),
            clock_khz: sensors::clock_limit_or_current(root, core.unwrap_or(0)),
            clock_limit_khz: root.parse_number(&sensors::cpufreq_path(
                core.unwrap_or(0),
                "scaling_max_freq",
            )),
            throttle_count: sensors::throttle_count(root),
            cooling_steps: sensors::cooling_steps(root),
            quota_stop_us: quota_throttled_us(root),
            swap_used_bytes: (|| swap("SwapTotal")?.checked_sub(swap("SwapFree")?))(),
            swapped_pages: (|| {
                parse_counter(&vmstat, "pswpin")?.checked_add(parse_counter(&vmstat, "pswpout")?)
            })(),
            on_battery: sensors::on_battery(root),
        }
    }
}

/// Observes the machine during a measurement.
pub(crate) struct Watch {
    before: Conditions,
    began: Instant,
    cpu_time_before: Duration,
}

impl Watch {
    /// Starts observing. `core` is the core that this process is bound to, if any.
    pub(crate) fn begin(core: Option<usize>) -> Self {
        Self {
            before: read_conditions(core),
            began: Instant::now(),
            cpu_time_before: process_cpu_time(),
        }
    }

    /// Flags for disturbances since the start.
    pub(crate) fn flags(self) -> impl Iterator<Item = &'static str> {
        let (wall, own_cpu_time) = (
            self.began.elapsed(),
            process_cpu_time().saturating_sub(self.cpu_time_before),
        );
        condition_flags(
            &self.before,
            &read_conditions(self.before.core),
            wall,
            own_cpu_time,
        )
        .into_iter()
    }
}

fn read_conditions(core: Option<usize>) -> Conditions {
    core.map_or_else(Conditions::now, Conditions::for_core)
}

/// Processor time that this process has used.
fn process_cpu_time() -> Duration {
    clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

/// Flags for disturbances between two readings, `wall` apart, during which this process used `own_cpu_time` of
/// processor time.
///
/// * `throttled`: see [`is_throttled`].
/// * `smt_sibling_busy`: the other thread of the core was busy (only if the core is known).
/// * `busy_machine`: other processes used the processors.
/// * `stolen`: the host gave processor time to other machines.
fn condition_flags(
    before: &Conditions,
    after: &Conditions,
    wall: Duration,
    own_cpu_time: Duration,
) -> Vec<&'static str> {
    let mut flags = Vec::new();
    if is_throttled(before, after) {
        flags.push("throttled");
    }
    let (busy, total) = tick_growth(before.sibling_ticks, after.sibling_ticks, |ticks| {
        ticks.busy
    });
    if busy >= MIN_TICKS && fraction(busy, total) >= BUSY_SIBLING {
        flags.push("smt_sibling_busy");
    }
    let (busy, total) = tick_growth(before.all_ticks, after.all_ticks, |ticks| ticks.busy);
    let others = busy.saturating_sub(duration_to_ticks(own_cpu_time));
    // User time, system time and own time are each rounded.
    if others >= 2 * MIN_TICKS
        && fraction(others, duration_to_ticks(wall)) >= BUSY_PROCESSOR
        && fraction(others, total) >= BUSY_ALL
    {
        flags.push("busy_machine");
    }
    if steal_fraction(before, after) >= MIN_STEAL_FRACTION {
        flags.push("stolen");
    }
    flags
}

/// Returns whether heat, a lowered clock limit or the group's quota slowed the processor.
pub(crate) fn is_throttled(before: &Conditions, after: &Conditions) -> bool {
    let lowered = before
        .clock_limit_khz
        .zip(after.clock_limit_khz)
        .is_some_and(|(before, after)| after < before);
    counter_growth(before.throttle_count, after.throttle_count) > 0
        || counter_growth(before.quota_stop_us, after.quota_stop_us) > 0
        || after.cooling_steps.max(before.cooling_steps) > Some(0)
        || lowered
}

/// Converts a duration to ticks.
fn duration_to_ticks(span: Duration) -> u64 {
    let each_second = sysconf(SysconfVar::CLK_TCK).ok().flatten();
    let each_second = each_second.map_or(USER_HZ, i64::cast_unsigned);
    let ticks = span.as_nanos() * u128::from(each_second) / 1_000_000_000;
    u64::try_from(ticks).unwrap_or(u64::MAX)
}

/// Fraction of the processor's time that the host gave to other machines between two readings.
pub(crate) fn steal_fraction(before: &Conditions, after: &Conditions) -> f64 {
    let (steal, total) = tick_growth(before.ticks, after.ticks, |ticks| ticks.steal);
    if steal < MIN_TICKS {
        0.0
    } else {
        fraction(steal, total)
    }
}

/// Growth of a counter; 0 if unknown.
fn counter_growth(before: Option<u64>, after: Option<u64>) -> u64 {
    before
        .zip(after)
        .map_or(0, |(before, after)| after.saturating_sub(before))
}

fn tick_growth(
    before: Option<Ticks>,
    after: Option<Ticks>,
    select: fn(Ticks) -> u64,
) -> (u64, u64) {
    (
        counter_growth(before.map(select), after.map(select)),
        counter_growth(
            before.map(|ticks| ticks.total),
            after.map(|ticks| ticks.total),
        ),
    )
}

/// `part / total`; 0 if `total` is 0.
#[expect(
    clippy::cast_precision_loss,
    reason = "ticks since start are far below 2^53"
)]
pub(crate) fn fraction(part: u64, total: u64) -> f64 {
    if total == 0 {
        0.0
    } else {
        part as f64 / total as f64
    }
}

/// Value of `key` in the line `some avg10=0.00 avg60=0.00 avg300=0.00 total=0`.
fn pressure_field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let line = text.lines().find(|line| line.starts_with("some "))?;
    line.split_ascii_whitespace()
        .find_map(|word| word.strip_prefix(key))
}

fn parse_load(text: &str) -> Option<[f64; 3]> {
    let mut numbers = text.split_ascii_whitespace().map(|word| word.parse().ok());
    Some([numbers.next()??, numbers.next()??, numbers.next()??])
}

/// Number after `key` at the start of a line (`/proc/stat`, `/proc/vmstat`, `cpu.stat`).
fn parse_counter(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(' ')?;
        (name == key).then(|| value.trim().parse().ok())?
    })
}

/// Ticks of each processor in `/proc/stat`.
pub(crate) fn ticks_by_core(stat: &str) -> BTreeMap<usize, Ticks> {
    let names = stat
        .lines()
        .filter_map(|line| line.split_ascii_whitespace().next());
    let cores = names.filter_map(|name| Some((name, name.strip_prefix("cpu")?.parse().ok()?)));
    cores
        .filter_map(|(name, core)| Some((core, parse_ticks(stat, name)?)))
        .collect()
}

/// Parses a line `cpu0 user nice system idle iowait irq softirq steal guest guest_nice`. User time already
/// includes guest time.
fn parse_ticks(stat: &str, name: &str) -> Option<Ticks> {
    let line = stat
        .lines()
        .find(|line| line.split_ascii_whitespace().next() == Some(name))?;
    let numbers: Vec<u64> = line
        .split_ascii_whitespace()
        .skip(1)
        .map_while(|word| word.parse().ok())
        .collect();
    let &[user, nice, system, idle, iowait, irq, softirq, steal, ..] = numbers.as_slice() else {
        return None;
    };
    let busy = user + nice + system + irq + softirq;
    Some(Ticks {
        busy,
        steal,
        total: busy + idle + iowait + steal,
    })
}

fn quota_throttled_us(root: &FsRoot) -> Option<u64> {
    let (_, folders) = cpu_groups(root);
    let stops = folders.iter().filter_map(|folder| {
        let text = root.text(&format!("{folder}/cpu.stat"))?;
        // Cgroup version 1 counts nanoseconds.
        parse_counter(&text, "throttled_usec")
            .or_else(|| Some(parse_counter(&text, "throttled_time")? / 1000))
    });
    stops.reduce(u64::saturating_add)
}

#[cfg(test)]
mod tests;

//! What changes while a machine measures: load, stolen time, temperature, clocks.
//!
//! Taken before and after a kernel is timed, in the process that does it (`Watch`). Counters run
//! since the machine started, so that only differences mean something; ticks are the kernel's
//! (mostly 10 ms), so that short spans are told apart coarsely. Unknown is null, as everywhere.

mod sensors;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};
use nix::unistd::{SysconfVar, sysconf};

use crate::machine::{bytes_of, cpu_groups, siblings};
use crate::root::Root;

/// Work of others from which the machine is called busy: a share of one processor's time, and of all.
/// They take caches, memory bandwidth and clock from the kernel that is timed. An idle machine's
/// own services took up to 5 % of a processor.
///
/// Pressure (`/proc/pressure/cpu`) would not do: threads of the kernel that are bound to the core
/// wait while a real-time worker has it, so that it is high on an idle machine, too.
const BUSY_PROCESSOR: f64 = 0.10;
const BUSY_ALL: f64 = 0.02;

/// Share of a processor's time that the host gave to others: timings are to be precise to 1 %.
const STOLEN: f64 = 0.01;

/// Share of its time that a thread on the same core worked. Two threads slow each other by 20 to 50 %:
/// 5 % of the time then is 1 to 2.5 % of the timing.
const BUSY_SIBLING: f64 = 0.05;

/// Ticks below which a difference may be the rounding of two readings.
const CERTAIN_TICKS: u64 = 2;

/// Ticks of a second on nearly all machines.
const USER_HZ: u64 = 100;

/// Ticks (since start) of one or several processors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ticks {
    /// At work for this machine.
    pub(crate) busy: u64,
    /// Wanted, but given to another machine by the host.
    pub(crate) steal: u64,
    pub(crate) total: u64,
}

impl Ticks {
    /// Of both together.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            busy: self.busy + other.busy,
            steal: self.steal + other.steal,
            total: self.total + other.total,
        }
    }

    /// Share of the ticks since `before` that it was at work; 0 where there was no tick.
    pub(crate) fn busy_since(self, before: Self) -> f64 {
        let busy = self.busy.saturating_sub(before.busy);
        share(busy, self.total.saturating_sub(before.total))
    }
}

/// How the machine is at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Conditions {
    /// The core that `ticks`, `sibling_ticks` and the clocks are about; null for all together.
    pub(crate) core: Option<usize>,
    /// Pressure: share of the last 10 s in which some task waited for a processor.
    pub(crate) pressure_percent: Option<f64>,
    /// Tasks at work or waiting, on average over 1, 5 and 15 minutes.
    pub(crate) load: Option<[f64; 3]>,
    /// Tasks at work or waiting for a processor now, this one included.
    pub(crate) runnable: Option<u64>,
    pub(crate) ticks: Option<Ticks>,
    /// Of all processors together.
    pub(crate) all_ticks: Option<Ticks>,
    /// Of the other threads of the core.
    pub(crate) sibling_ticks: Option<Ticks>,
    /// Hottest place of each sensor of the processor, in thousandths of a degree Celsius.
    pub(crate) temperatures_mc: BTreeMap<String, i64>,
    /// The clock that the core runs at, or ran at last.
    pub(crate) clock_khz: Option<u64>,
    /// The highest clock that is allowed now.
    pub(crate) clock_limit_khz: Option<u64>,
    /// How often heat slowed the processor down.
    pub(crate) throttle_count: Option<u64>,
    /// Sum of the steps by which the processor is slowed to cool it; 0 is full speed.
    pub(crate) cooling_steps: Option<u64>,
    /// Time for which the control group's quota stopped this process and its siblings.
    pub(crate) quota_stop_us: Option<u64>,
    pub(crate) swap_used_bytes: Option<u64>,
    /// Pages written to and read from swap.
    pub(crate) swapped_pages: Option<u64>,
    pub(crate) on_battery: Option<bool>,
}

impl Conditions {
    /// The machine as a whole.
    pub fn now() -> Self {
        Self::read_at(&Root::system(), None)
    }

    /// The machine, as far as a measurement on `core` feels it.
    pub(crate) fn of_core(core: usize) -> Self {
        Self::read_at(&Root::system(), Some(core))
    }

    /// Reads the files below `root`.
    pub(crate) fn read_at(root: &Root, core: Option<usize>) -> Self {
        let pressure = root.text("/proc/pressure/cpu").unwrap_or_default();
        let stat = root.text("/proc/stat").unwrap_or_default();
        let meminfo = root.text("/proc/meminfo").unwrap_or_default();
        let vmstat = root.text("/proc/vmstat").unwrap_or_default();
        let siblings = core.map(|core| siblings(root, core)).unwrap_or_default();
        let swap = |key| bytes_of(&meminfo, key);
        Self {
            core,
            pressure_percent: pressure_of(&pressure, "avg10=").and_then(|text| text.parse().ok()),
            load: load(&root.text("/proc/loadavg").unwrap_or_default()),
            runnable: counter(&stat, "procs_running"),
            ticks: ticks(
                &stat,
                &core.map_or_else(|| "cpu".to_owned(), |core| format!("cpu{core}")),
            ),
            all_ticks: ticks(&stat, "cpu"),
            sibling_ticks: siblings
                .iter()
                .filter_map(|sibling| ticks(&stat, &format!("cpu{sibling}")))
                .reduce(Ticks::plus),
            temperatures_mc: sensors::temperatures(root),
            clock_khz: sensors::clock(root, core.unwrap_or(0)),
            clock_limit_khz: root.number(&sensors::cpufreq(core.unwrap_or(0), "scaling_max_freq")),
            throttle_count: sensors::throttles(root),
            cooling_steps: sensors::cooling(root),
            quota_stop_us: quota_stop(root),
            swap_used_bytes: (|| swap("SwapTotal")?.checked_sub(swap("SwapFree")?))(),
            swapped_pages: (|| {
                counter(&vmstat, "pswpin")?.checked_add(counter(&vmstat, "pswpout")?)
            })(),
            on_battery: sensors::battery(root),
        }
    }
}

/// Watches the machine while something is timed.
pub(crate) struct Watch {
    before: Conditions,
    began: Instant,
    own: Duration,
}

impl Watch {
    /// Begins; `core` is the only one that this process uses now, where it is tied to one.
    pub(crate) fn begin(core: Option<usize>) -> Self {
        Self {
            before: look(core),
            began: Instant::now(),
            own: own_time(),
        }
    }

    /// What was odd since then.
    pub(crate) fn flags(self) -> impl Iterator<Item = &'static str> {
        let (wall, own) = (self.began.elapsed(), own_time().saturating_sub(self.own));
        between(&self.before, &look(self.before.core), wall, own).into_iter()
    }
}

fn look(core: Option<usize>) -> Conditions {
    core.map_or_else(Conditions::now, Conditions::of_core)
}

/// Processor time of this process so far.
fn own_time() -> Duration {
    clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

/// What was odd between two readings that are `wall` apart, of which this process worked for `own`.
///
/// * `throttled`: see [`throttled`].
/// * `smt_sibling_busy`: the other thread of the core was at work (only where the core is given).
/// * `busy_machine`: other processes worked.
/// * `stolen`: the host gave the processor's time to other machines.
fn between(
    before: &Conditions,
    after: &Conditions,
    wall: Duration,
    own: Duration,
) -> Vec<&'static str> {
    let mut flags = Vec::new();
    if throttled(before, after) {
        flags.push("throttled");
    }
    let (busy, total) = moved(before.sibling_ticks, after.sibling_ticks, |ticks| {
        ticks.busy
    });
    if busy >= CERTAIN_TICKS && share(busy, total) >= BUSY_SIBLING {
        flags.push("smt_sibling_busy");
    }
    let (busy, total) = moved(before.all_ticks, after.all_ticks, |ticks| ticks.busy);
    let others = busy.saturating_sub(ticks_of(own));
    // Rounded are work of users and of the system, and the own time.
    if others >= 2 * CERTAIN_TICKS
        && share(others, ticks_of(wall)) >= BUSY_PROCESSOR
        && share(others, total) >= BUSY_ALL
    {
        flags.push("busy_machine");
    }
    if stolen(before, after) >= STOLEN {
        flags.push("stolen");
    }
    flags
}

/// Whether heat, a lowered limit of the clock or the group's quota held the processor back.
pub(crate) fn throttled(before: &Conditions, after: &Conditions) -> bool {
    let lowered = before
        .clock_limit_khz
        .zip(after.clock_limit_khz)
        .is_some_and(|(before, after)| after < before);
    grew(before.throttle_count, after.throttle_count) > 0
        || grew(before.quota_stop_us, after.quota_stop_us) > 0
        || after.cooling_steps.max(before.cooling_steps) > Some(0)
        || lowered
}

/// Ticks in a span of time.
fn ticks_of(span: Duration) -> u64 {
    let each_second = sysconf(SysconfVar::CLK_TCK).ok().flatten();
    let each_second = each_second.map_or(USER_HZ, i64::cast_unsigned);
    let ticks = span.as_nanos() * u128::from(each_second) / 1_000_000_000;
    u64::try_from(ticks).unwrap_or(u64::MAX)
}

/// Share of the processor's time that the host gave to others between two readings.
pub(crate) fn stolen(before: &Conditions, after: &Conditions) -> f64 {
    let (steal, total) = moved(before.ticks, after.ticks, |ticks| ticks.steal);
    if steal < CERTAIN_TICKS {
        0.0
    } else {
        share(steal, total)
    }
}

/// By how much a counter grew; 0 where it is unknown.
fn grew(before: Option<u64>, after: Option<u64>) -> u64 {
    before
        .zip(after)
        .map_or(0, |(before, after)| after.saturating_sub(before))
}

fn moved(before: Option<Ticks>, after: Option<Ticks>, of: fn(Ticks) -> u64) -> (u64, u64) {
    (
        grew(before.map(of), after.map(of)),
        grew(
            before.map(|ticks| ticks.total),
            after.map(|ticks| ticks.total),
        ),
    )
}

/// `part` of `whole`; 0 of nothing.
#[expect(
    clippy::cast_precision_loss,
    reason = "ticks since start are far below 2^53"
)]
pub(crate) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

/// The value after `key` in the line `some avg10=0.00 avg60=0.00 avg300=0.00 total=0`.
fn pressure_of<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let line = text.lines().find(|line| line.starts_with("some "))?;
    line.split_ascii_whitespace()
        .find_map(|word| word.strip_prefix(key))
}

fn load(text: &str) -> Option<[f64; 3]> {
    let mut numbers = text.split_ascii_whitespace().map(|word| word.parse().ok());
    Some([numbers.next()??, numbers.next()??, numbers.next()??])
}

/// The number after a word at the start of a line (`/proc/stat`, `/proc/vmstat`, `cpu.stat`).
fn counter(text: &str, key: &str) -> Option<u64> {
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
        .filter_map(|(name, core)| Some((core, ticks(stat, name)?)))
        .collect()
}

/// A line `cpu0 user nice system idle iowait irq softirq steal guest guest_nice`: time of guests is in
/// that of users already.
fn ticks(stat: &str, name: &str) -> Option<Ticks> {
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

fn quota_stop(root: &Root) -> Option<u64> {
    let (_, folders) = cpu_groups(root);
    let stops = folders.iter().filter_map(|folder| {
        let text = root.text(&format!("{folder}/cpu.stat"))?;
        // Version 1 counts nanoseconds.
        counter(&text, "throttled_usec").or_else(|| Some(counter(&text, "throttled_time")? / 1000))
    });
    stops.reduce(u64::saturating_add)
}

#[cfg(test)]
mod tests;

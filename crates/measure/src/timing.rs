//! Timing protocol for a kernel on a CPU: warm-up, calls per repeat, repeats, and the stopping rule.
//!
//! On a busy machine, a long repeat has a small spread and a wrong value, because all repeats are
//! interrupted about equally often. So each repeat records whether it was *clean* (not interrupted), and
//! only clean ones satisfy the stopping rule. On a busy machine, repeats are short enough to fit between
//! two interruptions.
//!
//! A thread of another machine on the same host, which is invisible here, takes 20 to 30 % of the core's
//! speed for tenths of a second at a time. So a clean repeat counts only if it is nearly as short as the
//! minimum, and repeats continue until enough of them count. The others are recorded separately.

use std::time::Duration;

use super::trial::{Cache, Repeat, Settings};
use tsql_metrics::median::median;

/// Calls a kernel and reads the clocks. Simulated in tests.
pub(crate) trait Caller {
    /// Reads all clocks, the wall clock last.
    fn start(&mut self) -> ClockReading;
    /// Reads all clocks, the wall clock first.
    fn stop(&mut self) -> ClockReading;
    /// Calls the kernel `number` times.
    fn call(&mut self, number: u32);
    /// Evicts the arguments from the caches.
    fn flush(&mut self);
    /// Yields the core now, so that other processes need it less during the next repeat.
    fn yield_core(&mut self);
}

/// Values of all clocks at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ClockReading {
    pub(crate) wall: Duration,
    /// Processor time of this thread; of the process if the kernel has several threads.
    pub(crate) cpu: Duration,
    pub(crate) involuntary_switches: u64,
    pub(crate) core: usize,
}

/// Result of timing.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Timing {
    pub(crate) repeats: Vec<Repeat>,
    pub(crate) number: u32,
    pub(crate) flags: Vec<String>,
}

/// Maximum ratio of wall time to processor time of a clean repeat.
const CLEAN_RATIO: f64 = 1.05;
/// Minimum calls and time of the warm-up, and its maximum time.
const WARM_CALLS: usize = 3;
const MIN_WARM_UP: Duration = Duration::from_millis(20);
const MAX_WARM_UP: Duration = Duration::from_millis(500);
/// The warm-up is steady if the medians of two groups of five calls differ by less than this fraction.
const STEADY_TOLERANCE: f64 = 0.02;
const STEADY_GROUP: usize = 5;
/// Maximum rounds to find the number of calls (TVM's `limit_zero_time_iterations`).
const MAX_ROUNDS: u32 = 100;
/// Maximum calls per repeat: one second, even if each takes 1 ns.
const MAX_CALLS: u32 = 1 << 30;
/// Repeats after which a machine can be classified as busy.
const CROWDED_AFTER: usize = 5;
/// Length of a repeat on a busy machine.
///
/// Linux gives a process 0.7 to 3 ms at a time, part of which is used by the call before the repeat. On two
/// oversubscribed cores, all repeats of this length were clean, and four of five with 1 ms.
const SHORT_REPEAT: Duration = Duration::from_micros(500);
/// Minimum length of a repeat, as a multiple of the clock overhead, and in absolute terms.
const RESOLUTION_FACTOR: u32 = 50;
const MIN_RESOLVABLE: Duration = Duration::from_micros(1);
/// Fraction by which a repeat of warm calls in one thread may exceed the minimum and still count.
///
/// Chosen among several tested values: it keeps the mean of the counting repeats within 3 % of the kernel's best
/// in 90 to 100 of 100 measurements on a virtual machine (`docs/dev/decisions/013-measuring-repeats.md`).
const COUNTING_TOLERANCE: f64 = 0.03;

/// Returns whether a repeat was not interrupted, according to the clocks.
///
/// With several threads, processor time does not show waiting, so only context switches are checked.
fn is_clean(repeat: &Repeat, threads: u32) -> bool {
    let was_running = match repeat.cpu_ns {
        Some(cpu_ns) if threads <= 1 => repeat.wall_ns <= CLEAN_RATIO * cpu_ns,
        _ => true,
    };
    was_running && repeat.involuntary_switches == 0
}

/// Times the kernel of `bench`. `first_call` is the duration of the call that was made before.
pub(crate) fn time(bench: &mut impl Caller, settings: &Settings, first_call: Duration) -> Timing {
    let began = bench.start().wall;
    let mut timer = Timer {
        overhead: ElapsedTime::default(),
        began,
        elapsed: Duration::ZERO,
        bench,
        settings,
    };
    timer.overhead = timer.clock_overhead();
    timer.warm_up(first_call);
    let (mut number, first) = timer.choose_call_count();
    let mut repeats: Vec<Repeat> = first
        .map(|window| window.mean_repeat(number))
        .into_iter()
        .collect();
    let mut crowded = false;
    while !timer.is_enough(&repeats, number) {
        if !crowded && timer.is_crowded(&repeats) {
            crowded = true;
            let shorter = short_call_count(number, &repeats);
            if shorter < number {
                number = shorter;
                repeats.clear();
            }
        }
        let window = timer.repeat(number, crowded);
        repeats.push(window.mean_repeat(number));
    }
    let flags = timer.flags(&repeats, number);
    mark_counting(&mut repeats, settings);
    Timing {
        repeats,
        number,
        flags,
    }
}

/// Marks the repeats that count; all of them if none was clean.
fn mark_counting(repeats: &mut [Repeat], settings: &Settings) {
    let longest = max_counting_ns(repeats, settings);
    let counts = |repeat: &Repeat| is_clean(repeat, settings.threads) && repeat.wall_ns <= longest;
    if repeats.iter().any(counts) {
        for repeat in repeats {
            repeat.counts = counts(repeat);
        }
    }
}

/// Maximum length of a repeat that counts, in ns.
///
/// Unlimited for several threads, which wait for each other, and for cold calls, which wait for memory:
/// their times vary naturally.
fn max_counting_ns(repeats: &[Repeat], settings: &Settings) -> f64 {
    if settings.threads > 1 || settings.cache == Cache::Cold {
        return f64::INFINITY;
    }
    let clean = repeats
        .iter()
        .filter(|repeat| is_clean(repeat, settings.threads));
    clean
        .map(|repeat| repeat.wall_ns)
        .fold(f64::INFINITY, f64::min)
        * (1.0 + COUNTING_TOLERANCE)
}

/// Differences between two readings.
#[derive(Clone, Copy, Debug, Default)]
struct ElapsedTime {
    wall: Duration,
    cpu: Duration,
    involuntary_switches: u64,
    migrated: bool,
}

impl ElapsedTime {
    fn from_readings(start: ClockReading, stop: ClockReading, overhead: ElapsedTime) -> Self {
        Self {
            wall: (stop.wall.saturating_sub(start.wall)).saturating_sub(overhead.wall),
            cpu: (stop.cpu.saturating_sub(start.cpu)).saturating_sub(overhead.cpu),
            involuntary_switches: stop
                .involuntary_switches
                .saturating_sub(start.involuntary_switches),
            migrated: start.core != stop.core,
        }
    }

    fn mean_repeat(&self, number: u32) -> Repeat {
        let per_call_ns = |total: Duration| total.as_secs_f64() * 1e9 / f64::from(number);
        Repeat {
            wall_ns: per_call_ns(self.wall),
            cpu_ns: Some(per_call_ns(self.cpu)),
            involuntary_switches: self.involuntary_switches,
            migrated: self.migrated,
            counts: true,
        }
    }
}

struct Timer<'a, B> {
    bench: &'a mut B,
    settings: &'a Settings,
    /// Overhead of reading the clocks, subtracted from every measurement.
    overhead: ElapsedTime,
    began: Duration,
    elapsed: Duration,
}

impl<B: Caller> Timer<'_, B> {
    fn time_calls(&mut self, number: u32) -> ElapsedTime {
        let start = self.bench.start();
        if number > 0 {
            self.bench.call(number);
        }
        let stop = self.bench.stop();
        self.elapsed = stop.wall.saturating_sub(self.began);
        ElapsedTime::from_readings(start, stop, self.overhead)
    }

    /// Minimum of several empty measurements.
    fn clock_overhead(&mut self) -> ElapsedTime {
        let windows: Vec<ElapsedTime> = (0..16).map(|_| self.time_calls(0)).collect();
        ElapsedTime {
            wall: windows.iter().map(|it| it.wall).min().unwrap_or_default(),
            cpu: windows.iter().map(|it| it.cpu).min().unwrap_or_default(),
            ..ElapsedTime::default()
        }
    }

    fn is_cold(&self) -> bool {
        self.settings.cache == Cache::Cold
    }

    /// Time of the kernel itself: with one thread its processor time, which excludes other processes.
    fn busy_time(&self, window: &ElapsedTime) -> Duration {
        if self.settings.threads <= 1 {
            window.wall.min(window.cpu)
        } else {
            window.wall
        }
    }

    /// Calls the kernel until two groups of calls take the same time.
    fn warm_up(&mut self, first_call: Duration) {
        let mut calls: Vec<f64> = Vec::new();
        let mut total = Duration::ZERO;
        if first_call >= MAX_WARM_UP {
            return;
        }
        let mut number = 1;
        while number < MAX_CALLS && total < MAX_WARM_UP {
            let window = self.time_calls(number);
            total += window.wall;
            calls.push(self.busy_time(&window).as_secs_f64() / f64::from(number));
            // Single calls near the clock resolution would never appear steady.
            if window.wall < self.min_resolvable() {
                number *= 2;
            }
            let enough = calls.len() >= WARM_CALLS && total >= MIN_WARM_UP;
            // If the caches are flushed before each call, only code and page tables need a warm-up.
            if enough && (self.is_cold() || is_steady(&calls)) {
                return;
            }
        }
    }

    /// Chooses the number of calls per repeat. Also returns the repeat that determined it.
    fn choose_call_count(&mut self) -> (u32, Option<ElapsedTime>) {
        if self.is_cold() {
            return (1, None);
        }
        let target = Duration::from_secs_f64(self.settings.min_repeat_ms.clamp(0.0, 1e6) / 1e3);
        let mut number = 1;
        for _ in 0..MAX_ROUNDS {
            let window = self.time_calls(number);
            let busy = self.busy_time(&window);
            if busy >= target || number == MAX_CALLS || self.is_late(&window) {
                return (number, Some(window));
            }
            number = next_call_count(number, busy, target);
        }
        (number, None)
    }

    fn repeat(&mut self, number: u32, crowded: bool) -> ElapsedTime {
        if self.is_cold() {
            self.bench.flush();
        } else if crowded {
            self.bench.yield_core();
            // The process that had the core has replaced the cached data.
            self.bench.call(1);
        }
        self.time_calls(number)
    }

    /// Returns whether another measurement like this one would exceed the time limit.
    fn is_late(&self, window: &ElapsedTime) -> bool {
        self.elapsed + window.wall
            > Duration::from_secs_f64(self.settings.max_time_s.clamp(0.0, 1e6))
    }

    fn is_enough(&self, repeats: &[Repeat], number: u32) -> bool {
        let Some(last) = repeats.last() else {
            return false;
        };
        let wall = Duration::from_secs_f64(last.wall_ns * f64::from(number) / 1e9);
        let late = self.is_late(&ElapsedTime {
            wall,
            ..ElapsedTime::default()
        });
        late || count(repeats.len()) >= self.settings.max_repeat.max(1) || self.is_precise(repeats)
    }

    fn is_precise(&self, repeats: &[Repeat]) -> bool {
        let counted = self.counting_ns(repeats);
        let precise = median(&counted).is_some_and(|median| {
            let allowed = self.settings.precision * median.value;
            median.half_width.is_some_and(|half| half <= allowed)
        });
        precise && count(counted.len()) >= self.settings.repeat
    }

    /// Wall times in ns of the repeats that count so far.
    fn counting_ns(&self, repeats: &[Repeat]) -> Vec<f64> {
        let longest = max_counting_ns(repeats, self.settings);
        let clean = self.clean_repeats(repeats).map(|repeat| repeat.wall_ns);
        clean.filter(|wall_ns| *wall_ns <= longest).collect()
    }

    fn clean_repeats<'r>(&self, repeats: &'r [Repeat]) -> impl Iterator<Item = &'r Repeat> {
        let threads = self.settings.threads;
        repeats
            .iter()
            .filter(move |repeat| is_clean(repeat, threads))
    }

    fn is_crowded(&self, repeats: &[Repeat]) -> bool {
        repeats.len() >= CROWDED_AFTER
            && self.settings.threads <= 1
            && self.clean_repeats(repeats).count() * 2 < repeats.len()
    }

    /// Minimum duration that the clock resolves with sufficient precision.
    fn min_resolvable(&self) -> Duration {
        MIN_RESOLVABLE.max(self.overhead.wall * RESOLUTION_FACTOR)
    }

    fn flags(&self, repeats: &[Repeat], number: u32) -> Vec<String> {
        let walls: Vec<f64> = repeats.iter().map(|repeat| repeat.wall_ns).collect();
        let length_ns = median(&walls).map_or(0.0, |median| median.value * f64::from(number));
        let clean = self.clean_repeats(repeats).count();
        let flags = [
            ("disturbed", clean * 2 < repeats.len()),
            ("migrated", repeats.iter().any(|repeat| repeat.migrated)),
            ("not_converged", !self.is_precise(repeats)),
            ("unsteady", self.counting_ns(repeats).len() * 2 < clean),
            (
                "below_clock_resolution",
                length_ns < self.min_resolvable().as_secs_f64() * 1e9,
            ),
        ];
        let raised = flags.iter().filter(|(_, raised)| *raised);
        raised.map(|(flag, _)| (*flag).to_owned()).collect()
    }
}

/// TVM's rule: as many calls as the target duration needs, but at least the golden ratio times the previous
/// number.
fn next_call_count(number: u32, busy: Duration, target: Duration) -> u32 {
    let before = u128::from(number);
    let proportional = (target.as_nanos() * before)
        .checked_div(busy.as_nanos())
        .unwrap_or(0);
    let golden = before * 1618 / 1000;
    let number = (proportional.min(before * 1000) + 1).max(golden + 1);
    u32::try_from(number).unwrap_or(MAX_CALLS).min(MAX_CALLS)
}

/// Number of calls that take [`SHORT_REPEAT`].
fn short_call_count(number: u32, repeats: &[Repeat]) -> u32 {
    let busy: Vec<f64> = repeats.iter().filter_map(|repeat| repeat.cpu_ns).collect();
    let call = median(&busy).map_or(0.0, |median| median.value / 1e9);
    let fits = SHORT_REPEAT
        .as_nanos()
        .checked_div(Duration::from_secs_f64(call).as_nanos());
    let fits = fits
        .and_then(|fits| u32::try_from(fits).ok())
        .unwrap_or(number);
    fits.clamp(1, number)
}

fn is_steady(calls: &[f64]) -> bool {
    let Some((before, last)) = calls.split_last_chunk::<STEADY_GROUP>() else {
        return false;
    };
    let Some((_, previous)) = before.split_last_chunk::<STEADY_GROUP>() else {
        return false;
    };
    let value = |group: &[f64]| median(group).map_or(0.0, |median| median.value);
    let (last, previous) = (value(last), value(previous));
    (last - previous).abs() <= STEADY_TOLERANCE * previous
}

fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

#[cfg(test)]
#[path = "timing_tests.rs"]
mod tests;

//! The protocol by which a kernel on a CPU is timed: warm-up, calls per repeat, repeats, and when to stop.
//!
//! A long repeat on a busy machine has a small spread and a wrong value, because every repeat is interrupted
//! about equally often. So each repeat says whether it was *clean* (nobody took the core meanwhile), only
//! clean ones count towards the end, and on a busy machine repeats are made short enough to fit between
//! two interruptions.
//!
//! A neighbour that shares the core unseen (another machine's thread, on the same host) takes 20 to 30 % of
//! its speed for tenths of a second at a time. So a clean repeat counts only if it is nearly as short as the
//! least one, and repeats go on until enough do. All are kept, those that do not count apart.

use std::time::Duration;

use super::trial::{Cache, Repeat, Settings};
use tsql_metrics::median::median;

/// What calls a kernel, and the clocks to time it with. A simulation in tests.
pub(crate) trait Caller {
    /// Reads all clocks, the wall clock last.
    fn start(&mut self) -> Reading;
    /// Reads all clocks, the wall clock first.
    fn stop(&mut self) -> Reading;
    /// Calls the kernel `number` times.
    fn call(&mut self, number: u32);
    /// Takes the arguments out of the caches.
    fn flush(&mut self);
    /// Lets others have the core now, so that they take it later during the repeat that follows.
    fn give_way(&mut self);
}

/// The clocks at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reading {
    pub(crate) wall: Duration,
    /// Of this thread; of the process where the kernel has several.
    pub(crate) cpu: Duration,
    pub(crate) involuntary_switches: u64,
    pub(crate) core: usize,
}

/// What timing gave.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Timing {
    pub(crate) repeats: Vec<Repeat>,
    pub(crate) number: u32,
    pub(crate) flags: Vec<String>,
}

/// Wall time over processor time, beyond which a repeat was disturbed.
const CLEAN_RATIO: f64 = 1.05;
/// Calls and time to warm up at least, and time at most.
const WARM_CALLS: usize = 3;
const WARM_LEAST: Duration = Duration::from_millis(20);
const WARM_MOST: Duration = Duration::from_millis(500);
/// Two groups of five calls whose medians differ less than this are steady.
const STEADY: f64 = 0.02;
const STEADY_GROUP: usize = 5;
/// Rounds to find the number of calls at most (TVM's `limit_zero_time_iterations`).
const ROUNDS: u32 = 100;
/// Calls per repeat at most: a second, even where each takes a nanosecond.
const NUMBER_MOST: u32 = 1 << 30;
/// Repeats after which a busy machine is known for one.
const CROWDED_AFTER: usize = 5;
/// Length of a repeat on a busy machine. Linux gives a process 0.7 to 3 ms at a time, and the call before
/// the repeat takes some of it; on two crowded cores it made all repeats clean, and 1 ms four of five.
const SHORT_REPEAT: Duration = Duration::from_micros(500);
/// A repeat lasts this many times the cost of reading the clock, and at least a microsecond.
const RESOLVED: u32 = 50;
const RESOLVED_LEAST: Duration = Duration::from_micros(1);
/// Share by which a repeat of warm calls in one thread may be longer than the least and count. Of several
/// figures tried, this one kept the mean of the repeats that count within
/// 3 % of the kernel's best in 90 to 100 of 100 measurements on a virtual machine
/// (`docs/dev/decisions/013-measuring-repeats.md`).
const NEAR: f64 = 0.03;

/// Nobody took the core during this repeat, as far as the clocks tell.
///
/// With several threads, the processor time says nothing about waiting: there only the switches count.
fn is_clean(repeat: &Repeat, threads: u32) -> bool {
    let ran = match repeat.cpu_ns {
        Some(cpu_ns) if threads <= 1 => repeat.wall_ns <= CLEAN_RATIO * cpu_ns,
        _ => true,
    };
    ran && repeat.involuntary_switches == 0
}

/// Times the kernel on `bench`, which has been called once already, for `first_call`.
pub(crate) fn time(bench: &mut impl Caller, settings: &Settings, first_call: Duration) -> Timing {
    let began = bench.start().wall;
    let mut timer = Timer {
        overhead: Window::default(),
        began,
        elapsed: Duration::ZERO,
        bench,
        settings,
    };
    timer.overhead = timer.cost_of_reading();
    timer.warm_up(first_call);
    let (mut number, first) = timer.number();
    let mut repeats: Vec<Repeat> = first
        .map(|window| window.mean(number))
        .into_iter()
        .collect();
    let mut crowded = false;
    while !timer.is_enough(&repeats, number) {
        if !crowded && timer.is_crowded(&repeats) {
            crowded = true;
            let shorter = shorter(number, &repeats);
            if shorter < number {
                number = shorter;
                repeats.clear();
            }
        }
        let window = timer.repeat(number, crowded);
        repeats.push(window.mean(number));
    }
    let flags = timer.flags(&repeats, number);
    mark(&mut repeats, settings);
    Timing {
        repeats,
        number,
        flags,
    }
}

/// Sets which repeats count; all where none was clean.
fn mark(repeats: &mut [Repeat], settings: &Settings) {
    let longest = longest(repeats, settings);
    let counts = |repeat: &Repeat| is_clean(repeat, settings.threads) && repeat.wall_ns <= longest;
    if repeats.iter().any(counts) {
        for repeat in repeats {
            repeat.counts = counts(repeat);
        }
    }
}

/// What a clean repeat may last and count. Calls in several threads wait for each other, cold ones for memory:
/// their times differ by themselves.
fn longest(repeats: &[Repeat], settings: &Settings) -> f64 {
    if settings.threads > 1 || settings.cache == Cache::Cold {
        return f64::INFINITY;
    }
    let clean = repeats
        .iter()
        .filter(|repeat| is_clean(repeat, settings.threads));
    clean
        .map(|repeat| repeat.wall_ns)
        .fold(f64::INFINITY, f64::min)
        * (1.0 + NEAR)
}

/// Differences of two readings.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    wall: Duration,
    cpu: Duration,
    involuntary_switches: u64,
    migrated: bool,
}

impl Window {
    fn between(start: Reading, stop: Reading, overhead: Window) -> Self {
        Self {
            wall: (stop.wall.saturating_sub(start.wall)).saturating_sub(overhead.wall),
            cpu: (stop.cpu.saturating_sub(start.cpu)).saturating_sub(overhead.cpu),
            involuntary_switches: stop
                .involuntary_switches
                .saturating_sub(start.involuntary_switches),
            migrated: start.core != stop.core,
        }
    }

    fn mean(&self, number: u32) -> Repeat {
        let each = |total: Duration| total.as_secs_f64() * 1e9 / f64::from(number);
        Repeat {
            wall_ns: each(self.wall),
            cpu_ns: Some(each(self.cpu)),
            involuntary_switches: self.involuntary_switches,
            migrated: self.migrated,
            counts: true,
        }
    }
}

struct Timer<'a, B> {
    bench: &'a mut B,
    settings: &'a Settings,
    /// Of reading the clocks, taken off every window.
    overhead: Window,
    began: Duration,
    elapsed: Duration,
}

impl<B: Caller> Timer<'_, B> {
    fn window(&mut self, number: u32) -> Window {
        let start = self.bench.start();
        if number > 0 {
            self.bench.call(number);
        }
        let stop = self.bench.stop();
        self.elapsed = stop.wall.saturating_sub(self.began);
        Window::between(start, stop, self.overhead)
    }

    /// The smallest of some empty windows.
    fn cost_of_reading(&mut self) -> Window {
        let windows: Vec<Window> = (0..16).map(|_| self.window(0)).collect();
        Window {
            wall: windows.iter().map(|it| it.wall).min().unwrap_or_default(),
            cpu: windows.iter().map(|it| it.cpu).min().unwrap_or_default(),
            ..Window::default()
        }
    }

    fn is_cold(&self) -> bool {
        self.settings.cache == Cache::Cold
    }

    /// The time that the kernel itself took: the processor's where one thread runs, so that other
    /// processes do not count.
    fn busy(&self, window: &Window) -> Duration {
        if self.settings.threads <= 1 {
            window.wall.min(window.cpu)
        } else {
            window.wall
        }
    }

    /// Calls until two groups of calls take the same time.
    fn warm_up(&mut self, first_call: Duration) {
        let mut calls: Vec<f64> = Vec::new();
        let mut total = Duration::ZERO;
        if first_call >= WARM_MOST {
            return;
        }
        let mut number = 1;
        while number < NUMBER_MOST && total < WARM_MOST {
            let window = self.window(number);
            total += window.wall;
            calls.push(self.busy(&window).as_secs_f64() / f64::from(number));
            // Single calls that the clock can hardly tell would never look steady.
            if window.wall < self.resolved() {
                number *= 2;
            }
            let enough = calls.len() >= WARM_CALLS && total >= WARM_LEAST;
            // With the caches flushed before each call, only code and page tables are to be warmed.
            if enough && (self.is_cold() || is_steady(&calls)) {
                return;
            }
        }
    }

    /// Calls per repeat, and the repeat in which that was found.
    fn number(&mut self) -> (u32, Option<Window>) {
        if self.is_cold() {
            return (1, None);
        }
        let target = Duration::from_secs_f64(self.settings.min_repeat_ms.clamp(0.0, 1e6) / 1e3);
        let mut number = 1;
        for _ in 0..ROUNDS {
            let window = self.window(number);
            let busy = self.busy(&window);
            if busy >= target || number == NUMBER_MOST || self.is_late(&window) {
                return (number, Some(window));
            }
            number = more(number, busy, target);
        }
        (number, None)
    }

    fn repeat(&mut self, number: u32, crowded: bool) -> Window {
        if self.is_cold() {
            self.bench.flush();
        } else if crowded {
            self.bench.give_way();
            // Whoever had the core left his own data in its caches.
            self.bench.call(1);
        }
        self.window(number)
    }

    /// Another window like this one would end after the time allowed.
    fn is_late(&self, window: &Window) -> bool {
        self.elapsed + window.wall
            > Duration::from_secs_f64(self.settings.max_time_s.clamp(0.0, 1e6))
    }

    fn is_enough(&self, repeats: &[Repeat], number: u32) -> bool {
        let Some(last) = repeats.last() else {
            return false;
        };
        let wall = Duration::from_secs_f64(last.wall_ns * f64::from(number) / 1e9);
        let late = self.is_late(&Window {
            wall,
            ..Window::default()
        });
        late || count(repeats.len()) >= self.settings.max_repeat.max(1) || self.is_precise(repeats)
    }

    fn is_precise(&self, repeats: &[Repeat]) -> bool {
        let counted = self.counted(repeats);
        let precise = median(&counted).is_some_and(|median| {
            let allowed = self.settings.precision * median.value;
            median.half_width.is_some_and(|half| half <= allowed)
        });
        precise && count(counted.len()) >= self.settings.repeat
    }

    /// Nanoseconds of the repeats that count so far.
    fn counted(&self, repeats: &[Repeat]) -> Vec<f64> {
        let longest = longest(repeats, self.settings);
        let clean = self.clean(repeats).map(|repeat| repeat.wall_ns);
        clean.filter(|wall_ns| *wall_ns <= longest).collect()
    }

    fn clean<'r>(&self, repeats: &'r [Repeat]) -> impl Iterator<Item = &'r Repeat> {
        let threads = self.settings.threads;
        repeats
            .iter()
            .filter(move |repeat| is_clean(repeat, threads))
    }

    fn is_crowded(&self, repeats: &[Repeat]) -> bool {
        repeats.len() >= CROWDED_AFTER
            && self.settings.threads <= 1
            && self.clean(repeats).count() * 2 < repeats.len()
    }

    /// What the clock tells well enough.
    fn resolved(&self) -> Duration {
        RESOLVED_LEAST.max(self.overhead.wall * RESOLVED)
    }

    fn flags(&self, repeats: &[Repeat], number: u32) -> Vec<String> {
        let walls: Vec<f64> = repeats.iter().map(|repeat| repeat.wall_ns).collect();
        let length_ns = median(&walls).map_or(0.0, |median| median.value * f64::from(number));
        let clean = self.clean(repeats).count();
        let flags = [
            ("disturbed", clean * 2 < repeats.len()),
            ("migrated", repeats.iter().any(|repeat| repeat.migrated)),
            ("not_converged", !self.is_precise(repeats)),
            ("unsteady", self.counted(repeats).len() * 2 < clean),
            (
                "below_clock_resolution",
                length_ns < self.resolved().as_secs_f64() * 1e9,
            ),
        ];
        let raised = flags.iter().filter(|(_, raised)| *raised);
        raised.map(|(flag, _)| (*flag).to_owned()).collect()
    }
}

/// TVM's rule: as many calls as would take the target, and at least the golden ratio more than before.
fn more(number: u32, busy: Duration, target: Duration) -> u32 {
    let before = u128::from(number);
    let proportional = (target.as_nanos() * before)
        .checked_div(busy.as_nanos())
        .unwrap_or(0);
    let golden = before * 1618 / 1000;
    let number = (proportional.min(before * 1000) + 1).max(golden + 1);
    u32::try_from(number)
        .unwrap_or(NUMBER_MOST)
        .min(NUMBER_MOST)
}

/// Calls that take as long as a repeat on a busy machine should.
fn shorter(number: u32, repeats: &[Repeat]) -> u32 {
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
    (last - previous).abs() <= STEADY * previous
}

fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

#[cfg(test)]
#[path = "timing_tests.rs"]
mod tests;

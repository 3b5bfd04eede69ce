//! How a kernel on a GPU is timed: warm-up, repeats until their median is known well, and again
//! where the GPU was throttled.
//!
//! A repeat is one launch after the L2 cache was flushed (cold), or the mean of as many launches
//! as take `min_repeat_ms` (warm, and all kernels too short for the event's clock). The rules are
//! those of nvbench, whose "cold" and "batch" these are; its throttling rule, too.

use std::time::Duration;

use crate::trial::{Cache, Repeat, Settings};
use tsql_metrics::median::median;

/// Warming up loads the code and raises the clocks: this much time on the device, and this many
/// launches, at least.
const WARM_UP_NS: f64 = 25e6;
const WARM_UP_LAUNCHES: u32 = 3;

/// A shorter kernel is not timed alone: an event's time is known to 500 ns.
const SHORT_NS: f64 = 20_000.0;

/// Launches between two events at most.
const MOST_LAUNCHES: u32 = 1 << 20;

/// Below this part of the clock of the warm-up, a repeat does not count.
const CLOCK_PART: f64 = 0.75;

/// After a throttled repeat this long is waited, and it is done again, so many times.
const COOL_DOWN: Duration = Duration::from_millis(100);
const REDOS: u32 = 3;

/// What launches a kernel, and the watch. A simulation in tests.
pub(crate) trait Launcher {
    /// Why a launch fails.
    type Error;

    /// Nanoseconds that `launches` took on the device, after a flush of its L2 cache if `flushed`.
    fn time(&mut self, launches: u32, flushed: bool) -> Result<f64, Self::Error>;

    /// How the GPU does; `None` where nobody can tell.
    fn condition(&mut self) -> Option<Condition>;

    /// Does nothing for this long.
    fn pause(&mut self, pause: Duration);

    /// Seconds since some moment before.
    fn seconds(&mut self) -> f64;
}

/// How a GPU does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Condition {
    /// It says that it is too hot, or gets too little power.
    pub(crate) throttled: bool,
    pub(crate) sm_clock_mhz: Option<u32>,
}

/// What timing gave.
#[derive(Debug, PartialEq)]
pub(crate) struct Timing {
    /// Nanoseconds of a launch, one for each repeat.
    pub(crate) repeats_ns: Vec<f64>,
    /// Launches in each repeat.
    pub(crate) number: u32,
    pub(crate) flags: Vec<String>,
}

/// A repeat on a GPU: all of them count.
pub(crate) fn as_repeat(wall_ns: f64) -> Repeat {
    Repeat {
        wall_ns,
        cpu_ns: None,
        involuntary_switches: 0,
        migrated: false,
        counts: true,
    }
}

/// Times what is on the bench.
pub(crate) fn time<B: Launcher>(bench: &mut B, settings: &Settings) -> Result<Timing, B::Error> {
    let end_s = bench.seconds() + settings.max_time_s;
    let warm = warm_up(bench, end_s)?;
    let short = warm.launch_ns < SHORT_NS;
    let flushed = settings.cache == Cache::Cold && !short;
    let number = if flushed {
        1
    } else {
        launches(warm.launch_ns, settings.min_repeat_ms * 1e6)
    };
    let mut flags = Vec::new();
    if short {
        flags.push("batched");
    }
    let mut repeats_ns = Vec::new();
    let mut throttled = false;
    loop {
        let took_ns = repeat(bench, number, flushed, warm.clock_mhz, &mut throttled)?;
        repeats_ns.push(took_ns / f64::from(number));
        let count = u32::try_from(repeats_ns.len()).unwrap_or(u32::MAX);
        if count >= settings.repeat && precision(&repeats_ns) < settings.precision {
            break;
        }
        if count >= settings.max_repeat.max(settings.repeat) || bench.seconds() >= end_s {
            flags.push("not_converged");
            break;
        }
    }
    if throttled {
        flags.push("throttled");
    }
    if repeats_ns.iter().any(|repeat_ns| *repeat_ns <= 0.0) {
        flags.push("below_clock_resolution");
    }
    Ok(Timing {
        repeats_ns,
        number,
        flags: flags.into_iter().map(str::to_owned).collect(),
    })
}

struct Warm {
    launch_ns: f64,
    clock_mhz: Option<u32>,
}

/// Launches until the GPU is warm, more at a time so that short kernels keep it busy.
fn warm_up<B: Launcher>(bench: &mut B, end_s: f64) -> Result<Warm, B::Error> {
    let began_s = bench.seconds();
    let (mut done, mut done_ns, mut launches) = (0_u32, 0.0, 1_u32);
    // The least: the host can be late with launches, and the first one loads the code.
    let mut launch_ns = f64::INFINITY;
    let mut clocks = Vec::new();
    loop {
        let took_ns = bench.time(launches, false)?;
        launch_ns = launch_ns.min(took_ns / f64::from(launches));
        done += launches;
        done_ns += took_ns;
        clocks.extend(
            bench
                .condition()
                .and_then(|condition| condition.sm_clock_mhz),
        );
        // A kernel of seconds must leave time for its repeats.
        let now_s = bench.seconds();
        let late = now_s - began_s > (end_s - began_s) / 2.0;
        let enough = done >= WARM_UP_LAUNCHES && done_ns >= WARM_UP_NS;
        if enough || late || done >= MOST_LAUNCHES {
            clocks.sort_unstable();
            return Ok(Warm {
                launch_ns,
                clock_mhz: clocks.get(clocks.len() / 2).copied(),
            });
        }
        if done >= WARM_UP_LAUNCHES {
            launches = launches.saturating_mul(2);
        }
    }
}

/// The smallest power of two of launches that take `repeat_ns`.
fn launches(launch_ns: f64, repeat_ns: f64) -> u32 {
    let mut number = 1;
    while number < MOST_LAUNCHES && f64::from(number) * launch_ns < repeat_ns {
        number *= 2;
    }
    number
}

/// One repeat, done again where the GPU was throttled; nanoseconds of all its launches.
fn repeat<B: Launcher>(
    bench: &mut B,
    number: u32,
    flushed: bool,
    warm_clock_mhz: Option<u32>,
    throttled: &mut bool,
) -> Result<f64, B::Error> {
    let mut redos = 0;
    loop {
        let took_ns = bench.time(number, flushed)?;
        // A GPU that stays throttled is not waited for again at every repeat.
        if *throttled || !slowed(bench.condition(), warm_clock_mhz) {
            return Ok(took_ns);
        }
        if redos == REDOS {
            *throttled = true;
            return Ok(took_ns);
        }
        redos += 1;
        bench.pause(COOL_DOWN);
    }
}

fn slowed(condition: Option<Condition>, warm_clock_mhz: Option<u32>) -> bool {
    let Some(condition) = condition else {
        return false;
    };
    let slow = condition
        .sm_clock_mhz
        .zip(warm_clock_mhz)
        .is_some_and(|(now, warm)| f64::from(now) < CLOCK_PART * f64::from(warm));
    condition.throttled || slow
}

/// Half of the 95 % confidence interval of the median over the median; infinite where unknown.
fn precision(values: &[f64]) -> f64 {
    let known = median(values).filter(|median| median.value > 0.0);
    let relative = known.and_then(|median| Some(median.half_width? / median.value));
    relative.unwrap_or(f64::INFINITY)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A GPU on which launches take what it is told to, and time passes only so.
    struct Paper {
        now_s: f64,
        /// Nanoseconds of the launches to come, again and again.
        launch_ns: Vec<f64>,
        at: usize,
        conditions: Vec<Condition>,
        flushes: u32,
        pauses: u32,
        timed: Vec<u32>,
    }

    impl Paper {
        fn new(launch_ns: &[f64]) -> Self {
            Self {
                now_s: 0.0,
                launch_ns: launch_ns.to_vec(),
                at: 0,
                conditions: Vec::new(),
                flushes: 0,
                pauses: 0,
                timed: Vec::new(),
            }
        }
    }

    impl Launcher for Paper {
        type Error = std::convert::Infallible;

        fn time(&mut self, launches: u32, flushed: bool) -> Result<f64, Self::Error> {
            let took_ns = self.launch_ns[self.at % self.launch_ns.len()] * f64::from(launches);
            self.at += 1;
            self.now_s += took_ns * 1e-9;
            self.flushes += u32::from(flushed);
            self.timed.push(launches);
            Ok(took_ns)
        }

        fn condition(&mut self) -> Option<Condition> {
            let last = self.conditions.len() == 1;
            let next = self.conditions.first().copied();
            if !last && next.is_some() {
                self.conditions.remove(0);
            }
            next
        }

        fn pause(&mut self, pause: Duration) {
            self.pauses += 1;
            self.now_s += pause.as_secs_f64();
        }

        fn seconds(&mut self) -> f64 {
            self.now_s
        }
    }

    fn settings(cache: Cache) -> Settings {
        Settings {
            cache,
            precision: 0.005,
            repeat: 10,
            max_repeat: 100,
            min_repeat_ms: 10.0,
            ..Settings::default()
        }
    }

    #[test]
    fn a_cold_launch_is_timed_alone_after_a_flush() {
        let mut gpu = Paper::new(&[100_000.0]);
        let timing = time(&mut gpu, &settings(Cache::Cold)).unwrap();
        assert_eq!(timing.number, 1);
        assert_eq!(timing.repeats_ns, vec![100_000.0; 10]);
        assert_eq!(gpu.flushes, 10);
        assert!(timing.flags.is_empty());
    }

    #[test]
    fn warm_launches_fill_the_shortest_repeat() {
        let mut gpu = Paper::new(&[1e6]);
        let timing = time(&mut gpu, &settings(Cache::Warm)).unwrap();
        assert_eq!((timing.number, gpu.flushes), (16, 0));
        assert_eq!(timing.repeats_ns, vec![1e6; 10]);
        assert!(timing.flags.is_empty());
    }

    #[test]
    fn the_gpu_is_warmed_for_25_ms_and_three_launches() {
        let mut gpu = Paper::new(&[1e6]);
        time(&mut gpu, &settings(Cache::Warm)).unwrap();
        assert_eq!(gpu.timed[..6], [1, 1, 1, 2, 4, 8]);
        let before_repeats: u32 = gpu.timed.iter().take_while(|n| **n < 16).sum();
        assert!(before_repeats >= 17 && gpu.timed[6] == 16);

        let mut gpu = Paper::new(&[30e6]);
        time(&mut gpu, &settings(Cache::Cold)).unwrap();
        assert_eq!(gpu.timed.len(), 3 + 10);
    }

    #[test]
    fn a_kernel_shorter_than_20_us_is_batched_even_when_cold_was_asked() {
        let mut gpu = Paper::new(&[5_000.0]);
        let timing = time(&mut gpu, &settings(Cache::Cold)).unwrap();
        assert_eq!((timing.number, gpu.flushes), (2048, 0));
        assert_eq!(timing.flags, ["batched"]);
    }

    #[test]
    fn one_late_launch_in_the_warm_up_does_not_make_a_kernel_long() {
        let mut launch_ns = vec![30e6];
        launch_ns.resize(1000, 5_000.0);
        let timing = time(&mut Paper::new(&launch_ns), &settings(Cache::Cold)).unwrap();
        assert_eq!(
            (timing.number, timing.flags),
            (2048, vec!["batched".to_owned()])
        );
    }

    #[test]
    fn repeats_that_differ_end_at_the_most_repeats_and_say_so() {
        let mut gpu = Paper::new(&[100_000.0, 110_000.0]);
        let timing = time(&mut gpu, &settings(Cache::Cold)).unwrap();
        assert_eq!(timing.repeats_ns.len(), 100);
        assert_eq!(timing.flags, ["not_converged"]);
    }

    #[test]
    fn timing_ends_at_the_most_time() {
        let mut gpu = Paper::new(&[1e9]);
        let timing = time(&mut gpu, &settings(Cache::Cold)).unwrap();
        assert_eq!(gpu.timed.len(), 5);
        assert_eq!(timing.repeats_ns.len(), 2);
        assert_eq!(timing.flags, ["not_converged"]);
    }

    #[test]
    fn a_throttled_repeat_is_done_again_and_flagged_after_three_times() {
        let clock = |throttled, clock| Condition {
            throttled,
            sm_clock_mhz: Some(clock),
        };
        let mut gpu = Paper::new(&[30e6]);
        gpu.conditions = vec![clock(false, 1980); 3];
        gpu.conditions
            .extend([clock(false, 1400), clock(true, 1980)]);
        gpu.conditions.push(clock(false, 1980));
        let timing = time(&mut gpu, &settings(Cache::Cold)).unwrap();
        assert_eq!((gpu.pauses, gpu.timed.len()), (2, 3 + 12));
        assert!(timing.flags.is_empty());

        let mut gpu = Paper::new(&[30e6]);
        gpu.conditions = vec![clock(true, 1980)];
        let timing = time(&mut gpu, &settings(Cache::Cold)).unwrap();
        assert_eq!((gpu.pauses, gpu.timed.len()), (3, 3 + 13));
        assert_eq!(timing.flags, ["throttled"]);
    }

    #[test]
    fn precision_is_relative_and_unknown_for_few_repeats() {
        assert_eq!(precision(&[1.0; 5]), f64::INFINITY);
        assert_eq!(precision(&[0.0; 10]), f64::INFINITY);
        // Six values: from the least to the most.
        let values = [98.0, 99.0, 100.0, 100.0, 101.0, 102.0];
        assert!((precision(&values) - 0.02).abs() < 1e-12);
    }
}

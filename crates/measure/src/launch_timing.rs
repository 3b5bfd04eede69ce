//! Timing of a kernel on a GPU: warm-up, repeats until the median is precise, and retries after throttling.
//!
//! A repeat is one launch after a flush of the L2 cache (cold), or the mean of as many launches as take
//! `min_repeat_ms` (warm, and all kernels that are too short for the event clock). The rules, including
//! that for throttling, are those of nvbench, which calls the two modes "cold" and "batch".

use std::time::Duration;

use crate::trial::{Cache, Repeat, Settings};
use tsql_metrics::median::median;

/// Minimum device time and launches of the warm-up, which loads the code and raises the clocks.
const WARM_UP_NS: f64 = 25e6;
const WARM_UP_LAUNCHES: u32 = 3;

/// A shorter kernel is not timed by single launches: an event is precise to 500 ns.
const SHORT_LAUNCH_NS: f64 = 20_000.0;

/// Maximum launches between two events.
const MAX_LAUNCHES: u32 = 1 << 20;

/// A repeat below this fraction of the warm-up clock is not counted.
const MIN_CLOCK_FRACTION: f64 = 0.75;

/// Pause before a throttled repeat is retried, and the maximum number of retries.
const COOL_DOWN: Duration = Duration::from_millis(100);
const MAX_RETRIES: u32 = 3;

/// Launches a kernel and reads the clock. Simulated in tests.
pub(crate) trait Launcher {
    /// Error of a launch.
    type Error;

    /// Device time of `launches` in ns, after a flush of the L2 cache if `flushed`.
    fn time(&mut self, launches: u32, flushed: bool) -> Result<f64, Self::Error>;

    /// State of the GPU; `None` if unknown.
    fn condition(&mut self) -> Option<Condition>;

    /// Sleeps.
    fn pause(&mut self, pause: Duration);

    /// Seconds on a monotonic clock.
    fn seconds(&mut self) -> f64;
}

/// State of a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Condition {
    /// The GPU reports that it is too hot or has too little power.
    pub(crate) throttled: bool,
    pub(crate) sm_clock_mhz: Option<u32>,
}

/// Result of timing.
#[derive(Debug, PartialEq)]
pub(crate) struct LaunchTiming {
    /// Nanoseconds per launch, one value for each repeat.
    pub(crate) repeats_ns: Vec<f64>,
    /// Launches per repeat.
    pub(crate) number: u32,
    pub(crate) flags: Vec<String>,
}

/// A repeat on a GPU; all of them count.
pub(crate) fn repeat_from_ns(wall_ns: f64) -> Repeat {
    Repeat {
        wall_ns,
        cpu_ns: None,
        involuntary_switches: 0,
        migrated: false,
        counts: true,
    }
}

/// Times the kernel of a launcher.
pub(crate) fn time<B: Launcher>(
    bench: &mut B,
    settings: &Settings,
) -> Result<LaunchTiming, B::Error> {
    let end_s = bench.seconds() + settings.max_time_s;
    let warm = warm_up(bench, end_s)?;
    let short = warm.launch_ns < SHORT_LAUNCH_NS;
    let flushed = settings.cache == Cache::Cold && !short;
    let number = if flushed {
        1
    } else {
        launches_per_repeat(warm.launch_ns, settings.min_repeat_ms * 1e6)
    };
    let mut flags = Vec::new();
    if short {
        flags.push("batched");
    }
    let mut repeats_ns = Vec::new();
    let mut throttled = false;
    loop {
        let took_ns = time_repeat(bench, number, flushed, warm.clock_mhz, &mut throttled)?;
        repeats_ns.push(took_ns / f64::from(number));
        let count = u32::try_from(repeats_ns.len()).unwrap_or(u32::MAX);
        if count >= settings.repeat && relative_half_width(&repeats_ns) < settings.precision {
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
    Ok(LaunchTiming {
        repeats_ns,
        number,
        flags: flags.into_iter().map(str::to_owned).collect(),
    })
}

struct WarmUp {
    launch_ns: f64,
    clock_mhz: Option<u32>,
}

/// Launches until the GPU is warm, in growing batches so that short kernels keep it busy.
fn warm_up<B: Launcher>(bench: &mut B, end_s: f64) -> Result<WarmUp, B::Error> {
    let began_s = bench.seconds();
    let (mut done, mut done_ns, mut launches) = (0_u32, 0.0, 1_u32);
    // The minimum, because the host can delay launches, and the first one loads the code.
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
        // A kernel that takes seconds must leave time for its repeats.
        let now_s = bench.seconds();
        let late = now_s - began_s > (end_s - began_s) / 2.0;
        let enough = done >= WARM_UP_LAUNCHES && done_ns >= WARM_UP_NS;
        if enough || late || done >= MAX_LAUNCHES {
            clocks.sort_unstable();
            return Ok(WarmUp {
                launch_ns,
                clock_mhz: clocks.get(clocks.len() / 2).copied(),
            });
        }
        if done >= WARM_UP_LAUNCHES {
            launches = launches.saturating_mul(2);
        }
    }
}

/// Smallest power of two of launches that take `repeat_ns`.
fn launches_per_repeat(launch_ns: f64, repeat_ns: f64) -> u32 {
    let mut number = 1;
    while number < MAX_LAUNCHES && f64::from(number) * launch_ns < repeat_ns {
        number *= 2;
    }
    number
}

/// Runs one repeat, with retries while the GPU is throttled. Returns the device time of all its launches in
/// ns.
fn time_repeat<B: Launcher>(
    bench: &mut B,
    number: u32,
    flushed: bool,
    warm_clock_mhz: Option<u32>,
    throttled: &mut bool,
) -> Result<f64, B::Error> {
    let mut redos = 0;
    loop {
        let took_ns = bench.time(number, flushed)?;
        // If the GPU stays throttled, later repeats do not wait again.
        if *throttled || !is_slowed_down(bench.condition(), warm_clock_mhz) {
            return Ok(took_ns);
        }
        if redos == MAX_RETRIES {
            *throttled = true;
            return Ok(took_ns);
        }
        redos += 1;
        bench.pause(COOL_DOWN);
    }
}

fn is_slowed_down(condition: Option<Condition>, warm_clock_mhz: Option<u32>) -> bool {
    let Some(condition) = condition else {
        return false;
    };
    let slow = condition
        .sm_clock_mhz
        .zip(warm_clock_mhz)
        .is_some_and(|(now, warm)| f64::from(now) < MIN_CLOCK_FRACTION * f64::from(warm));
    condition.throttled || slow
}

/// Half of the 95 % confidence interval of the median, relative to the median; infinite if unknown.
fn relative_half_width(values: &[f64]) -> f64 {
    let estimate = median(values).filter(|median| median.value > 0.0);
    let relative = estimate.and_then(|median| Some(median.half_width? / median.value));
    relative.unwrap_or(f64::INFINITY)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A simulated GPU with given launch times. Time only advances during launches and pauses.
    struct SimulatedGpu {
        now_s: f64,
        /// Nanoseconds of future launches, repeated cyclically.
        launch_ns: Vec<f64>,
        next_launch: usize,
        conditions: Vec<Condition>,
        flushes: u32,
        pauses: u32,
        timed: Vec<u32>,
    }

    impl SimulatedGpu {
        fn new(launch_ns: &[f64]) -> Self {
            Self {
                now_s: 0.0,
                launch_ns: launch_ns.to_vec(),
                next_launch: 0,
                conditions: Vec::new(),
                flushes: 0,
                pauses: 0,
                timed: Vec::new(),
            }
        }
    }

    impl Launcher for SimulatedGpu {
        type Error = std::convert::Infallible;

        fn time(&mut self, launches: u32, flushed: bool) -> Result<f64, Self::Error> {
            let took_ns =
                self.launch_ns[self.next_launch % self.launch_ns.len()] * f64::from(launches);
            self.next_launch += 1;
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
        let mut gpu = SimulatedGpu::new(&[100_000.0]);
        let timing = time(&mut gpu, &settings(Cache::Cold)).unwrap();
        assert_eq!(timing.number, 1);
        assert_eq!(timing.repeats_ns, vec![100_000.0; 10]);
        assert_eq!(gpu.flushes, 10);
        assert!(timing.flags.is_empty());
    }

    #[test]
    fn warm_launches_fill_the_shortest_repeat() {
        let mut gpu = SimulatedGpu::new(&[1e6]);
        let timing = time(&mut gpu, &settings(Cache::Warm)).unwrap();
        assert_eq!((timing.number, gpu.flushes), (16, 0));
        assert_eq!(timing.repeats_ns, vec![1e6; 10]);
        assert!(timing.flags.is_empty());
    }

    #[test]
    fn the_gpu_is_warmed_for_25_ms_and_three_launches() {
        let mut gpu = SimulatedGpu::new(&[1e6]);
        time(&mut gpu, &settings(Cache::Warm)).unwrap();
        assert_eq!(gpu.timed[..6], [1, 1, 1, 2, 4, 8]);
        let before_repeats: u32 = gpu.timed.iter().take_while(|n| **n < 16).sum();
        assert!(before_repeats >= 17 && gpu.timed[6] == 16);

        let mut gpu = SimulatedGpu::new(&[30e6]);
        time(&mut gpu, &settings(Cache::Cold)).unwrap();
        assert_eq!(gpu.timed.len(), 3 + 10);
    }

    #[test]
    fn a_kernel_shorter_than_20_us_is_batched_even_if_cold() {
        let mut gpu = SimulatedGpu::new(&[5_000.0]);
        let timing = time(&mut gpu, &settings(Cache::Cold)).unwrap();
        assert_eq!((timing.number, gpu.flushes), (2048, 0));
        assert_eq!(timing.flags, ["batched"]);
    }

    #[test]
    fn one_late_launch_in_the_warm_up_does_not_make_a_kernel_long() {
        let mut launch_ns = vec![30e6];
        launch_ns.resize(1000, 5_000.0);
        let timing = time(&mut SimulatedGpu::new(&launch_ns), &settings(Cache::Cold)).unwrap();
        assert_eq!(
            (timing.number, timing.flags),
            (2048, vec!["batched".to_owned()])
        );
    }

    #[test]
    fn unsteady_repeats_end_at_the_limit_with_a_flag() {
        let mut gpu = SimulatedGpu::new(&[100_000.0, 110_000.0]);
        let timing = time(&mut gpu, &settings(Cache::Cold)).unwrap();
        assert_eq!(timing.repeats_ns.len(), 100);
        assert_eq!(timing.flags, ["not_converged"]);
    }

    #[test]
    fn timing_ends_at_the_maximum_time() {
        let mut gpu = SimulatedGpu::new(&[1e9]);
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
        let mut gpu = SimulatedGpu::new(&[30e6]);
        gpu.conditions = vec![clock(false, 1980); 3];
        gpu.conditions
            .extend([clock(false, 1400), clock(true, 1980)]);
        gpu.conditions.push(clock(false, 1980));
        let timing = time(&mut gpu, &settings(Cache::Cold)).unwrap();
        assert_eq!((gpu.pauses, gpu.timed.len()), (2, 3 + 12));
        assert!(timing.flags.is_empty());

        let mut gpu = SimulatedGpu::new(&[30e6]);
        gpu.conditions = vec![clock(true, 1980)];
        let timing = time(&mut gpu, &settings(Cache::Cold)).unwrap();
        assert_eq!((gpu.pauses, gpu.timed.len()), (3, 3 + 13));
        assert_eq!(timing.flags, ["throttled"]);
    }

    #[test]
    fn precision_is_relative_and_unknown_for_few_repeats() {
        assert_eq!(relative_half_width(&[1.0; 5]), f64::INFINITY);
        assert_eq!(relative_half_width(&[0.0; 10]), f64::INFINITY);
        // With six values, the interval is from the minimum to the maximum.
        let values = [98.0, 99.0, 100.0, 100.0, 101.0, 102.0];
        assert!((relative_half_width(&values) - 0.02).abs() < 1e-12);
    }
}

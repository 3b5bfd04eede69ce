//! Timing protocol on a simulated machine.

use super::*;

/// A kernel with known cost on a machine shared with other processes.
struct Simulated {
    now: Duration,
    cpu: Duration,
    switches: u64,
    core: usize,
    calls: u64,
    flushes: u64,
    core_yields: u64,
    /// Duration of call number n.
    cost: Box<dyn Fn(u64) -> Duration>,
    /// Processor time of the kernel before it is preempted, and the duration of the preemption.
    slice: Option<(Duration, Duration)>,
    left: Duration,
}

impl Simulated {
    fn new(cost: impl Fn(u64) -> Duration + 'static) -> Self {
        Self {
            now: Duration::from_secs(5),
            cpu: Duration::ZERO,
            switches: 0,
            core: 1,
            calls: 0,
            flushes: 0,
            core_yields: 0,
            cost: Box::new(cost),
            slice: None,
            left: Duration::ZERO,
        }
    }

    fn with_preemption(cost: Duration, slice_ms: u64, away_ms: u64) -> Self {
        let slice = Duration::from_millis(slice_ms);
        Self {
            slice: Some((slice, Duration::from_millis(away_ms))),
            left: slice,
            ..Self::new(move |_| cost)
        }
    }

    fn run(&mut self, mut time: Duration) {
        while let Some((slice, away)) = self.slice
            && time > self.left
        {
            time -= self.left;
            self.now += self.left + away;
            self.cpu += self.left;
            self.left = slice;
            self.switches += 1;
        }
        self.left = self.left.saturating_sub(time);
        self.now += time;
        self.cpu += time;
    }
}

impl Caller for Simulated {
    fn start(&mut self) -> ClockReading {
        ClockReading {
            wall: self.now,
            cpu: self.cpu,
            involuntary_switches: self.switches,
            core: self.core,
        }
    }

    fn stop(&mut self) -> ClockReading {
        self.start()
    }

    fn call(&mut self, number: u32) {
        for _ in 0..number.min(100_000) {
            self.calls += 1;
            self.run((self.cost)(self.calls));
        }
    }

    fn flush(&mut self) {
        self.flushes += 1;
        self.now += Duration::from_millis(5);
    }

    fn yield_core(&mut self) {
        self.core_yields += 1;
        if let Some((slice, away)) = self.slice {
            self.now += away;
            self.left = slice;
        }
    }
}

fn fixed_cost(cost_us: u64) -> Simulated {
    Simulated::new(move |_| Duration::from_micros(cost_us))
}

fn times(machine: &mut Simulated, settings: &Settings) -> Timing {
    time(machine, settings, Duration::ZERO)
}

/// At least ten repeats of 10 ms.
fn few_repeats() -> Settings {
    Settings {
        repeat: 10,
        max_repeat: 100,
        min_repeat_ms: 10.0,
        ..Settings::default()
    }
}

#[test]
fn a_quiet_machine_needs_only_the_requested_repeats() {
    let timing = times(&mut fixed_cost(300), &few_repeats());
    assert_eq!(timing.repeats.len(), 10);
    assert_eq!(timing.number, 34, "10 ms in calls of 0.3 ms");
    assert_eq!(timing.flags, [""; 0]);
    assert!((timing.repeats[3].wall_ns - 300_000.0).abs() < 1.0);
    assert_eq!(timing.repeats[3].cpu_ns, Some(timing.repeats[3].wall_ns));
}

#[test]
fn on_a_busy_machine_repeats_become_short_and_clean() {
    let mut machine = Simulated::with_preemption(Duration::from_micros(100), 3, 9);
    let timing = times(&mut machine, &few_repeats());
    assert_eq!(timing.number, 5, "0.5 ms in calls of 0.1 ms");
    assert_eq!(timing.flags, [""; 0]);
    assert_eq!(timing.repeats.len(), 10);
    assert!((timing.repeats[9].wall_ns - 100_000.0).abs() < 1.0);
    assert!(machine.core_yields >= 10);
}

#[test]
fn a_kernel_longer_than_its_slice_is_flagged_disturbed() {
    let mut machine = Simulated::with_preemption(Duration::from_millis(4), 3, 9);
    let timing = times(&mut machine, &few_repeats());
    assert_eq!(timing.number, 1);
    assert_eq!(timing.flags, ["disturbed", "not_converged"]);
    assert!(timing.repeats.iter().all(|repeat| !is_clean(repeat, 1)));
    assert!(
        timing.repeats.iter().all(|repeat| repeat.counts),
        "there are no others"
    );
}

#[test]
fn drifting_times_end_at_the_limit_with_a_flag() {
    // Each call takes 1 % longer than the previous one.
    let mut machine = Simulated::new(|call| {
        let growth = 1.01_f64.powi(i32::try_from(call).unwrap());
        Duration::from_secs_f64(0.004 * growth)
    });
    let settings = Settings {
        max_repeat: 30,
        max_time_s: 100.0,
        ..few_repeats()
    };
    let timing = times(&mut machine, &settings);
    assert_eq!(timing.repeats.len(), 30);
    assert_eq!(timing.flags, ["not_converged", "unsteady"]);
}

#[test]
fn timing_a_kernel_without_duration_ends() {
    let mut machine = Simulated::new(|_| Duration::ZERO);
    let timing = times(&mut machine, &few_repeats());
    assert_eq!(timing.number, MAX_CALLS);
    assert_eq!(timing.repeats.len(), 10);
    assert_eq!(timing.flags, ["below_clock_resolution"]);
}

#[test]
fn a_kernel_slower_than_the_time_allowed_is_timed_once() {
    let timing = times(&mut fixed_cost(3_000_000), &few_repeats());
    assert_eq!((timing.number, timing.repeats.len()), (1, 1));
    assert_eq!(timing.flags, ["not_converged"]);
}

#[test]
fn a_slow_first_call_was_the_warm_up() {
    let mut machine = fixed_cost(1_000_000);
    let timing = time(&mut machine, &few_repeats(), Duration::from_secs(1));
    assert_eq!(timing.repeats.len(), 5);
    assert_eq!(machine.calls, 5);
}

#[test]
fn warm_up_lasts_until_calls_are_steady() {
    let warming = |call| Duration::from_micros(if call < 100 { 2_000 - 10 * call } else { 1_000 });
    let mut machine = Simulated::new(warming);
    let timing = times(&mut machine, &few_repeats());
    assert!(
        (timing.repeats[0].wall_ns - 1e6).abs() < 1.0,
        "{:?}",
        timing.repeats[0]
    );
}

#[test]
fn short_calls_are_warmed_up_in_groups() {
    /// A clock with a read cost of 60 ns and steps of 20 ns.
    struct Coarse(Simulated);
    impl Caller for Coarse {
        fn start(&mut self) -> ClockReading {
            self.0.run(Duration::from_nanos(60));
            let coarse =
                |time: Duration| time - Duration::from_nanos((time.as_nanos() % 20) as u64);
            let exact = self.0.start();
            ClockReading {
                wall: coarse(exact.wall),
                cpu: coarse(exact.cpu),
                ..exact
            }
        }
        fn stop(&mut self) -> ClockReading {
            self.start()
        }
        fn call(&mut self, number: u32) {
            self.0.call(number);
        }
        fn flush(&mut self) {}
        fn yield_core(&mut self) {}
    }
    let mut bench = Coarse(Simulated::new(|_| Duration::from_nanos(31)));
    let settings = Settings {
        min_repeat_ms: 1.0,
        ..few_repeats()
    };
    let began = bench.0.now;
    let timing = time(&mut bench, &settings, Duration::ZERO);
    assert_eq!(timing.flags, [""; 0]);
    assert!(bench.0.now - began < Duration::from_millis(100));
}

#[test]
fn repeats_slowed_by_a_neighbour_do_not_count() {
    // Three of four phases of 30 calls are 25 % slower.
    let mut machine = Simulated::new(|call| {
        Duration::from_micros(if call / 30 % 4 == 3 { 1_000 } else { 1_250 })
    });
    let timing = times(&mut machine, &few_repeats());
    assert_eq!(timing.flags, ["unsteady"]);
    let (counted, slowed): (Vec<Repeat>, Vec<Repeat>) =
        timing.repeats.into_iter().partition(|repeat| repeat.counts);
    assert_eq!(counted.len(), 10);
    assert!((20..90).contains(&slowed.len()));
    assert!(counted.iter().all(|repeat| repeat.wall_ns < 1.03e6));
    assert!(slowed.iter().all(|repeat| repeat.wall_ns > 1.03e6));
}

#[test]
fn multithreaded_and_cold_times_vary_naturally() {
    for (cache, threads) in [(Cache::Cold, 1), (Cache::Warm, 2)] {
        let mut machine = Simulated::new(|call| Duration::from_micros(10_000 + 100 * (call % 7)));
        let settings = Settings {
            cache,
            threads,
            max_repeat: 30,
            ..few_repeats()
        };
        let timing = times(&mut machine, &settings);
        assert!(timing.repeats.iter().all(|repeat| repeat.counts));
        assert!(!timing.flags.contains(&"unsteady".to_owned()));
    }
}

#[test]
fn cold_calls_are_timed_one_by_one_after_a_flush() {
    let mut machine = fixed_cost(50);
    let settings = Settings {
        cache: Cache::Cold,
        ..few_repeats()
    };
    let timing = times(&mut machine, &settings);
    assert_eq!((timing.number, timing.repeats.len()), (1, 10));
    assert_eq!(machine.flushes, 10);
    assert!((timing.repeats[0].wall_ns - 50_000.0).abs() < 1.0);
}

#[test]
fn a_cold_call_below_clock_resolution_is_flagged() {
    let mut machine = Simulated::new(|_| Duration::from_nanos(300));
    let settings = Settings {
        cache: Cache::Cold,
        ..few_repeats()
    };
    let timing = times(&mut machine, &settings);
    assert_eq!(timing.flags, ["below_clock_resolution"]);
}

#[test]
fn waiting_threads_are_no_disturbance() {
    let waiting = Repeat {
        counts: true,
        wall_ns: 100.0,
        cpu_ns: Some(50.0),
        involuntary_switches: 0,
        migrated: false,
    };
    assert!(!is_clean(&waiting, 1));
    assert!(is_clean(&waiting, 4));
}

#[test]
fn a_repeat_that_ends_on_another_core_is_flagged() {
    struct Wandering(Simulated);
    impl Caller for Wandering {
        fn start(&mut self) -> ClockReading {
            self.0.start()
        }
        fn stop(&mut self) -> ClockReading {
            self.0.core += 1;
            self.0.start()
        }
        fn call(&mut self, number: u32) {
            self.0.call(number);
        }
        fn flush(&mut self) {}
        fn yield_core(&mut self) {}
    }
    let mut bench = Wandering(fixed_cost(300));
    let timing = time(&mut bench, &few_repeats(), Duration::ZERO);
    assert_eq!(timing.flags, ["migrated"]);
}

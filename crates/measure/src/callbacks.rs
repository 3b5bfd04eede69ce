//! Timing of callables in this process, for example of Python. They follow the timing rules of kernels and
//! get the same flags.
//!
//! Callables are not sandboxed, and no core is reserved for them.

use std::thread;
use std::time::{Duration, Instant};

use crate::clock::{ClockedCaller, flush_buffer};
use crate::conditions::Watch;
#[cfg(feature = "cuda")]
use crate::cuda::Monitor;
use crate::error::{Error, Result};
use crate::launch_timing::{self, Condition, Launcher, repeat_from_ns};
use crate::timing;
use crate::trial::{Cache, Outcome, Settings};

/// Times `call(n)`, which makes `n` calls, on the processor.
///
/// Measures wall time, and processor time of this thread (of the process if `settings` have several
/// threads). It makes one call first.
///
/// # Errors
/// [`Error::Missing`] if there is no memory to flush the caches with.
pub fn time_calls(mut call: impl FnMut(u32), settings: &Settings) -> Result<Outcome> {
    let began = Instant::now();
    let flushed = match settings.cache {
        Cache::Warm => None,
        Cache::Cold => Some(flush_buffer().map_err(|errno| {
            Error::Missing(format!("memory to flush the caches with: {errno}"))
        })?),
    };
    let first = Instant::now();
    call(1);
    let first_call = first.elapsed();
    let watch = Watch::begin(None);
    let mut clocked = ClockedCaller::new(call, settings.threads, flushed);
    let mut timing = timing::time(&mut clocked, settings, first_call);
    timing.flags.extend(watch.flags().map(str::to_owned));
    Ok(Outcome {
        repeats: timing.repeats,
        number: timing.number.into(),
        flags: timing.flags,
        all_cost_s: began.elapsed().as_secs_f64(),
        ..Outcome::default()
    })
}

/// Times work on a GPU.
///
/// `time(launches, flushed)` makes that many launches, after a flush of the L2 cache if `flushed`, and
/// returns their total device time in ns. The GPU at `bus_id` is monitored for throttling and other
/// processes, if its driver reports them.
///
/// # Errors
/// Errors of `time`.
pub fn time_launches<E>(
    time: impl FnMut(u32, bool) -> Result<f64, E>,
    settings: &Settings,
    bus_id: Option<&str>,
) -> Result<Outcome, E> {
    let began = Instant::now();
    let watch = Watch::begin(None);
    let (timing, is_shared) = time_monitored(time, settings, bus_id, began)?;
    let mut flags = timing.flags;
    for flag in watch.flags() {
        // The GPU monitor may have set the same flag.
        if !flags.iter().any(|existing| existing == flag) {
            flags.push(flag.to_owned());
        }
    }
    if is_shared {
        flags.push("shared_gpu".to_owned());
    }
    Ok(Outcome {
        repeats: timing.repeats_ns.into_iter().map(repeat_from_ns).collect(),
        number: timing.number.into(),
        flags,
        all_cost_s: began.elapsed().as_secs_f64(),
        ..Outcome::default()
    })
}

/// Times the launches while monitoring the GPU. Also returns whether other processes use the GPU.
#[cfg(feature = "cuda")]
fn time_monitored<E>(
    time: impl FnMut(u32, bool) -> Result<f64, E>,
    settings: &Settings,
    bus_id: Option<&str>,
    began: Instant,
) -> Result<(launch_timing::LaunchTiming, bool), E> {
    let monitor = Monitor::open();
    let gpu = bus_id.map(|bus_id| monitor.gpu(bus_id));
    let condition = || gpu.as_ref().and_then(|gpu| gpu.condition());
    let timing = run_launcher(time, condition, settings, began)?;
    Ok((timing, gpu.as_ref().is_some_and(|gpu| gpu.is_shared())))
}

/// Times the launches without monitoring, in a build without CUDA.
#[cfg(not(feature = "cuda"))]
fn time_monitored<E>(
    time: impl FnMut(u32, bool) -> Result<f64, E>,
    settings: &Settings,
    _: Option<&str>,
    began: Instant,
) -> Result<(launch_timing::LaunchTiming, bool), E> {
    Ok((run_launcher(time, || None, settings, began)?, false))
}

fn run_launcher<E>(
    time: impl FnMut(u32, bool) -> Result<f64, E>,
    condition: impl FnMut() -> Option<Condition>,
    settings: &Settings,
    began: Instant,
) -> Result<launch_timing::LaunchTiming, E> {
    let mut launcher = CallbackLauncher {
        time,
        condition,
        began,
    };
    launch_timing::time(&mut launcher, settings)
}

/// A launcher that calls back into the caller, with a clock.
struct CallbackLauncher<T, C> {
    time: T,
    condition: C,
    began: Instant,
}

impl<E, T: FnMut(u32, bool) -> Result<f64, E>, C: FnMut() -> Option<Condition>> Launcher
    for CallbackLauncher<T, C>
{
    type Error = E;

    fn time(&mut self, launches: u32, flushed: bool) -> Result<f64, E> {
        (self.time)(launches, flushed)
    }

    fn condition(&mut self) -> Option<Condition> {
        (self.condition)()
    }

    fn pause(&mut self, pause: Duration) {
        thread::sleep(pause);
    }

    fn seconds(&mut self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    fn settings() -> Settings {
        Settings {
            repeat: 5,
            max_repeat: 20,
            min_repeat_ms: 1.0,
            max_time_s: 1.0,
            ..Settings::default()
        }
    }

    #[test]
    fn a_waiting_callable_takes_its_waiting_time() {
        let mut call_count = 0_u64;
        let outcome = time_calls(
            |number| {
                call_count += u64::from(number);
                thread::sleep(Duration::from_millis(2) * number);
            },
            &settings(),
        )
        .unwrap();
        assert!(call_count > 5 && outcome.error_no == 0);
        let times_ns = outcome.repeats.iter().map(|repeat| repeat.wall_ns);
        let minimum_ns = times_ns.fold(f64::INFINITY, f64::min);
        assert!((2e6..4e6).contains(&minimum_ns), "{minimum_ns}");
        // A waiting callable uses little processor time.
        let cpu_ns = outcome.repeats[0].cpu_ns.unwrap();
        assert!(cpu_ns < minimum_ns / 2.0, "{cpu_ns}");
    }

    #[test]
    fn launches_report_the_error_of_the_device() {
        let time = |launches: u32, _: bool| Ok::<f64, Infallible>(f64::from(launches) * 1e6);
        let outcome = time_launches(time, &settings(), None).unwrap();
        assert!(
            outcome
                .repeats
                .iter()
                .all(|repeat| (repeat.wall_ns - 1e6).abs() < 1.0)
        );
        assert!(outcome.repeats.iter().all(|repeat| repeat.cpu_ns.is_none()));
        let mut remaining = 3;
        let failing = |_: u32, _: bool| {
            remaining -= 1;
            if remaining == 0 {
                Err("out of memory")
            } else {
                Ok(1e6)
            }
        };
        assert_eq!(
            time_launches(failing, &settings(), None).unwrap_err(),
            "out of memory"
        );
    }
}

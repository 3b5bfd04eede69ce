//! One trial on the device: load, check, time, check again.

use std::thread;
use std::time::{Duration, Instant};

use super::check::Arguments;
use super::code::Code;
use super::driver::{Buffer, Call, Context, Device, DeviceAttribute, Event};
use super::job::failure;
use super::limits::{admit, match_parameters};
use super::monitor::Gpu;
use crate::conditions::Watch;
use crate::launches::{self, Condition, Launcher, Timing, as_repeat};
use crate::trial::{Cache, Check, Outcome, Settings, Trial};

/// Written between cold launches, in sizes of the L2 cache: what was there is gone.
const FLUSH_L2_TIMES: usize = 2;

/// Flushed where the driver does not tell the cache's size: twice the largest.
const FLUSH_UNKNOWN_BYTES: usize = 256 << 20;

/// Why a trial ended early.
pub(super) enum Stop {
    /// The kernel's own doing.
    Outcome(Outcome),
    /// The driver's result, to be judged by the number.
    Code(Code),
    /// The machine, or the caller.
    Fault(String),
}

impl From<Code> for Stop {
    fn from(code: Code) -> Self {
        Self::Code(code)
    }
}

impl From<Outcome> for Stop {
    fn from(outcome: Outcome) -> Self {
        Self::Outcome(outcome)
    }
}

/// A device that is set up for trials.
pub(super) struct Station<'a> {
    pub(super) device: Device,
    pub(super) context: &'a Context,
    pub(super) gpu: &'a Gpu<'a>,
}

impl Station<'_> {
    /// Does a trial with the kernel in `cubin`; `reference` holds the right outputs.
    pub(super) fn measure(
        &self,
        trial: &Trial,
        cubin: &[u8],
        reference: Option<&[u8]>,
    ) -> Result<Outcome, Stop> {
        let no_launch = || Stop::Fault("a CUDA trial has no launch".to_owned());
        let launch = trial.launch.ok_or_else(no_launch)?;
        let module = self.context.load(cubin).map_err(refused("module_load"))?;
        let entry = &trial.program.entry;
        let missing = format!("missing_symbol: no kernel `{entry}` (is it `extern \"C\"`?)");
        let function = module.function(entry).map_err(refused(&missing))?;
        let bounds = |reason| failure(1, format!("launch_bounds: {reason}"));
        admit(self.device, &function, launch)?.map_err(bounds)?;
        let arguments = Arguments::allocate(self.context, trial)??;
        let parameters = arguments.parameters();
        let signature = |reason| failure(3, format!("signature: {reason}"));
        match_parameters(&function, &parameters)?.map_err(signature)?;
        let check = pair(trial.check.as_ref(), reference, arguments.output_bytes())?;

        let mut call = function.call(launch, &parameters);
        let first = self.checked_launch(&mut call, &arguments, check)?;
        let watch = Watch::begin(None);
        let timing = self.time(&mut call, &trial.settings)?;
        let odd = watch.flags();
        let second = self.checked_launch(&mut call, &arguments, check)?;
        let mut flags = timing.flags;
        for flag in odd {
            // The GPU may have said so already.
            if !flags.iter().any(|known| known == flag) {
                flags.push(flag.to_owned());
            }
        }
        if self.gpu.is_shared() {
            flags.push("shared_gpu".to_owned());
        }
        Ok(Outcome {
            repeats: timing.repeats_ns.into_iter().map(as_repeat).collect(),
            number: timing.number.into(),
            flags,
            check_error: first.zip(second).map(|(first, second)| first.max(second)),
            ..Outcome::default()
        })
    }

    fn time(&self, call: &mut Call<'_>, settings: &Settings) -> Result<Timing, Code> {
        let mut timed = Timed {
            flush: self.flush(settings.cache)?,
            from: self.context.event()?,
            to: self.context.event()?,
            gpu: self.gpu,
            call,
            began: Instant::now(),
        };
        launches::time(&mut timed, settings)
    }

    /// Launches once on fresh arguments, and compares.
    fn checked_launch(
        &self,
        call: &mut Call<'_>,
        arguments: &Arguments<'_>,
        check: Option<(&Check, &[u8])>,
    ) -> Result<Option<f64>, Stop> {
        arguments.prepare()?;
        call.launch()?;
        self.context.synchronize()?;
        Ok(arguments.check(check)??)
    }

    fn flush(&self, cache: Cache) -> Result<Option<Buffer<'_>>, Code> {
        if cache == Cache::Warm {
            return Ok(None);
        }
        let l2 = DeviceAttribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE;
        let bytes = match usize::try_from(self.device.attribute(l2)?) {
            Ok(bytes @ 1..) => FLUSH_L2_TIMES * bytes,
            _ => FLUSH_UNKNOWN_BYTES,
        };
        self.context.allocate(bytes).map(Some)
    }
}

/// The driver would not have the kernel: its own failure, unless context or machine failed.
fn refused(kind: &str) -> impl FnOnce(Code) -> Stop {
    let kind = kind.to_owned();
    move |code| {
        if code.is_sticky() || code.is_fault() || code == Code::OUT_OF_MEMORY {
            Stop::Code(code)
        } else {
            Stop::Outcome(failure(3, format!("{kind}: {code}")))
        }
    }
}

/// The check with the right outputs, which must be as many bytes as the kernel's.
fn pair<'a>(
    check: Option<&'a Check>,
    reference: Option<&'a [u8]>,
    output_bytes: usize,
) -> Result<Option<(&'a Check, &'a [u8])>, Stop> {
    match (check, reference) {
        (Some(_), Some(reference)) if reference.len() != output_bytes => Err(Stop::Fault(format!(
            "the reference has `{}` bytes, the outputs {output_bytes}",
            reference.len()
        ))),
        (Some(_), None) => Err(Stop::Fault("the reference outputs are missing".to_owned())),
        (Some(check), Some(reference)) => Ok(Some((check, reference))),
        (None, _) => Ok(None),
    }
}

/// A kernel with its arguments, between two events.
struct Timed<'t, 'c, 'k> {
    call: &'t mut Call<'k>,
    from: Event<'c>,
    to: Event<'c>,
    flush: Option<Buffer<'c>>,
    gpu: &'t Gpu<'t>,
    began: Instant,
}

impl Launcher for Timed<'_, '_, '_> {
    type Error = Code;

    fn time(&mut self, launches: u32, flushed: bool) -> Result<f64, Code> {
        if let Some(flush) = self.flush.as_ref().filter(|_| flushed) {
            // While the device writes, the launch is prepared: its cost is not in the time.
            flush.set(0)?;
        }
        self.from.record()?;
        for _ in 0..launches {
            self.call.launch()?;
        }
        self.to.record()?;
        self.to.synchronize()?;
        self.to.nanoseconds_since(&self.from)
    }

    fn condition(&mut self) -> Option<Condition> {
        self.gpu.condition()
    }

    fn pause(&mut self, pause: Duration) {
        thread::sleep(pause);
    }

    fn seconds(&mut self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }
}

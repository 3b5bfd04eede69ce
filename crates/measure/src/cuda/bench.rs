//! One trial on the device: load, check, time, check again.

use std::thread;
use std::time::{Duration, Instant};

use super::check::DeviceArguments;
use super::code::Code;
use super::driver::{Buffer, Call, Context, Device, DeviceAttribute, Event};
use super::job::failed_outcome;
use super::limits::{check_launch, check_parameters};
use super::monitor::Gpu;
use crate::conditions::Watch;
use crate::launch_timing::{self, Condition, LaunchTiming, Launcher, repeat_from_ns};
use crate::trial::{Cache, Check, Outcome, Settings, Trial};

/// Flush size in multiples of the L2 cache: written between cold launches to evict its contents.
const FLUSH_L2_TIMES: usize = 2;

/// Flush size if the driver does not report the cache size: twice the largest known cache.
const DEFAULT_FLUSH_BYTES: usize = 256 << 20;

/// Reason why a trial ended early.
pub(super) enum TrialError {
    /// A failure of the kernel.
    Outcome(Outcome),
    /// A driver result, classified by its code.
    Code(Code),
    /// A fault of the machine or of the caller.
    Fault(String),
}

impl From<Code> for TrialError {
    fn from(code: Code) -> Self {
        Self::Code(code)
    }
}

impl From<Outcome> for TrialError {
    fn from(outcome: Outcome) -> Self {
        Self::Outcome(outcome)
    }
}

/// A device prepared for trials.
pub(super) struct DeviceBench<'a> {
    pub(super) device: Device,
    pub(super) context: &'a Context,
    pub(super) gpu: &'a Gpu<'a>,
}

impl DeviceBench<'_> {
    /// Runs a trial with the kernel in `cubin`. `reference` holds the expected outputs.
    pub(super) fn measure(
        &self,
        trial: &Trial,
        cubin: &[u8],
        reference: Option<&[u8]>,
    ) -> Result<Outcome, TrialError> {
        let no_launch = || TrialError::Fault("a CUDA trial has no launch".to_owned());
        let launch = trial.launch.ok_or_else(no_launch)?;
        let module = self
            .context
            .load(cubin)
            .map_err(kernel_failure("module_load"))?;
        let entry = &trial.program.entry;
        let missing = format!("missing_symbol: no kernel `{entry}` (is it `extern \"C\"`?)");
        let function = module.function(entry).map_err(kernel_failure(&missing))?;
        let bounds = |reason| failed_outcome(1, format!("launch_bounds: {reason}"));
        check_launch(self.device, &function, launch)?.map_err(bounds)?;
        let arguments = DeviceArguments::allocate(self.context, trial)??;
        let parameters = arguments.parameters();
        let signature = |reason| failed_outcome(3, format!("signature: {reason}"));
        check_parameters(&function, &parameters)?.map_err(signature)?;
        let check = match_reference(trial.check.as_ref(), reference, arguments.output_bytes())?;

        let mut call = function.call(launch, &parameters);
        let first = self.launch_and_check(&mut call, &arguments, check)?;
        let watch = Watch::begin(None);
        let timing = self.time(&mut call, &trial.settings)?;
        let condition_flags = watch.flags();
        let second = self.launch_and_check(&mut call, &arguments, check)?;
        let mut flags = timing.flags;
        for flag in condition_flags {
            // The GPU monitor may have set the same flag.
            if !flags.iter().any(|existing| existing == flag) {
                flags.push(flag.to_owned());
            }
        }
        if self.gpu.is_shared() {
            flags.push("shared_gpu".to_owned());
        }
        Ok(Outcome {
            repeats: timing.repeats_ns.into_iter().map(repeat_from_ns).collect(),
            number: timing.number.into(),
            flags,
            check_error: first.zip(second).map(|(first, second)| first.max(second)),
            ..Outcome::default()
        })
    }

    fn time(&self, call: &mut Call<'_>, settings: &Settings) -> Result<LaunchTiming, Code> {
        let mut timed = EventTimer {
            flush: self.flush_buffer(settings.cache)?,
            from: self.context.event()?,
            to: self.context.event()?,
            gpu: self.gpu,
            call,
            began: Instant::now(),
        };
        launch_timing::time(&mut timed, settings)
    }

    /// Launches once on initialized arguments and checks the outputs.
    fn launch_and_check(
        &self,
        call: &mut Call<'_>,
        arguments: &DeviceArguments<'_>,
        check: Option<(&Check, &[u8])>,
    ) -> Result<Option<f64>, TrialError> {
        arguments.prepare()?;
        call.launch()?;
        self.context.synchronize()?;
        Ok(arguments.check(check)??)
    }

    fn flush_buffer(&self, cache: Cache) -> Result<Option<Buffer<'_>>, Code> {
        if cache == Cache::Warm {
            return Ok(None);
        }
        let l2 = DeviceAttribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE;
        let bytes = match usize::try_from(self.device.attribute(l2)?) {
            Ok(bytes @ 1..) => FLUSH_L2_TIMES * bytes,
            _ => DEFAULT_FLUSH_BYTES,
        };
        self.context.allocate(bytes).map(Some)
    }
}

/// Classifies a driver error as a failure of the kernel, unless the context or the machine failed.
fn kernel_failure(kind: &str) -> impl FnOnce(Code) -> TrialError {
    let kind = kind.to_owned();
    move |code| {
        if code.is_sticky() || code.is_fault() || code == Code::OUT_OF_MEMORY {
            TrialError::Code(code)
        } else {
            TrialError::Outcome(failed_outcome(3, format!("{kind}: {code}")))
        }
    }
}

/// Pairs the check with the expected outputs, which must have the size of the kernel's outputs.
fn match_reference<'a>(
    check: Option<&'a Check>,
    reference: Option<&'a [u8]>,
    output_bytes: usize,
) -> Result<Option<(&'a Check, &'a [u8])>, TrialError> {
    match (check, reference) {
        (Some(_), Some(reference)) if reference.len() != output_bytes => {
            Err(TrialError::Fault(format!(
                "the reference has `{}` bytes, the outputs {output_bytes}",
                reference.len()
            )))
        }
        (Some(_), None) => Err(TrialError::Fault(
            "the reference outputs are missing".to_owned(),
        )),
        (Some(check), Some(reference)) => Ok(Some((check, reference))),
        (None, _) => Ok(None),
    }
}

/// Times a kernel and its arguments between two events.
struct EventTimer<'t, 'c, 'k> {
    call: &'t mut Call<'k>,
    from: Event<'c>,
    to: Event<'c>,
    flush: Option<Buffer<'c>>,
    gpu: &'t Gpu<'t>,
    began: Instant,
}

impl Launcher for EventTimer<'_, '_, '_> {
    type Error = Code;

    fn time(&mut self, launches: u32, flushed: bool) -> Result<f64, Code> {
        if let Some(flush) = self.flush.as_ref().filter(|_| flushed) {
            // The launch is prepared while the device writes, so its cost is not part of the time.
            flush.fill(0)?;
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

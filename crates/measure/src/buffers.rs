//! The arguments of a kernel in memory: filled before the first call, checked after it.

use std::ffi::c_void;
use std::fs;

use twox_hash::XxHash3_64;

use super::compare::{compare, is_untouched};
use super::guarded_buffer::Buffer;
use super::job::{ExpectedOutputs, Job, failed_outcome};
use super::limits;
use super::trial::{Argument, Outcome, Role};
use super::values;

/// Reason why a job ends without success.
pub(super) enum JobError {
    /// A failure of the kernel.
    Failed(Outcome),
    /// A fault of the machine.
    Fault(String),
}

pub(super) fn out_of_memory(reason: &str) -> JobError {
    JobError::Failed(failed_outcome(4, format!("oom: {reason}")))
}

/// The memory of all arguments.
pub(super) struct Buffers {
    /// Buffers as declared, and eight bytes for each scalar.
    memory: Vec<Buffer>,
    /// One pointer per buffer.
    pub(super) pointers: Vec<*mut c_void>,
}

impl Buffers {
    /// Total bytes of the arguments, or a failed outcome if they exceed the available memory.
    pub(super) fn size(arguments: &[Argument]) -> Result<u64, Outcome> {
        let bytes = arguments.iter().try_fold(0_u64, |sum, argument| {
            sum.checked_add(u64::try_from(argument.size_bytes()?).ok()?)
        });
        let available = limits::available_bytes().unwrap_or(u64::MAX);
        match bytes {
            Some(bytes) if bytes <= available => Ok(bytes),
            Some(bytes) => Err(failed_outcome(
                4,
                format!("oom: the arguments need {bytes} bytes, {available} are available"),
            )),
            None => Err(failed_outcome(
                4,
                "oom: the arguments do not fit into the address space",
            )),
        }
    }

    pub(super) fn new(arguments: &[Argument]) -> Result<Self, JobError> {
        let memory = arguments
            .iter()
            .map(|argument| Buffer::new(argument.size_bytes().unwrap_or(usize::MAX)))
            .collect::<Result<Vec<Buffer>, _>>()
            .map_err(|errno| out_of_memory(&format!("buffers: {errno}")))?;
        let pointers = memory.iter().map(Buffer::pointer).collect();
        Ok(Self { memory, pointers })
    }

    /// Writes the initial value of every argument, which touches every page.
    pub(super) fn reset(&mut self, job: &Job) {
        for (index, (argument, buffer)) in job.arguments.iter().zip(&mut self.memory).enumerate() {
            match argument {
                Argument::Scalar { dtype, value, .. } => {
                    buffer
                        .bytes_mut()
                        .copy_from_slice(&values::scalar(*dtype, *value));
                }
                Argument::Buffer {
                    dtype,
                    role: Role::Out,
                    ..
                } => {
                    values::poison(*dtype, buffer.bytes_mut());
                }
                Argument::Buffer { dtype, init, .. } => {
                    values::fill(*dtype, *init, job.seed, index, buffer.bytes_mut());
                }
            }
            buffer.write_canary();
        }
    }

    /// Index, declaration and memory of each buffer that the kernel writes.
    pub(super) fn outputs<'a>(
        &'a self,
        job: &'a Job,
    ) -> impl Iterator<Item = (usize, &'a Argument, &'a Buffer)> {
        let all = job.arguments.iter().zip(&self.memory).enumerate();
        all.filter_map(|(index, (argument, buffer))| match argument {
            Argument::Buffer {
                role: Role::Out | Role::InOut,
                ..
            } => Some((index, argument, buffer)),
            _ => None,
        })
    }

    pub(super) fn has_inout(&self, job: &Job) -> bool {
        let is_inout = |argument: &Argument| {
            matches!(
                argument,
                Argument::Buffer {
                    role: Role::InOut,
                    ..
                }
            )
        };
        job.arguments.iter().any(is_inout)
    }

    /// Hash of all buffers that the kernel must not change.
    pub(super) fn input_hash(&self, job: &Job) -> u64 {
        let all = job.arguments.iter().zip(&self.memory);
        all.fold(0, |hash, (argument, buffer)| match argument {
            Argument::Buffer {
                role: Role::Out | Role::InOut,
                ..
            } => hash,
            _ => XxHash3_64::oneshot_with_seed(hash, buffer.bytes()),
        })
    }

    pub(super) fn check_bounds(&self, job: &Job) -> Result<(), JobError> {
        let mut all = job.arguments.iter().zip(&self.memory);
        match all.find(|(_, buffer)| buffer.is_overrun()) {
            None => Ok(()),
            Some((argument, _)) => {
                let message = format!(
                    "out_of_bounds: the kernel wrote behind `{}`",
                    argument_name(argument)
                );
                Err(JobError::Failed(failed_outcome(4, message)))
            }
        }
    }

    pub(super) fn check_written(&self, job: &Job) -> Result<(), JobError> {
        for (_, argument, buffer) in self.outputs(job) {
            if let Argument::Buffer {
                name,
                dtype,
                role: Role::Out,
                ..
            } = argument
                && is_untouched(*dtype, buffer.bytes())
            {
                let message = format!("unwritten: nothing was written to `{name}`");
                return Err(JobError::Failed(failed_outcome(5, message)));
            }
        }
        Ok(())
    }

    /// Compares the outputs with the reference, if there is one. Returns the largest error.
    pub(super) fn check_outputs(
        &self,
        job: &Job,
        expected: Option<&ExpectedOutputs>,
    ) -> Result<Option<f64>, JobError> {
        let Some(expected) = expected else {
            return self.check_written(job).map(|()| None);
        };
        let fault = |error| JobError::Fault(format!("{}: {error}", expected.outputs.display()));
        let reference = fs::read(&expected.outputs).map_err(fault)?;
        let mut rest = reference.as_slice();
        let mut worst = 0.0_f64;
        for (_, argument, buffer) in self.outputs(job) {
            let Argument::Buffer { name, dtype, .. } = argument else {
                continue;
            };
            let (reference_bytes, remaining) = rest
                .split_at_checked(buffer.bytes().len())
                .unwrap_or((rest, &[]));
            rest = remaining;
            let found = buffer.bytes();
            let error = compare(name, *dtype, found, reference_bytes, &expected.tolerance);
            worst = worst.max(error.map_err(|mismatch| {
                JobError::Failed(Outcome {
                    check_error: mismatch.error,
                    ..failed_outcome(5, mismatch.message)
                })
            })?);
        }
        Ok(Some(worst))
    }
}

fn argument_name(argument: &Argument) -> &str {
    match argument {
        Argument::Buffer { name, .. } | Argument::Scalar { name, .. } => name,
    }
}

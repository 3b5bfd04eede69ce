//! The arguments of a kernel in memory: filled before the first call, checked after it.

use std::ffi::c_void;
use std::fs;

use twox_hash::XxHash3_64;

use super::compare::{compare, is_untouched};
use super::job::{Expected, Job, failure};
use super::limits;
use super::memory::Buffer;
use super::trial::{Argument, Outcome, Role};
use super::values;

/// What the worker's part of a job ends with where it is not a success.
pub(super) enum Stop {
    /// The kernel failed.
    Failed(Outcome),
    /// The machine did.
    Fault(String),
}

pub(super) fn out_of_memory(reason: &str) -> Stop {
    Stop::Failed(failure(4, format!("oom: {reason}")))
}

/// The memory of all arguments.
pub(super) struct Buffers {
    /// Buffers as declared, and eight bytes for each scalar.
    memory: Vec<Buffer>,
    /// To each of them.
    pub(super) pointers: Vec<*mut c_void>,
}

impl Buffers {
    /// Bytes that the arguments take, or the failure that they are more than there is.
    pub(super) fn size(arguments: &[Argument]) -> Result<u64, Outcome> {
        let bytes = arguments.iter().try_fold(0_u64, |sum, argument| {
            sum.checked_add(u64::try_from(argument.bytes()?).ok()?)
        });
        let available = limits::available_bytes().unwrap_or(u64::MAX);
        match bytes {
            Some(bytes) if bytes <= available => Ok(bytes),
            Some(bytes) => Err(failure(
                4,
                format!("oom: the arguments take {bytes} bytes, there are {available}"),
            )),
            None => Err(failure(
                4,
                "oom: the arguments do not fit into the address space",
            )),
        }
    }

    pub(super) fn new(arguments: &[Argument]) -> Result<Self, Stop> {
        let memory = arguments
            .iter()
            .map(|argument| Buffer::new(argument.bytes().unwrap_or(usize::MAX)))
            .collect::<Result<Vec<Buffer>, _>>()
            .map_err(|errno| out_of_memory(&format!("buffers: {errno}")))?;
        let pointers = memory.iter().map(Buffer::pointer).collect();
        Ok(Self { memory, pointers })
    }

    /// Gives every argument the value that it has before the first call, which touches every page.
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
            buffer.guard();
        }
    }

    /// Number, declaration and memory of what the kernel writes.
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

    pub(super) fn any_inout(&self, job: &Job) -> bool {
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

    /// One number for all that the kernel must not change.
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

    pub(super) fn check_bounds(&self, job: &Job) -> Result<(), Stop> {
        let mut all = job.arguments.iter().zip(&self.memory);
        match all.find(|(_, buffer)| buffer.is_overrun()) {
            None => Ok(()),
            Some((argument, _)) => {
                let message = format!(
                    "out_of_bounds: the kernel wrote behind `{}`",
                    name(argument)
                );
                Err(Stop::Failed(failure(4, message)))
            }
        }
    }

    pub(super) fn check_written(&self, job: &Job) -> Result<(), Stop> {
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
                return Err(Stop::Failed(failure(5, message)));
            }
        }
        Ok(())
    }

    /// Compares with the reference, where there is one; gives the largest error.
    pub(super) fn check_outputs(
        &self,
        job: &Job,
        expected: Option<&Expected>,
    ) -> Result<Option<f64>, Stop> {
        let Some(expected) = expected else {
            return self.check_written(job).map(|()| None);
        };
        let fault = |error| Stop::Fault(format!("{}: {error}", expected.outputs.display()));
        let reference = fs::read(&expected.outputs).map_err(fault)?;
        let mut rest = reference.as_slice();
        let mut worst = 0.0_f64;
        for (_, argument, buffer) in self.outputs(job) {
            let Argument::Buffer { name, dtype, .. } = argument else {
                continue;
            };
            let (mine, others) = rest
                .split_at_checked(buffer.bytes().len())
                .unwrap_or((rest, &[]));
            rest = others;
            let found = buffer.bytes();
            let error = compare(name, *dtype, found, mine, &expected.tolerance);
            worst = worst.max(error.map_err(|mismatch| {
                Stop::Failed(Outcome {
                    check_error: mismatch.error,
                    ..failure(5, mismatch.message)
                })
            })?);
        }
        Ok(Some(worst))
    }
}

fn name(argument: &Argument) -> &str {
    match argument {
        Argument::Buffer { name, .. } | Argument::Scalar { name, .. } => name,
    }
}

//! Device memory of a trial's arguments, and the check of its outputs.

use super::code::Code;
use super::driver::{Buffer, Context, Parameter};
use super::job::failed_outcome;
use crate::compare::{Tolerance, compare, is_untouched};
use crate::trial::{Argument, Check, Dtype, Init, Outcome, Role, Trial, Value};
use crate::values::{fill, poison};

/// Device arguments, in the order of the trial.
pub(super) struct DeviceArguments<'c> {
    all: Vec<DeviceArgument<'c>>,
    seed: u64,
}

enum DeviceArgument<'c> {
    Buffer {
        name: String,
        memory: Buffer<'c>,
        bytes: usize,
        dtype: Dtype,
        role: Role,
        init: Init,
    },
    Scalar {
        bits: u64,
        bytes: usize,
    },
}

impl<'c> DeviceArguments<'c> {
    /// Allocates the buffers. A value outside the range of its type is a failure of the trial.
    pub(super) fn allocate(
        context: &'c Context,
        trial: &Trial,
    ) -> Result<Result<Self, Outcome>, Code> {
        let mut all = Vec::new();
        for argument in &trial.arguments {
            all.push(match argument {
                Argument::Buffer {
                    name,
                    dtype,
                    role,
                    init,
                    ..
                } => {
                    let Some(bytes) = argument.size_bytes() else {
                        let reason = format!("constraint: buffer `{name}` is too large");
                        return Ok(Err(failed_outcome(1, reason)));
                    };
                    DeviceArgument::Buffer {
                        name: name.clone(),
                        memory: context.allocate(bytes)?,
                        bytes,
                        dtype: *dtype,
                        role: *role,
                        init: *init,
                    }
                }
                Argument::Scalar { name, dtype, value } => match scalar_bits(*dtype, *value) {
                    Some(bits) => DeviceArgument::Scalar {
                        bits,
                        bytes: dtype.size_bytes(),
                    },
                    None => {
                        let reason = format!(
                            "constraint: `{name}` is {value:?}, which does not fit its type"
                        );
                        return Ok(Err(failed_outcome(1, reason)));
                    }
                },
            });
        }
        let seed = trial.seed;
        Ok(Ok(Self { all, seed }))
    }

    pub(super) fn parameters(&self) -> Vec<Parameter<'_>> {
        let parameters = self.all.iter().map(|bound| match bound {
            DeviceArgument::Buffer { memory, .. } => Parameter::Buffer(memory),
            DeviceArgument::Scalar { bits, bytes } => Parameter::Scalar {
                bits: *bits,
                bytes: *bytes,
            },
        });
        parameters.collect()
    }

    /// Initializes the inputs and poisons buffers that are only written.
    pub(super) fn prepare(&self) -> Result<(), Code> {
        let mut values = Vec::new();
        for (index, bound) in self.all.iter().enumerate() {
            let DeviceArgument::Buffer {
                memory,
                bytes,
                dtype,
                role,
                init,
                ..
            } = bound
            else {
                continue;
            };
            values.resize(*bytes, 0);
            match role {
                Role::Out => poison(*dtype, &mut values),
                Role::In | Role::InOut => fill(*dtype, *init, self.seed, index, &mut values),
            }
            memory.upload(&values)?;
        }
        Ok(())
    }

    /// Compares the outputs with the expected ones, which are concatenated. Returns the largest error.
    ///
    /// Without expected outputs, only reports outputs that were not written at all.
    pub(super) fn check(
        &self,
        check: Option<(&Check, &[u8])>,
    ) -> Result<Result<Option<f64>, Outcome>, Code> {
        let mut largest: Option<f64> = None;
        let mut rest = check.map(|(_, reference)| reference);
        for bound in &self.all {
            let DeviceArgument::Buffer {
                name,
                memory,
                bytes,
                dtype,
                role: role @ (Role::Out | Role::InOut),
                ..
            } = bound
            else {
                continue;
            };
            let mut actual = memory.download()?;
            // The device allocates at least one byte, even for an empty buffer.
            actual.truncate(*bytes);
            if *role == Role::Out && is_untouched(*dtype, &actual) {
                let message = format!("unwritten: nothing was written to `{name}`");
                return Ok(Err(failed_outcome(5, message)));
            }
            let next = rest.and_then(|rest| rest.split_at_checked(*bytes));
            if let Some(((check, _), (expected, remaining))) = check.zip(next) {
                rest = Some(remaining);
                match compare_output(check, name, *dtype, (&actual, expected)) {
                    Ok(error) => {
                        largest = Some(largest.map_or(error, |maximum| maximum.max(error)))
                    }
                    Err(outcome) => return Ok(Err(outcome)),
                }
            }
        }
        Ok(Ok(largest))
    }

    /// Total bytes of the outputs, which is the size of the reference.
    pub(super) fn output_bytes(&self) -> usize {
        let outputs = self.all.iter().map(|bound| match bound {
            DeviceArgument::Buffer {
                bytes,
                role: Role::Out | Role::InOut,
                ..
            } => *bytes,
            _ => 0,
        });
        outputs.sum()
    }
}

/// Error of an output, or a failed outcome if it exceeds the tolerance.
fn compare_output(
    check: &Check,
    name: &str,
    dtype: Dtype,
    (found, expected): (&[u8], &[u8]),
) -> Result<f64, Outcome> {
    let tolerance = Tolerance {
        rtol: check.rtol,
        atol: check.atol,
        metric: check.metric,
    };
    let compared = compare(name, dtype, found, expected, &tolerance);
    compared.map_err(|mismatch| Outcome {
        check_error: mismatch.error,
        ..failed_outcome(5, mismatch.message)
    })
}

/// The value converted to its type, in the first bytes of the result.
fn scalar_bits(dtype: Dtype, value: Value) -> Option<u64> {
    let bytes = match (dtype, value) {
        (Dtype::I64, Value::Integer(value)) => value.to_ne_bytes().to_vec(),
        (Dtype::I32, Value::Integer(value)) => i32::try_from(value).ok()?.to_ne_bytes().to_vec(),
        (Dtype::I16, Value::Integer(value)) => i16::try_from(value).ok()?.to_ne_bytes().to_vec(),
        (Dtype::I8, Value::Integer(value)) => i8::try_from(value).ok()?.to_ne_bytes().to_vec(),
        (Dtype::U8, Value::Integer(value)) => u8::try_from(value).ok()?.to_ne_bytes().to_vec(),
        (Dtype::F64 | Dtype::F32 | Dtype::F16 | Dtype::Bf16, value) => float_bytes(dtype, value),
        (_, Value::Float(_)) => return None,
    };
    let mut bits = [0; 8];
    for (to, from) in bits.iter_mut().zip(bytes) {
        *to = from;
    }
    Some(u64::from_ne_bytes(bits))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "a number for a floating-point argument is rounded to its type"
)]
fn float_bytes(dtype: Dtype, value: Value) -> Vec<u8> {
    let value = match value {
        Value::Integer(value) => value as f64,
        Value::Float(value) => value,
    };
    match dtype {
        Dtype::F16 => half::f16::from_f64(value).to_ne_bytes().to_vec(),
        Dtype::Bf16 => half::bf16::from_f64(value).to_ne_bytes().to_vec(),
        Dtype::F32 => (value as f32).to_ne_bytes().to_vec(),
        _ => value.to_ne_bytes().to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scalar_has_its_types_bytes_first() {
        let bytes = |dtype, value| scalar_bits(dtype, value).map(u64::to_ne_bytes);
        let one = bytes(Dtype::F32, Value::Integer(1)).unwrap();
        assert_eq!(one[..4], 1.0_f32.to_ne_bytes());
        let minus = bytes(Dtype::I32, Value::Integer(-2)).unwrap();
        assert_eq!(minus[..4], (-2_i32).to_ne_bytes());
        let half = bytes(Dtype::F16, Value::Float(0.5)).unwrap();
        assert_eq!(half[..2], half::f16::from_f32(0.5).to_ne_bytes());
    }

    #[test]
    fn a_value_outside_its_type_is_rejected() {
        assert_eq!(scalar_bits(Dtype::I32, Value::Integer(1 << 40)), None);
        assert_eq!(scalar_bits(Dtype::U8, Value::Integer(-1)), None);
        assert_eq!(scalar_bits(Dtype::I64, Value::Float(1.5)), None);
    }
}

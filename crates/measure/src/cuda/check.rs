//! The arguments of a trial on the device, and whether the kernel left the right answer in them.

use super::code::Code;
use super::driver::{Buffer, Context, Parameter};
use super::job::failure;
use crate::compare::{Tolerance, compare, is_untouched};
use crate::trial::{Argument, Check, Dtype, Init, Outcome, Role, Trial, Value};
use crate::values::{fill, poison};

/// The arguments, in the order of the trial.
pub(super) struct Arguments<'c> {
    all: Vec<Bound<'c>>,
    seed: u64,
}

enum Bound<'c> {
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

impl<'c> Arguments<'c> {
    /// Allocates the buffers. A value that its type does not hold is a failure of the trial.
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
                    let Some(bytes) = argument.bytes() else {
                        let reason = format!("constraint: buffer `{name}` is too large");
                        return Ok(Err(failure(1, reason)));
                    };
                    Bound::Buffer {
                        name: name.clone(),
                        memory: context.allocate(bytes)?,
                        bytes,
                        dtype: *dtype,
                        role: *role,
                        init: *init,
                    }
                }
                Argument::Scalar { name, dtype, value } => match scalar(*dtype, *value) {
                    Some(bits) => Bound::Scalar {
                        bits,
                        bytes: dtype.bytes(),
                    },
                    None => {
                        let reason = format!(
                            "constraint: `{name}` is {value:?}, which its type does not hold"
                        );
                        return Ok(Err(failure(1, reason)));
                    }
                },
            });
        }
        let seed = trial.seed;
        Ok(Ok(Self { all, seed }))
    }

    pub(super) fn parameters(&self) -> Vec<Parameter<'_>> {
        let parameters = self.all.iter().map(|bound| match bound {
            Bound::Buffer { memory, .. } => Parameter::Buffer(memory),
            Bound::Scalar { bits, bytes } => Parameter::Scalar {
                bits: *bits,
                bytes: *bytes,
            },
        });
        parameters.collect()
    }

    /// Gives what is read its values and poisons what is only written.
    pub(super) fn prepare(&self) -> Result<(), Code> {
        let mut values = Vec::new();
        for (at, bound) in self.all.iter().enumerate() {
            let Bound::Buffer {
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
                Role::In | Role::InOut => fill(*dtype, *init, self.seed, at, &mut values),
            }
            memory.upload(&values)?;
        }
        Ok(())
    }

    /// Compares what the kernel wrote with the right outputs, which come one after the other.
    /// Without, only finds outputs that nothing was written to. Gives the largest error.
    pub(super) fn check(
        &self,
        check: Option<(&Check, &[u8])>,
    ) -> Result<Result<Option<f64>, Outcome>, Code> {
        let mut largest: Option<f64> = None;
        let mut rest = check.map(|(_, reference)| reference);
        for bound in &self.all {
            let Bound::Buffer {
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
            let mut got = memory.download()?;
            // The device gave at least one byte, also to an empty buffer.
            got.truncate(*bytes);
            if *role == Role::Out && is_untouched(*dtype, &got) {
                let message = format!("unwritten: nothing was written to `{name}`");
                return Ok(Err(failure(5, message)));
            }
            let next = rest.and_then(|rest| rest.split_at_checked(*bytes));
            if let Some(((check, _), (want, after))) = check.zip(next) {
                rest = Some(after);
                match judge(check, name, *dtype, (&got, want)) {
                    Ok(error) => largest = Some(largest.map_or(error, |most| most.max(error))),
                    Err(outcome) => return Ok(Err(outcome)),
                }
            }
        }
        Ok(Ok(largest))
    }

    /// Bytes that a reference for these has.
    pub(super) fn output_bytes(&self) -> usize {
        let outputs = self.all.iter().map(|bound| match bound {
            Bound::Buffer {
                bytes,
                role: Role::Out | Role::InOut,
                ..
            } => *bytes,
            _ => 0,
        });
        outputs.sum()
    }
}

/// The error of an output, or the failure that it is.
fn judge(
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
        ..failure(5, mismatch.message)
    })
}

/// The value in its type, its bytes first in memory.
fn scalar(dtype: Dtype, value: Value) -> Option<u64> {
    let bytes = match (dtype, value) {
        (Dtype::I64, Value::Integer(value)) => value.to_ne_bytes().to_vec(),
        (Dtype::I32, Value::Integer(value)) => i32::try_from(value).ok()?.to_ne_bytes().to_vec(),
        (Dtype::I16, Value::Integer(value)) => i16::try_from(value).ok()?.to_ne_bytes().to_vec(),
        (Dtype::I8, Value::Integer(value)) => i8::try_from(value).ok()?.to_ne_bytes().to_vec(),
        (Dtype::U8, Value::Integer(value)) => u8::try_from(value).ok()?.to_ne_bytes().to_vec(),
        (Dtype::F64 | Dtype::F32 | Dtype::F16 | Dtype::Bf16, value) => float(dtype, value),
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
fn float(dtype: Dtype, value: Value) -> Vec<u8> {
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
        let bytes = |dtype, value| scalar(dtype, value).map(u64::to_ne_bytes);
        let one = bytes(Dtype::F32, Value::Integer(1)).unwrap();
        assert_eq!(one[..4], 1.0_f32.to_ne_bytes());
        let minus = bytes(Dtype::I32, Value::Integer(-2)).unwrap();
        assert_eq!(minus[..4], (-2_i32).to_ne_bytes());
        let half = bytes(Dtype::F16, Value::Float(0.5)).unwrap();
        assert_eq!(half[..2], half::f16::from_f32(0.5).to_ne_bytes());
    }

    #[test]
    fn a_value_that_its_type_does_not_hold_is_refused() {
        assert_eq!(scalar(Dtype::I32, Value::Integer(1 << 40)), None);
        assert_eq!(scalar(Dtype::U8, Value::Integer(-1)), None);
        assert_eq!(scalar(Dtype::I64, Value::Float(1.5)), None);
    }
}

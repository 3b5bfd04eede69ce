//! Values of a kernel's arguments, identical for a seed in every process and on every device.
//!
//! Each element is computed from its own index (a counter through the finalizer of SplitMix64). So values
//! do not depend on order, threads or device.

use half::{bf16, f16};

use super::trial::{Argument, Dtype, Init, Value};

/// Increment of SplitMix64 (Steele, Lea, Flood 2014): the fractional part of the golden ratio in 64 bits.
const GOLDEN_RATIO_BITS: u64 = 0x9E37_79B9_7F4A_7C15;

impl Dtype {
    /// Bytes per element.
    pub(crate) fn size_bytes(self) -> usize {
        match self {
            Self::F64 | Self::I64 => 8,
            Self::F32 | Self::I32 => 4,
            Self::F16 | Self::Bf16 | Self::I16 => 2,
            Self::I8 | Self::U8 => 1,
        }
    }

    /// Value of an unwritten element: a NaN that arithmetic does not produce, or 0xA5 in every byte.
    pub(crate) fn poison(self) -> &'static [u8] {
        const F64: [u8; 8] = 0x7FFC_A5A5_A5A5_A5A5_u64.to_ne_bytes();
        const F32: [u8; 4] = 0x7FE5_A5A5_u32.to_ne_bytes();
        const F16: [u8; 2] = 0x7FA5_u16.to_ne_bytes();
        const BF16: [u8; 2] = 0x7FE5_u16.to_ne_bytes();
        match self {
            Self::F64 => &F64,
            Self::F32 => &F32,
            Self::F16 => &F16,
            Self::Bf16 => &BF16,
            Self::I64 => &[0xA5; 8],
            Self::I32 => &[0xA5; 4],
            Self::I16 => &[0xA5; 2],
            Self::I8 | Self::U8 => &[0xA5],
        }
    }

    /// Minimum and maximum of an integer type; `None` for floats.
    fn integer_range(self) -> Option<(i64, i64)> {
        Some(match self {
            Self::F64 | Self::F32 | Self::F16 | Self::Bf16 => return None,
            Self::I64 => (i64::MIN, i64::MAX),
            Self::I32 => (i32::MIN.into(), i32::MAX.into()),
            Self::I16 => (i16::MIN.into(), i16::MAX.into()),
            Self::I8 => (i8::MIN.into(), i8::MAX.into()),
            Self::U8 => (0, u8::MAX.into()),
        })
    }
}

impl Argument {
    /// Bytes of a buffer, `None` if they exceed the address space; 8 for a scalar.
    pub(crate) fn size_bytes(&self) -> Option<usize> {
        match self {
            Self::Scalar { .. } => Some(8),
            Self::Buffer { dtype, shape, .. } => {
                shape.iter().try_fold(dtype.size_bytes(), |bytes, extent| {
                    bytes.checked_mul(usize::try_from(*extent).ok()?)
                })
            }
        }
    }
}

/// Fills the buffer of argument `argument` (from 0) with the values of `init` and `seed`.
pub(crate) fn fill(dtype: Dtype, init: Init, seed: u64, argument: usize, bytes: &mut [u8]) {
    let key = mix_bits(seed ^ mix_bits(to_u64(argument).wrapping_add(1)));
    match dtype.integer_range() {
        None => {
            let real = |index| real_value(init, key, index);
            match dtype {
                Dtype::F64 => fill_elements(bytes, |index| real(index).to_ne_bytes()),
                Dtype::F16 => {
                    fill_elements(bytes, |index| f16::from_f64(real(index)).to_ne_bytes())
                }
                Dtype::Bf16 => {
                    fill_elements(bytes, |index| bf16::from_f64(real(index)).to_ne_bytes())
                }
                _ => fill_elements(bytes, |index| to_f32(real(index)).to_ne_bytes()),
            }
        }
        Some(range) => {
            // The value is in range, so its low bytes are the value in the shorter type.
            let low = |index| integer_value(init, key, index, range);
            match dtype.size_bytes() {
                8 => fill_elements(bytes, |index| low(index).to_ne_bytes()),
                4 => fill_elements(bytes, |index| truncate_integer::<4>(low(index))),
                2 => fill_elements(bytes, |index| truncate_integer::<2>(low(index))),
                _ => fill_elements(bytes, |index| truncate_integer::<1>(low(index))),
            }
        }
    }
}

/// Fills the buffer with poison.
pub(crate) fn poison(dtype: Dtype, bytes: &mut [u8]) {
    let pattern = dtype.poison();
    for element in bytes.chunks_exact_mut(pattern.len()) {
        element.copy_from_slice(pattern);
    }
}

/// A scalar in its argument slot of eight bytes.
///
/// Half precision is passed as `float`: the compiler's conversion supports every kernel's half type.
pub(crate) fn scalar(dtype: Dtype, value: Value) -> [u8; 8] {
    let real = match value {
        Value::Float(real) => real,
        Value::Integer(integer) => to_f64(integer),
    };
    let Some((low, high)) = dtype.integer_range() else {
        return match dtype {
            Dtype::F64 => real.to_ne_bytes(),
            _ => pad_bytes(to_f32(real).to_ne_bytes()),
        };
    };
    let integer = match value {
        Value::Integer(integer) => integer,
        Value::Float(real) => to_i64(real),
    }
    .clamp(low, high);
    match dtype.size_bytes() {
        8 => integer.to_ne_bytes(),
        4 => pad_bytes(truncate_integer::<4>(integer)),
        2 => pad_bytes(truncate_integer::<2>(integer)),
        _ => pad_bytes(truncate_integer::<1>(integer)),
    }
}

fn real_value(init: Init, key: u64, index: u64) -> f64 {
    match init {
        Init::Constant { value } => value,
        Init::Uniform { low, high } => {
            // 52 random bits as the mantissa of 1.0: uniform in [1, 2).
            let unit = f64::from_bits((random_word(key, index) >> 12) | 1.0_f64.to_bits()) - 1.0;
            low + unit * (high - low)
        }
        Init::Count { modulus } => to_f64(count_value(index, modulus)),
    }
}

fn integer_value(init: Init, key: u64, index: u64, (minimum, maximum): (i64, i64)) -> i64 {
    match init {
        Init::Constant { value } => to_i64(value.round()).clamp(minimum, maximum),
        Init::Count { modulus } => count_value(index, modulus).clamp(minimum, maximum),
        Init::Uniform { low, high } => {
            let low = to_i64(low.ceil()).clamp(minimum, maximum);
            let high = to_i64(high.floor()).clamp(low, maximum);
            let span = i128::from(high) - i128::from(low) + 1;
            let above = (i128::from(random_word(key, index)) * span) >> 64;
            i64::try_from(i128::from(low) + above).unwrap_or(high)
        }
    }
}

fn count_value(index: u64, modulus: i64) -> i64 {
    let modulus = u64::try_from(modulus).unwrap_or(1).max(1);
    i64::try_from(index % modulus).unwrap_or(0)
}

fn random_word(key: u64, index: u64) -> u64 {
    mix_bits(key.wrapping_add(GOLDEN_RATIO_BITS.wrapping_mul(index.wrapping_add(1))))
}

/// The finalizer of SplitMix64.
fn mix_bits(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

fn fill_elements<const N: usize>(bytes: &mut [u8], element: impl Fn(u64) -> [u8; N]) {
    let (elements, _) = bytes.as_chunks_mut::<N>();
    for (index, slot) in (0..).zip(elements) {
        *slot = element(index);
    }
}

fn truncate_integer<const N: usize>(integer: i64) -> [u8; N] {
    let bytes = integer.to_le_bytes();
    let mut low: [u8; N] = std::array::from_fn(|index| bytes.get(index).copied().unwrap_or(0));
    if cfg!(target_endian = "big") {
        low.reverse();
    }
    low
}

fn pad_bytes<const N: usize>(bytes: [u8; N]) -> [u8; 8] {
    std::array::from_fn(|index| bytes.get(index).copied().unwrap_or(0))
}

fn to_u64(index: usize) -> u64 {
    u64::try_from(index).unwrap_or(u64::MAX)
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "rounding to the nearest float is meant"
)]
fn to_f32(real: f64) -> f32 {
    real as f32
}

#[expect(
    clippy::cast_precision_loss,
    reason = "rounding to the nearest float is meant"
)]
fn to_f64(integer: i64) -> f64 {
    integer as f64
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "callers clamp; the cast saturates"
)]
fn to_i64(real: f64) -> i64 {
    real as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: Init = Init::Uniform {
        low: -0.5,
        high: 0.5,
    };

    fn floats(init: Init, seed: u64, argument: usize, count: usize) -> Vec<f32> {
        let mut bytes = vec![0; count * 4];
        fill(Dtype::F32, init, seed, argument, &mut bytes);
        let decode = |chunk: &[u8]| f32::from_ne_bytes(chunk.try_into().unwrap());
        bytes.chunks(4).map(decode).collect()
    }

    #[test]
    fn values_depend_on_seed_argument_and_position_only() {
        let values = floats(UNIT, 7, 1, 64);
        assert_eq!(values, floats(UNIT, 7, 1, 64));
        assert_eq!(values[..16], floats(UNIT, 7, 1, 16));
        assert_ne!(values, floats(UNIT, 8, 1, 64));
        assert_ne!(values, floats(UNIT, 7, 2, 64));
    }

    /// Stored timings refer to seeds, so the values of a seed must never change.
    #[test]
    fn values_of_a_seed_are_frozen() {
        let values = floats(UNIT, 42, 0, 3);
        assert_eq!(values, [-0.307_044_9, -0.149_920_24, -0.370_842_87]);
    }

    #[test]
    fn uniform_values_fill_their_range_evenly() {
        let values = floats(UNIT, 1, 0, 100_000);
        let mean = values.iter().sum::<f32>() / 100_000.0;
        assert!(mean.abs() < 0.005, "{mean}");
        assert!(values.iter().all(|value| (-0.5..=0.5).contains(value)));
        assert!(values.iter().any(|value| *value > 0.499));
        assert!(values.iter().any(|value| *value < -0.499));
    }

    #[test]
    fn uniform_integers_reach_both_ends_and_stay_in_their_type() {
        let mut bytes = vec![0; 4096];
        let three = Init::Uniform {
            low: -1.0,
            high: 1.0,
        };
        fill(Dtype::I8, three, 3, 0, &mut bytes);
        let mut distinct: Vec<i8> = bytes.iter().map(|byte| byte.cast_signed()).collect();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct, [-1, 0, 1]);
        let wide = Init::Uniform {
            low: -1e30,
            high: 1e30,
        };
        fill(Dtype::U8, wide, 3, 0, &mut bytes);
        assert!(bytes.contains(&0) && bytes.contains(&255));
    }

    #[test]
    fn counting_wraps_at_its_modulus() {
        let mut bytes = vec![0; 12];
        fill(Dtype::I16, Init::Count { modulus: 4 }, 0, 0, &mut bytes);
        let values: Vec<i16> = bytes
            .chunks(2)
            .map(|chunk| i16::from_ne_bytes(chunk.try_into().unwrap()))
            .collect();
        assert_eq!(values, [0, 1, 2, 3, 0, 1]);
    }

    #[test]
    fn poison_of_floats_is_not_a_number() {
        let mut bytes = vec![0; 8];
        poison(Dtype::F16, &mut bytes);
        assert!(f16::from_ne_bytes([bytes[0], bytes[1]]).is_nan());
        poison(Dtype::Bf16, &mut bytes);
        assert!(bf16::from_ne_bytes([bytes[0], bytes[1]]).is_nan());
        poison(Dtype::F32, &mut bytes);
        assert!(f32::from_ne_bytes(bytes[..4].try_into().unwrap()).is_nan());
        poison(Dtype::F64, &mut bytes);
        assert!(f64::from_ne_bytes(bytes.try_into().unwrap()).is_nan());
    }

    #[test]
    fn scalars_lie_at_the_start_of_their_slot() {
        let slot = scalar(Dtype::I32, Value::Integer(-2));
        assert_eq!(i32::from_ne_bytes(slot[..4].try_into().unwrap()), -2);
        let slot = scalar(Dtype::F32, Value::Integer(3));
        assert_eq!(f32::from_ne_bytes(slot[..4].try_into().unwrap()), 3.0);
        let slot = scalar(Dtype::Bf16, Value::Float(0.5));
        assert_eq!(f32::from_ne_bytes(slot[..4].try_into().unwrap()), 0.5);
        let slot = scalar(Dtype::I64, Value::Float(9.0));
        assert_eq!(i64::from_ne_bytes(slot), 9);
    }

    #[test]
    fn a_shape_beyond_the_address_space_has_no_size() {
        let argument = |shape: Vec<u64>| Argument::Buffer {
            name: "A".into(),
            dtype: Dtype::F64,
            shape,
            role: super::super::trial::Role::In,
            init: UNIT,
        };
        assert_eq!(argument(vec![3, 5]).size_bytes(), Some(120));
        assert_eq!(argument(vec![u64::MAX, 2]).size_bytes(), None);
    }
}

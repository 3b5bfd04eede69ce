//! Sort keys as bytes and numbers. Floats that compare equal have equal keys.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray as _};
use arrow::datatypes::{ArrowPrimitiveType, DataType, Float16Type, Float32Type, Float64Type};

/// The first 16 bytes as a number, padded with zeros.
pub fn key_prefix(bytes: &[u8]) -> u128 {
    let mut first = [0; size_of::<u128>()];
    for (to, from) in first.iter_mut().zip(bytes) {
        *to = *from;
    }
    u128::from_be_bytes(first)
}

/// A sort key as bytes, with quick access to the first 16 of them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LongKey {
    prefix: u128,
    bytes: Box<[u8]>,
}

impl LongKey {
    /// Compares the key with the bytes of another one.
    pub fn compare_bytes(&self, bytes: &[u8]) -> Ordering {
        let by_prefix = self.prefix.cmp(&key_prefix(bytes));
        by_prefix.then_with(|| self.bytes.as_ref().cmp(bytes))
    }

    /// Returns the bytes of the key.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl From<&[u8]> for LongKey {
    fn from(bytes: &[u8]) -> Self {
        Self {
            prefix: key_prefix(bytes),
            bytes: bytes.into(),
        }
    }
}

/// Replaces zeros by one zero, and NaN by one NaN of each sign. The order of other floats is unchanged.
pub fn normalize_floats(values: ArrayRef) -> ArrayRef {
    match values.data_type() {
        DataType::Float64 => {
            let values = values.as_primitive::<Float64Type>();
            let equal = |value: f64| match value {
                0.0 => 0.0,
                _ if value.is_nan() => f64::NAN.copysign(value),
                _ => value,
            };
            Arc::new(values.unary::<_, Float64Type>(equal))
        }
        DataType::Float32 => {
            let values = values.as_primitive::<Float32Type>();
            let equal = |value: f32| match value {
                0.0 => 0.0,
                _ if value.is_nan() => f32::NAN.copysign(value),
                _ => value,
            };
            Arc::new(values.unary::<_, Float32Type>(equal))
        }
        DataType::Float16 => {
            type Half = <Float16Type as ArrowPrimitiveType>::Native;
            let values = values.as_primitive::<Float16Type>();
            let equal = |value: Half| {
                // Infinity is 0x7c00, and all greater values are NaN.
                match value.to_bits() & 0x7fff {
                    0 => Half::from_bits(0),
                    0x7c01.. => Half::from_bits(value.to_bits() & 0x8000 | 0x7e00),
                    _ => value,
                }
            };
            Arc::new(values.unary::<_, Float16Type>(equal))
        }
        _ => values,
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Array as _, Float32Array, Float64Array};
    use arrow::row::{RowConverter, SortField};

    use super::*;

    #[test]
    fn zeros_and_nans_are_equal_and_others_in_order() {
        let values = [-1e300, -1.0, -0.0, 0.0, 2.5, f64::INFINITY];
        let array = normalize_floats(Arc::new(Float64Array::from_iter_values(values)));
        let converter = RowConverter::new(vec![SortField::new(DataType::Float64)]).unwrap();
        let rows = converter.convert_columns(&[array]).unwrap();
        let keys: Vec<u128> = rows.iter().map(|row| key_prefix(row.data())).collect();
        assert!(keys.is_sorted() && keys[2] == keys[3] && keys[1] < keys[2] && keys[3] < keys[4]);
        let nans = [f32::NAN, f32::from_bits(0x7f80_0001), -f32::NAN, -0.0];
        let nans = normalize_floats(Arc::new(Float32Array::from_iter(nans.map(Some))));
        let nans = nans.as_primitive::<Float32Type>();
        let bits: Vec<u32> = nans.values().iter().map(|value| value.to_bits()).collect();
        assert_eq!(bits[0], bits[1]);
        assert_ne!(bits[0], bits[2]);
        assert_eq!((bits[3], nans.null_count()), (0, 0));
    }
}

//! A buffer of many values in chunks, which finds the n-th smallest one.

use arrow::array::{Array as _, ArrayRef, AsArray as _};
use arrow::buffer::ScalarBuffer;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type};
use datafusion::common::Result;

/// Minimum number of values for which a histogram narrows the search.
const MIN_HISTOGRAM_VALUES: usize = 1 << 16;

/// Minimum length of a chunk that is stored without a copy.
const MIN_SHARED_CHUNK: usize = 1 << 12;

/// Number of leading bits that form a bucket of the histogram.
const BUCKET_BITS: u32 = 16;

/// Values in any order.
#[derive(Clone, Debug, Default)]
pub(super) struct ValueBuffer {
    /// Values that were added one by one.
    single: Vec<f64>,
    /// Shared chunks.
    pieces: Vec<ScalarBuffer<f64>>,
}

impl From<Vec<f64>> for ValueBuffer {
    fn from(single: Vec<f64>) -> Self {
        Self {
            single,
            pieces: Vec::new(),
        }
    }
}

impl ValueBuffer {
    pub(super) fn push(&mut self, value: f64) {
        self.single.push(value);
    }

    /// Adds the numbers of an array that are not NULL.
    pub(super) fn push_array(&mut self, array: &ArrayRef) -> Result<()> {
        let numbers = cast(array, &DataType::Float64)?;
        let numbers = numbers.as_primitive::<Float64Type>();
        if numbers.null_count() > 0 {
            self.single.extend(numbers.iter().flatten());
        } else if numbers.len() < MIN_SHARED_CHUNK {
            self.single.extend_from_slice(numbers.values());
        } else {
            self.pieces.push(numbers.values().clone());
        }
        Ok(())
    }

    /// Appends the values of another buffer.
    pub(super) fn append(self, others: Self) -> Self {
        let mut all = self.into_vec();
        others
            .slices()
            .for_each(|slice| all.extend_from_slice(slice));
        Self::from(all)
    }

    /// All values in one vector.
    pub(super) fn into_vec(self) -> Vec<f64> {
        if self.pieces.is_empty() {
            return self.single;
        }
        let mut all = Vec::with_capacity(self.len());
        self.slices().for_each(|slice| all.extend_from_slice(slice));
        all
    }

    pub(super) fn len(&self) -> usize {
        let pieces = self.pieces.iter().map(|piece| piece.len());
        self.single.len() + pieces.sum::<usize>()
    }

    pub(super) fn bytes(&self) -> usize {
        let pieces = self.pieces.iter().map(|piece| piece.inner().len());
        self.single.capacity() * size_of::<f64>() + pieces.sum::<usize>()
    }

    fn slices(&self) -> impl Iterator<Item = &[f64]> {
        let pieces = self.pieces.iter().map(AsRef::as_ref);
        pieces.chain(std::iter::once(self.single.as_slice()))
    }

    /// The value at a position in sorted order ([`f64::total_cmp`]), and the next one, which is the same for the last
    /// value.
    pub(super) fn nth_and_next(self, place: usize) -> Option<(f64, f64)> {
        let (mut few, place) = match self.len() {
            MIN_HISTOGRAM_VALUES.. => self.bucket_of_nth(place)?,
            _ => (self.into_vec(), place),
        };
        if place >= few.len() {
            return None;
        }
        let (_, &mut found, above) = few.select_nth_unstable_by(place, f64::total_cmp);
        let next = above.iter().copied().min_by(f64::total_cmp);
        Some((found, next.unwrap_or(found)))
    }

    /// The values of the buckets that contain the value at a sorted position and its successor, and the position among
    /// them.
    fn bucket_of_nth(self, place: usize) -> Option<(Vec<f64>, usize)> {
        let mut counts = vec![0_usize; 1 << BUCKET_BITS];
        for value in self.slices().flatten() {
            *counts.get_mut(bucket(*value))? += 1;
        }
        let next = (place + 1).min(self.len().checked_sub(1)?);
        let (mut before, mut range) = (0, None);
        let mut skipped = 0;
        for (bits, count) in counts.into_iter().enumerate() {
            let after = before + count;
            if range.is_none() && place < after {
                range = Some((bits, bits));
                skipped = before;
            }
            if let Some((first, _)) = range
                && next < after
            {
                range = Some((first, bits));
                break;
            }
            before = after;
        }
        let (first, last) = range?;
        let is_near = |value: &&f64| (first..=last).contains(&bucket(**value));
        let near = self.slices().flatten().filter(is_near).copied();
        Some((near.collect(), place - skipped))
    }
}

/// Leading bits of a number, in an encoding that sorts like the numbers.
fn bucket(value: f64) -> usize {
    let bits = value.to_bits();
    let ordered = match value.is_sign_negative() {
        true => !bits,
        false => bits | (1 << 63),
    };
    usize::try_from(ordered >> (u64::BITS - BUCKET_BITS)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::Float64Array;

    use super::*;

    /// Values of all kinds, enough for a histogram, in chunks and one by one.
    #[test]
    fn a_value_is_found_by_its_place() {
        let mut random = fastrand::Rng::with_seed(5);
        for round in 0..12 {
            let (mut gathered, mut all) = (ValueBuffer::default(), Vec::new());
            for _ in 0..random.usize(1..5) {
                let count = random.usize(1..3 * MIN_HISTOGRAM_VALUES);
                let value = |random: &mut fastrand::Rng| match round % 4 {
                    0 => random.f64() * 1e6,
                    1 => f64::from(random.i8(..)) / 4.0,
                    2 => f64::from_bits(random.u64(..)),
                    _ => 7.5,
                };
                let mut values: Vec<f64> = (0..count).map(|_| value(&mut random)).collect();
                values.extend([0.0, -0.0, f64::NAN, -f64::NAN, f64::INFINITY, f64::MIN]);
                all.extend_from_slice(&values);
                match random.bool() {
                    true => values.into_iter().for_each(|value| gathered.push(value)),
                    false => {
                        let array: ArrayRef = Arc::new(Float64Array::from(values));
                        gathered.push_array(&array).unwrap();
                    }
                }
            }
            all.sort_unstable_by(f64::total_cmp);
            assert_eq!(gathered.len(), all.len());
            let last = all.len() - 1;
            let place = [0, last, last / 2, random.usize(0..=last)][round % 3];
            let bits = |(one, next): (f64, f64)| (one.to_bits(), next.to_bits());
            let wanted = (all[place], all[(place + 1).min(last)]);
            assert_eq!(
                gathered.nth_and_next(place).map(bits),
                Some(bits(wanted)),
                "{round}"
            );
        }
        assert!(ValueBuffer::default().nth_and_next(0).is_none());
    }
}

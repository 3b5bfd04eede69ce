//! Frequencies of the values of a group.
//!
//! Values are stored in Arrow's row format, whose bytes are equal and sorted exactly as the values are. NaN sorts after
//! all numbers, and zeros have no sign.

use std::collections::HashMap;
use std::sync::Arc;

use ahash::RandomState;
use arrow::array::{Array as _, ArrayRef, AsArray as _, MapArray, StructArray, UInt64Array};
use arrow::buffer::OffsetBuffer;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, FieldRef, Fields, Float32Type, Float64Type, UInt64Type};
use arrow::row::{RowConverter, SortField};
use datafusion::common::utils::SingleRowListArrayBuilder;
use datafusion::common::{Result, ScalarValue, exec_datafusion_err};
use datafusion::logical_expr::Accumulator;

/// Result that is computed from the counts.
#[derive(Clone, Copy, Debug)]
pub(super) enum CountResult {
    Mode,
    Quantile,
    Histogram,
}

/// Type of the values; the value type for dictionaries.
pub(super) fn value_type(of: &DataType) -> &DataType {
    match of {
        DataType::Dictionary(_, values) => values,
        other => other,
    }
}

/// The entries field of a map from values to counts.
pub(super) fn map_entries_field(value: &DataType) -> FieldRef {
    let fields = map_fields(value);
    Arc::new(Field::new("entries", DataType::Struct(fields), false))
}

fn map_fields(value: &DataType) -> Fields {
    let key = Field::new("key", value.clone(), false);
    Fields::from(vec![key, Field::new("value", DataType::UInt64, true)])
}

/// Distinct values of a group with their counts.
#[derive(Debug)]
pub(super) struct ValueCounts {
    asked: CountResult,
    share: f64,
    /// Whether each value counts once.
    distinct: bool,
    of: DataType,
    rows: RowConverter,
    counts: HashMap<Box<[u8]>, u64, RandomState>,
    key_bytes: usize,
}

impl ValueCounts {
    /// Creates an empty set. `share` is for quantiles; with `distinct` each value counts once.
    pub(super) fn new(
        asked: CountResult,
        of: &DataType,
        share: f64,
        distinct: bool,
    ) -> Result<Self> {
        Ok(Self {
            asked,
            share,
            distinct,
            of: of.clone(),
            rows: RowConverter::new(vec![SortField::new(of.clone())])?,
            counts: HashMap::default(),
            key_bytes: 0,
        })
    }

    /// Adds values. `times` returns the count of the value in a row.
    fn add(&mut self, values: &ArrayRef, times: impl Fn(usize) -> u64) -> Result<()> {
        let values = canonical_floats(&cast(values, &self.of)?);
        let valid = values.logical_nulls();
        let rows = self.rows.convert_columns(&[values])?;
        for (place, row) in rows.iter().enumerate() {
            if valid.as_ref().is_some_and(|valid| valid.is_null(place)) {
                continue;
            }
            let times = times(place);
            match self.counts.get_mut(row.as_ref()) {
                Some(count) => *count += times,
                None => {
                    self.key_bytes += row.as_ref().len();
                    self.counts.insert(row.as_ref().into(), times);
                }
            }
        }
        Ok(())
    }

    /// Values in sorted order, with their counts.
    fn sorted_counts(&self) -> Vec<(&[u8], u64)> {
        let count = |count: u64| if self.distinct { 1 } else { count };
        let counts = self.counts.iter();
        let mut sorted: Vec<(&[u8], u64)> = counts
            .map(|(value, times)| (value.as_ref(), count(*times)))
            .collect();
        sorted.sort_unstable();
        sorted
    }

    /// Decodes values to an array.
    fn decode_values<'a>(&self, values: impl IntoIterator<Item = &'a [u8]>) -> Result<ArrayRef> {
        let parser = self.rows.parser();
        let rows = values.into_iter().map(|value| parser.parse(value));
        let columns = self.rows.convert_rows(rows)?;
        let column = columns.first();
        column
            .cloned()
            .ok_or_else(|| exec_datafusion_err!("expected a column of values"))
    }

    fn decode_scalar(&self, value: Option<&[u8]>) -> Result<ScalarValue> {
        match value {
            Some(value) => ScalarValue::try_from_array(&self.decode_values([value])?, 0),
            None => ScalarValue::try_from(&self.of),
        }
    }

    /// A map of all values and their counts.
    fn map(&self) -> Result<ScalarValue> {
        let sorted = self.sorted_counts();
        if sorted.is_empty() {
            return ScalarValue::try_from(&DataType::Map(map_entries_field(&self.of), true));
        }
        let keys = self.decode_values(sorted.iter().map(|(value, _)| *value))?;
        let counts: UInt64Array = sorted.iter().map(|(_, count)| Some(*count)).collect();
        let columns: Vec<ArrayRef> = vec![keys, Arc::new(counts)];
        let pairs = StructArray::try_new(map_fields(&self.of), columns, None)?;
        let offsets = OffsetBuffer::from_lengths([sorted.len()]);
        let map = MapArray::try_new(map_entries_field(&self.of), offsets, pairs, None, true)?;
        Ok(ScalarValue::Map(Arc::new(map)))
    }
}

/// Replaces -0.0 by 0.0 and all NaN by one.
fn canonical_floats(values: &ArrayRef) -> ArrayRef {
    match values.data_type() {
        DataType::Float64 => {
            let one = |value: f64| {
                if value.is_nan() {
                    f64::NAN
                } else {
                    value + 0.0
                }
            };
            let values = values.as_primitive::<Float64Type>();
            Arc::new(values.unary::<_, Float64Type>(one)) as ArrayRef
        }
        DataType::Float32 => {
            let one = |value: f32| {
                if value.is_nan() {
                    f32::NAN
                } else {
                    value + 0.0
                }
            };
            let values = values.as_primitive::<Float32Type>();
            Arc::new(values.unary::<_, Float32Type>(one)) as ArrayRef
        }
        _ => Arc::clone(values),
    }
}

/// Value at a fraction of the sorted values: number ceil(share n) of n values, at least the first.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an index of values in memory"
)]
fn quantile_of_counts<'a>(sorted: &[(&'a [u8], u64)], share: f64) -> Option<&'a [u8]> {
    let count: u64 = sorted.iter().map(|(_, count)| count).sum();
    // Rounds as DuckDB does: 0.1 of 10 values is the first one, although 0.1 is slightly more than a tenth in binary.
    let above = (count as f64 - count as f64 * share).floor() as u64;
    let place = count.saturating_sub(above).max(1);
    let mut passed = 0;
    let found = sorted.iter().find(|(_, count)| {
        passed += count;
        passed >= place
    });
    found.map(|(value, _)| *value)
}

impl Accumulator for ValueCounts {
    fn update_batch(&mut self, columns: &[ArrayRef]) -> Result<()> {
        match columns.first() {
            Some(values) => self.add(values, |_| 1),
            None => Ok(()),
        }
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let [values, counts] = states else {
            return Ok(());
        };
        let lists = values.as_list::<i32>().iter();
        for (values, counts) in lists.zip(counts.as_list::<i32>().iter()) {
            let (Some(values), Some(counts)) = (values, counts) else {
                continue;
            };
            let counts = counts.as_primitive::<UInt64Type>().clone();
            self.add(&values, |place| {
                counts.values().get(place).copied().unwrap_or_default()
            })?;
        }
        Ok(())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let sorted: Vec<(&[u8], u64)> = self
            .counts
            .iter()
            .map(|(value, count)| (value.as_ref(), *count))
            .collect();
        let values = self.decode_values(sorted.iter().map(|(value, _)| *value))?;
        let counts: UInt64Array = sorted.iter().map(|(_, count)| Some(*count)).collect();
        let list = |values| SingleRowListArrayBuilder::new(values).build_list_scalar();
        Ok(vec![list(values), list(Arc::new(counts))])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        match self.asked {
            CountResult::Histogram => self.map(),
            CountResult::Quantile => {
                self.decode_scalar(quantile_of_counts(&self.sorted_counts(), self.share))
            }
            CountResult::Mode => {
                let sorted = self.sorted_counts();
                let most = sorted.iter().map(|(_, count)| *count).max();
                let first = sorted.iter().find(|(_, count)| Some(*count) == most);
                self.decode_scalar(first.map(|(value, _)| *value))
            }
        }
    }

    fn size(&self) -> usize {
        let entry = size_of::<(Box<[u8]>, u64)>();
        size_of_val(self) + self.counts.capacity() * entry + self.key_bytes + self.rows.size()
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Float32Array, Float64Array};

    use super::*;

    #[test]
    fn a_share_is_a_place_among_the_values() {
        let values = [(&b"a"[..], 1), (b"b", 2), (b"c", 1)];
        let at = |share| quantile_of_counts(&values, share).unwrap();
        let found = [0.0, 0.25, 0.26, 0.5, 0.75, 0.76, 1.0].map(at);
        assert_eq!(found, [&b"a"[..], b"a", b"b", b"b", b"b", b"c", b"c"]);
        assert_eq!(quantile_of_counts(&[], 0.5), None);
        let tens: Vec<[u8; 1]> = (0..10).map(|value| [value]).collect();
        let tens: Vec<(&[u8], u64)> = tens.iter().map(|value| (&value[..], 1)).collect();
        assert_eq!(quantile_of_counts(&tens, 0.1), Some(&[0][..]));
    }

    #[test]
    fn zeros_are_one_value_and_so_is_nan() {
        let values = Float64Array::from(vec![0.0, -0.0, f64::NAN, -f64::NAN]);
        let values = canonical_floats(&(Arc::new(values) as ArrayRef));
        let bits: Vec<u64> = values
            .as_primitive::<Float64Type>()
            .values()
            .iter()
            .map(|value| value.to_bits())
            .collect();
        assert_eq!((bits[0], bits[2]), (bits[1], bits[3]));
        let narrow: ArrayRef = Arc::new(Float32Array::from(vec![-0.0_f32]));
        let narrow = canonical_floats(&narrow);
        let narrow = narrow.as_primitive::<Float32Type>();
        assert!(narrow.value(0).is_sign_positive());
    }
}

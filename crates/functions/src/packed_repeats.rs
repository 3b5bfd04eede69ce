//! `repeats_ns`, `min_repeat_ns`, `repeat_noise`: repeats packed as a mean, a count and bytes.

use std::sync::Arc;

use arrow::array::{
    Array as _, ArrayRef, BinaryViewArray, Float64Array, Float64Builder, Int32Array, ListArray,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field};
use datafusion::common::cast::{as_binary_view_array, as_float64_array, as_int32_array};
use datafusion::common::{DataFusionError, Result};
use tsql_codecs::repeats;

use super::function_docs::FunctionDocs;
use super::scalar::{Scalar, argument};

/// Initial capacity per measurement, in repeats.
const REPEATS_CAPACITY: usize = 32;

/// `repeats_ns`: the repeats as a list.
pub(super) fn repeats_udf() -> Scalar {
    let about = with_repeat_arguments(FunctionDocs::new(
        "repeats_ns",
        "Packed repeats as a list, in nanoseconds and in timing order",
        "SELECT repeats_ns(runtime_ns, repeat_count, repeats) FROM stored.records LIMIT 3",
    ));
    let list = DataType::new_list(DataType::Float64, true);
    Scalar::new(&about, list, lists)
}

/// `min_repeat_ns`: the fastest repeat.
pub(super) fn min_repeat_udf() -> Scalar {
    let about = with_repeat_arguments(FunctionDocs::new(
        "min_repeat_ns",
        "Fastest of the packed repeats, in nanoseconds",
        "SELECT min_repeat_ns(runtime_ns, repeat_count, repeats) FROM stored.records LIMIT 3",
    ));
    Scalar::new(&about, DataType::Float64, |args| {
        RepeatColumns::from_args(args)?.map_numbers(|runtime_ns, count, bytes| {
            repeats::minimum_ns(runtime_ns, count, bytes).map(Some)
        })
    })
}

/// `repeat_noise`: the noise of the repeats.
pub(super) fn repeat_noise_udf() -> Scalar {
    let about = with_repeat_arguments(FunctionDocs::new(
        "repeat_noise",
        "Standard deviation of the packed repeats over their mean. NULL for fewer than two",
        "SELECT repeat_noise(runtime_ns, repeat_count, repeats) FROM stored.records LIMIT 3",
    ));
    // A single repeat has no spread.
    Scalar::new(&about, DataType::Float64, |args| {
        RepeatColumns::from_args(args)?.map_numbers(|runtime_ns, count, bytes| {
            let noise = repeats::noise(runtime_ns, count, bytes)?;
            Some((count > 1).then_some(noise))
        })
    })
}

fn with_repeat_arguments(about: FunctionDocs) -> FunctionDocs {
    about
        .argument("runtime_ns", DataType::Float64, "mean of the repeats")
        .argument("count", DataType::Int32, "number of repeats")
        .argument(
            "packed",
            DataType::BinaryView,
            "packed repeats, relative to the mean; NULL for one repeat",
        )
        .source("tsql: `repeats` of the crate `tensorsql-codecs`")
}

/// Columns of packed repeats.
struct RepeatColumns<'a> {
    runtime_ns: &'a Float64Array,
    count: &'a Int32Array,
    bytes: &'a BinaryViewArray,
}

impl<'a> RepeatColumns<'a> {
    fn from_args(args: &'a [ArrayRef]) -> Result<Self> {
        Ok(Self {
            runtime_ns: as_float64_array(argument(args, 0)?)?,
            count: as_int32_array(argument(args, 1)?)?,
            bytes: as_binary_view_array(argument(args, 2)?)?,
        })
    }

    /// Applies `of` to mean, count and packed bytes of each row; NULL for rows without repeats.
    fn map_rows<T>(
        &self,
        mut of: impl FnMut(f64, i32, Option<&[u8]>) -> Option<T>,
    ) -> impl Iterator<Item = Result<Option<T>>> {
        let nulls = NullBuffer::union(self.runtime_ns.nulls(), self.count.nulls());
        let columns = self.runtime_ns.values().iter().zip(self.count.values());
        columns
            .enumerate()
            .map(move |(row, (&runtime_ns, &count))| {
                if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                    return Ok(None);
                }
                let bytes = self.bytes.is_valid(row).then(|| self.bytes.value(row));
                match of(runtime_ns, count, bytes) {
                    Some(made) => Ok(Some(made)),
                    None => Err(DataFusionError::Execution(
                        "records: damaged repeats".to_owned(),
                    )),
                }
            })
    }

    /// Like [`RepeatColumns::map_rows`], for nullable numbers.
    fn map_numbers(
        &self,
        of: impl FnMut(f64, i32, Option<&[u8]>) -> Option<Option<f64>>,
    ) -> Result<ArrayRef> {
        let mut numbers = Float64Builder::with_capacity(self.runtime_ns.len());
        for number in self.map_rows(of) {
            numbers.append_option(number?.flatten());
        }
        Ok(Arc::new(numbers.finish()))
    }
}

fn lists(args: &[ArrayRef]) -> Result<ArrayRef> {
    let packed = RepeatColumns::from_args(args)?;
    let counts = packed.count.values().iter();
    let values = counts.filter_map(|count| usize::try_from(*count).ok());
    // Damaged counts must not cause unbounded allocations.
    let most = packed.count.len().saturating_mul(REPEATS_CAPACITY);
    let mut values = Vec::with_capacity(values.fold(0, usize::saturating_add).min(most));
    let lengths = packed.map_rows(|runtime_ns, count, bytes| {
        let before = values.len();
        repeats::unpack_ns(runtime_ns, count, bytes, &mut values)?;
        Some(values.len() - before)
    });
    let lengths = lengths.collect::<Result<Vec<Option<usize>>>>()?;
    let nulls = lengths.iter().map(Option::is_some).collect::<NullBuffer>();
    let lengths = lengths.into_iter().map(Option::unwrap_or_default);
    let lists = ListArray::try_new(
        Arc::new(Field::new_list_field(DataType::Float64, true)),
        OffsetBuffer::from_lengths(lengths),
        Arc::new(Float64Array::from(values)),
        Some(nulls),
    )?;
    Ok(Arc::new(lists))
}

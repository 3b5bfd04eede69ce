//! `repeats_ns`: the packed repeats as a list, in nanoseconds and in the order of timing.

use std::sync::Arc;

use arrow::array::{Float64Array, ListArray};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field};
use datafusion::common::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature};
use tsql_codecs::repeats;

/// the packed repeats as a list, in nanoseconds and in the order of timing.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct RepeatsNs {
    signature: Signature,
}

impl RepeatsNs {
    pub(super) fn new() -> Self {
        Self {
            signature: super::repeats_signature(),
        }
    }
}

impl ScalarUDFImpl for RepeatsNs {
    fn name(&self) -> &'static str {
        "repeats_ns"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::new_list(DataType::Float64, true))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let packed = super::PackedRepeats::from_args(&args)?;
        let mut values = Vec::new();
        let mut row = Vec::new();
        let lengths = packed.each(|runtime_ns, count, bytes| {
            repeats::unpack_ns(runtime_ns, count, bytes, &mut row)?;
            values.extend_from_slice(&row);
            Some(row.len())
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
        Ok(ColumnarValue::Array(Arc::new(lists)))
    }
}

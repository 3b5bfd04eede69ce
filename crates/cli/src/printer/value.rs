//! Text of a single value. [`tsql_engine::text_values`] has the text of nested values.

use arrow::array::cast::AsArray;
use arrow::array::{Array, ArrayRef, Float64Array, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, FieldRef};
use arrow::error::ArrowError;
use arrow::json::EncoderOptions;
use arrow::json::writer::{NullableEncoder, make_encoder};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use tsql_engine::text_values::is_json;

use super::units::Unit;

/// Text of NULL for people.
pub(super) const NULL: &str = "NULL";

/// A column of a batch with the formatter of its values.
pub(super) enum Column<'a> {
    Plain(ArrayFormatter<'a>),
    Json {
        encoder: NullableEncoder<'a>,
        null: &'a str,
        scratch: Vec<u8>,
    },
    Measured {
        numbers: Float64Array,
        unit: Unit,
    },
}

impl<'a> Column<'a> {
    /// Returns the columns of `batch`, with the text `null` for NULL. The `options` are those of
    /// [`json_options`](tsql_engine::text_values::json_options).
    pub(super) fn from_batch(
        batch: &'a RecordBatch,
        options: &'a EncoderOptions,
        null: &'a str,
    ) -> Result<Vec<Self>, ArrowError> {
        let fields = batch.schema_ref().fields().iter();
        fields
            .zip(batch.columns())
            .map(|(field, array)| Self::new(field, array, options, null))
            .collect()
    }

    /// Returns the columns of `batch` for people; with `units`, times and sizes have readable units.
    pub(super) fn readable(
        batch: &'a RecordBatch,
        options: &'a EncoderOptions,
        units: bool,
    ) -> Result<Vec<Self>, ArrowError> {
        let fields = batch.schema_ref().fields().iter();
        let column = |(field, array): (&'a FieldRef, &'a ArrayRef)| match Unit::for_field(field) {
            Some(unit) if units => {
                let numbers = cast(array, &DataType::Float64)?.as_primitive().clone();
                Ok(Self::Measured { numbers, unit })
            }
            _ => Self::new(field, array, options, NULL),
        };
        fields.zip(batch.columns()).map(column).collect()
    }

    fn new(
        field: &'a FieldRef,
        array: &'a dyn Array,
        options: &'a EncoderOptions,
        null: &'a str,
    ) -> Result<Self, ArrowError> {
        if is_json(array.data_type()) {
            let encoder = make_encoder(field, array, options)?;
            return Ok(Self::Json {
                encoder,
                null,
                scratch: Vec::new(),
            });
        }
        Ok(Self::Plain(ArrayFormatter::try_new(
            array,
            &FormatOptions::new().with_null(null),
        )?))
    }

    /// Appends the value in `row` to `out`.
    pub(super) fn write(&mut self, row: usize, out: &mut String) -> Result<(), ArrowError> {
        match self {
            Self::Plain(formatter) => formatter.value(row).write(out)?,
            Self::Measured { numbers, .. } if numbers.is_null(row) => out.push_str(NULL),
            Self::Measured { numbers, unit } => out.push_str(&unit.spell(numbers.value(row))),
            Self::Json { encoder, null, .. } if encoder.is_null(row) => out.push_str(null),
            Self::Json {
                encoder, scratch, ..
            } => {
                scratch.clear();
                encoder.encode(row, scratch);
                out.push_str(&String::from_utf8_lossy(scratch));
            }
        }
        Ok(())
    }
}

//! Representation of single values as text and as JSON.
//!
//! Arrow's formatter and JSON encoders do most of the work. This module decides the rest, in the same way for all
//! formats:
//!
//! - A nested value (list, struct, map) is JSON in text formats as well.
//! - A float is the shortest text that parses to the same number, `1.0` rather than `1`. JSON cannot represent NaN and
//!   infinities, so they are null there.
//! - A map is a JSON object for any key type. A union has no JSON equivalent, so it is a JSON string.
//! - A 64-bit integer in a column `..._id` is a JSON string, regardless of its value. Ids are hashes, and most JSON
//!   readers round integers above 2^53. The column name decides, so that a column never mixes numbers and strings.
//! - A time outside of the calendar (about ± 262,000 years) is an error instead of a wrong date.

use std::io::Write;
use std::sync::Arc;

use arrow::array::cast::AsArray;
use arrow::array::{Array, ArrayRef, LargeStringArray, LargeStringBuilder, MapArray, RecordBatch};
use arrow::datatypes::{DataType, Field, FieldRef, Schema};
use arrow::error::ArrowError;
use arrow::json::writer::{NullableEncoder, make_encoder};
use arrow::json::{Encoder, EncoderFactory, EncoderOptions};
use arrow::util::display::{ArrayFormatter, FormatOptions};

/// Suffix of id columns.
const ID: &str = "_id";

/// Returns whether text formats show a value of this type as JSON.
pub fn is_json(data_type: &DataType) -> bool {
    data_type.is_nested() && !matches!(data_type, DataType::Union(_, _))
}

/// Returns whether a column of this type becomes text in CSV, because Arrow's writer rejects it.
fn is_flattened(data_type: &DataType) -> bool {
    is_json(data_type) || matches!(data_type, DataType::Union(_, _))
}

/// Replaces nested columns of a schema by text columns.
pub fn flatten_schema(schema: &Schema) -> Schema {
    let fields = schema.fields().iter();
    let fields = fields.map(|field| match is_flattened(field.data_type()) {
        true => Arc::new(Field::new(field.name(), DataType::LargeUtf8, true)),
        false => Arc::clone(field),
    });
    Schema::new(fields.collect::<Vec<_>>())
}

/// Replaces nested columns by JSON text, because Arrow's CSV writer rejects them.
pub fn flatten_columns(
    batch: &RecordBatch,
    options: &EncoderOptions,
) -> Result<RecordBatch, ArrowError> {
    let columns = batch.schema_ref().fields().iter().zip(batch.columns());
    let arrays = columns.map(|(field, array)| match is_flattened(array.data_type()) {
        true => Ok(Arc::new(value_texts(field, array, options)?) as ArrayRef),
        false => Ok(Arc::clone(array)),
    });
    let arrays = arrays.collect::<Result<Vec<_>, ArrowError>>()?;
    RecordBatch::try_new(Arc::new(flatten_schema(batch.schema_ref())), arrays)
}

/// Writer of the values of an array, one at a time.
enum ValueWriter<'a> {
    Plain(ArrayFormatter<'a>),
    Json(NullableEncoder<'a>),
}

impl<'a> ValueWriter<'a> {
    fn new(
        field: &'a FieldRef,
        array: &'a dyn Array,
        options: &'a EncoderOptions,
    ) -> Result<Self, ArrowError> {
        Ok(match is_json(array.data_type()) {
            true => Self::Json(make_encoder(field, array, options)?),
            false => Self::Plain(ArrayFormatter::try_new(array, &FormatOptions::new())?),
        })
    }

    /// Appends the value in `row`, which must not be NULL.
    fn write(&mut self, row: usize, out: &mut String) -> Result<(), ArrowError> {
        match self {
            Self::Plain(formatter) => formatter.value(row).write(out)?,
            Self::Json(encoder) => {
                let mut bytes = Vec::new();
                encoder.encode(row, &mut bytes);
                out.push_str(&String::from_utf8_lossy(&bytes));
            }
        }
        Ok(())
    }
}

/// Values of `array` as text; NULL stays NULL.
fn value_texts(
    field: &FieldRef,
    array: &dyn Array,
    options: &EncoderOptions,
) -> Result<LargeStringArray, ArrowError> {
    let nulls = array.logical_nulls();
    let mut value = ValueWriter::new(field, array, options)?;
    let mut texts = LargeStringBuilder::new();
    let mut text = String::new();
    for row in 0..array.len() {
        if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            texts.append_null();
            continue;
        }
        text.clear();
        value.write(row, &mut text)?;
        texts.append_value(&text);
    }
    Ok(texts.finish())
}

/// Options of Arrow's JSON writer, with the encoders of this module.
pub fn json_options() -> EncoderOptions {
    EncoderOptions::default()
        .with_explicit_nulls(true)
        .with_encoder_factory(Arc::new(TsqlEncoders))
}

/// Factory of the encoders that differ from Arrow's own.
#[derive(Debug)]
pub struct TsqlEncoders;

impl EncoderFactory for TsqlEncoders {
    fn make_default_encoder<'a>(
        &self,
        field: &'a FieldRef,
        array: &'a dyn Array,
        options: &'a EncoderOptions,
    ) -> Result<Option<NullableEncoder<'a>>, ArrowError> {
        let encoder: Box<dyn Encoder + 'a> = match array.data_type() {
            DataType::Int64 | DataType::UInt64 if field.name().ends_with(ID) => {
                Box::new(StringEncoder(value_texts(field, array, options)?))
            }
            DataType::Float16 | DataType::Float32 | DataType::Float64 => Box::new(FloatEncoder(
                ArrayFormatter::try_new(array, &FormatOptions::new())?,
            )),
            DataType::Map(_, _) => Box::new(MapEncoder::new(field, array.as_map(), options)?),
            DataType::Dictionary(_, _) => Box::new(DictionaryEncoder::new(field, array, options)?),
            data_type if data_type.is_temporal() || matches!(data_type, DataType::Union(_, _)) => {
                Box::new(StringEncoder(value_texts(field, array, options)?))
            }
            _ => return Ok(None),
        };
        Ok(Some(NullableEncoder::new(encoder, array.logical_nulls())))
    }
}

/// Floats as in the text formats; null if not finite.
struct FloatEncoder<'a>(ArrayFormatter<'a>);

impl Encoder for FloatEncoder<'_> {
    fn encode(&mut self, index: usize, out: &mut Vec<u8>) {
        let start = out.len();
        // Writing to memory cannot fail, and a float always has a text form.
        let _ = write!(out, "{}", self.0.value(index));
        if !out.last().is_some_and(u8::is_ascii_digit) {
            out.truncate(start);
            out.extend_from_slice(b"null");
        }
    }
}

/// Text as JSON strings.
struct StringEncoder(LargeStringArray);

impl Encoder for StringEncoder {
    fn encode(&mut self, index: usize, out: &mut Vec<u8>) {
        // Writing to memory cannot fail, and any text is a valid JSON string.
        let _ = serde_json::to_writer(out, self.0.value(index));
    }
}

/// Maps as JSON objects. Arrow's encoder rejects keys that are not text.
struct MapEncoder<'a> {
    map: &'a MapArray,
    keys: StringEncoder,
    values: NullableEncoder<'a>,
}

impl<'a> MapEncoder<'a> {
    fn new(
        field: &'a FieldRef,
        map: &'a MapArray,
        options: &'a EncoderOptions,
    ) -> Result<Self, ArrowError> {
        let keys = StringEncoder(value_texts(field, map.keys(), options)?);
        Ok(Self {
            map,
            keys,
            values: make_encoder(field, map.values(), options)?,
        })
    }
}

impl Encoder for MapEncoder<'_> {
    fn encode(&mut self, index: usize, out: &mut Vec<u8>) {
        let ends = self.map.value_offsets().get(index..).unwrap_or_default();
        let [start, end, ..] = *ends else { return };
        let entries = usize::try_from(start).unwrap_or(0)..usize::try_from(end).unwrap_or(0);
        let first = entries.start;
        out.push(b'{');
        for entry in entries {
            if entry != first {
                out.push(b',');
            }
            self.keys.encode(entry, out);
            out.push(b':');
            encode_or_null(&mut self.values, entry, out);
        }
        out.push(b'}');
    }
}

/// Dictionary-encoded values. Arrow's encoder ignores NULL among the dictionary values.
struct DictionaryEncoder<'a> {
    keys: Vec<usize>,
    values: NullableEncoder<'a>,
}

impl<'a> DictionaryEncoder<'a> {
    fn new(
        field: &'a FieldRef,
        array: &'a dyn Array,
        options: &'a EncoderOptions,
    ) -> Result<Self, ArrowError> {
        let dictionary = array.as_any_dictionary();
        // Without values every row is NULL, and `normalized_keys` would point outside of the dictionary.
        let keys = if dictionary.values().is_empty() {
            Vec::new()
        } else {
            dictionary.normalized_keys()
        };
        Ok(Self {
            keys,
            values: make_encoder(field, dictionary.values(), options)?,
        })
    }
}

impl Encoder for DictionaryEncoder<'_> {
    fn encode(&mut self, index: usize, out: &mut Vec<u8>) {
        if let Some(&key) = self.keys.get(index) {
            encode_or_null(&mut self.values, key, out);
        }
    }
}

fn encode_or_null(encoder: &mut NullableEncoder<'_>, index: usize, out: &mut Vec<u8>) {
    if encoder.is_null(index) {
        out.extend_from_slice(b"null");
    } else {
        encoder.encode(index, out);
    }
}

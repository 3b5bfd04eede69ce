//! Element types of NumPy arrays and their Arrow equivalents.

use std::sync::Arc;

use arrow::array::{
    ArrayData, ArrayRef, AsArray as _, BinaryArray, BooleanArray, Date32Array, Int64Array,
    StringArray, make_array,
};
use arrow::buffer::Buffer;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type, TimeUnit};

/// Element type of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ElementType {
    pub(super) bytes: usize,
    big_endian: bool,
    kind: ElementKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ElementKind {
    Boolean,
    /// A number type that Arrow has as well.
    Number(DataType),
    /// 16-bit floats, converted to 32 bits because SQL has no functions for them.
    Half,
    /// UTF-32 text: four bytes per character, padded with zeros.
    Text,
    /// Byte strings, padded with zeros.
    Bytes,
    /// Days since 1970.
    Day,
    /// 64-bit count of a unit since 1970, or between two times.
    Time(DataType),
}

impl ElementType {
    /// Parses a NumPy type descriptor.
    ///
    /// # Errors
    /// The reason why such elements cannot be a column, with a remedy.
    pub(super) fn parse(descr: &str) -> Result<Self, &'static str> {
        let mut letters = descr.chars();
        let (order, kind) = (letters.next(), letters.next());
        let rest = letters.as_str();
        let known = match kind {
            Some('M' | 'm') => parse_time(kind == Some('M'), rest),
            Some(kind) => parse_plain(kind, rest),
            None => None,
        };
        let Some((bytes, kind)) = known else {
            return Err(match (descr.as_bytes().first(), kind) {
                (Some(b'['), _) => "structures: save the fields as arrays",
                (_, Some('O')) => "Python objects: save numbers or text",
                (_, Some('c')) => "complex numbers: save a.real and a.imag",
                _ => "an unsupported type: save it for example with a.astype('float64')",
            });
        };
        Ok(Self {
            bytes,
            big_endian: order == Some('>'),
            kind,
        })
    }

    /// Arrow type of the column.
    pub(super) fn data_type(&self) -> DataType {
        match &self.kind {
            ElementKind::Boolean => DataType::Boolean,
            ElementKind::Number(of) | ElementKind::Time(of) => of.clone(),
            ElementKind::Half => DataType::Float32,
            ElementKind::Text => DataType::Utf8,
            ElementKind::Bytes => DataType::Binary,
            ElementKind::Day => DataType::Date32,
        }
    }

    /// Decodes `count` elements to an array.
    ///
    /// # Errors
    /// The reason why an element is invalid.
    pub(super) fn decode(&self, mut bytes: Vec<u8>, count: usize) -> Result<ArrayRef, String> {
        let width = match self.kind {
            ElementKind::Text => 4,
            _ => self.bytes,
        };
        if self.big_endian && width > 1 {
            bytes.chunks_exact_mut(width).for_each(<[u8]>::reverse);
        }
        match &self.kind {
            ElementKind::Boolean => {
                let truths = bytes.iter().map(|&byte| Some(byte != 0));
                Ok(Arc::new(truths.collect::<BooleanArray>()))
            }
            ElementKind::Number(of) => decode_primitive(of, bytes, count),
            ElementKind::Half => {
                let halves = decode_primitive(&DataType::Float16, bytes, count)?;
                cast(&halves, &DataType::Float32).map_err(|error| error.to_string())
            }
            ElementKind::Text => decode_text(&bytes, self.bytes, count),
            ElementKind::Bytes => {
                let values = split_values(&bytes, self.bytes, count).map(|value| {
                    let end = value.iter().rposition(|&byte| byte != 0);
                    value.get(..end.map_or(0, |end| end + 1))
                });
                Ok(Arc::new(values.collect::<BinaryArray>()))
            }
            ElementKind::Day => decode_days(&decode_primitive(&DataType::Int64, bytes, count)?),
            ElementKind::Time(of) => {
                let ticks = decode_primitive(&DataType::Int64, bytes, count)?;
                let ticks: ArrayRef = Arc::new(null_for_nat(&ticks));
                cast(&ticks, of).map_err(|error| error.to_string())
            }
        }
    }
}

fn parse_plain(kind: char, rest: &str) -> Option<(usize, ElementKind)> {
    use DataType::{Float32, Float64, Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64};
    let bytes: usize = rest.parse().ok()?;
    let number = |of| Some((bytes, ElementKind::Number(of)));
    match (kind, bytes) {
        ('b', 1) => Some((1, ElementKind::Boolean)),
        ('i', 1) => number(Int8),
        ('i', 2) => number(Int16),
        ('i', 4) => number(Int32),
        ('i', 8) => number(Int64),
        ('u', 1) => number(UInt8),
        ('u', 2) => number(UInt16),
        ('u', 4) => number(UInt32),
        ('u', 8) => number(UInt64),
        ('f', 2) => Some((2, ElementKind::Half)),
        ('f', 4) => number(Float32),
        ('f', 8) => number(Float64),
        ('U', characters) => Some((characters.checked_mul(4)?, ElementKind::Text)),
        ('S', bytes) => Some((bytes, ElementKind::Bytes)),
        _ => None,
    }
}

/// Parses `8[ns]`: a time or a time span.
fn parse_time(is_time: bool, rest: &str) -> Option<(usize, ElementKind)> {
    let unit = match rest.strip_prefix("8[")?.strip_suffix(']')? {
        "s" => TimeUnit::Second,
        "ms" => TimeUnit::Millisecond,
        "us" => TimeUnit::Microsecond,
        "ns" => TimeUnit::Nanosecond,
        "D" if is_time => return Some((8, ElementKind::Day)),
        _ => return None,
    };
    let of = match is_time {
        true => DataType::Timestamp(unit, None),
        false => DataType::Duration(unit),
    };
    Some((8, ElementKind::Time(of)))
}

fn decode_primitive(of: &DataType, bytes: Vec<u8>, count: usize) -> Result<ArrayRef, String> {
    let data = ArrayData::builder(of.clone())
        .len(count)
        .add_buffer(Buffer::from_vec(bytes))
        .align_buffers(true);
    data.build()
        .map(make_array)
        .map_err(|error| error.to_string())
}

/// Splits the bytes into elements, which may have zero length.
fn split_values(bytes: &[u8], length: usize, count: usize) -> impl Iterator<Item = &[u8]> {
    (0..count).map(move |place| {
        bytes
            .get(place * length..(place + 1) * length)
            .unwrap_or(&[])
    })
}

fn decode_text(bytes: &[u8], length: usize, count: usize) -> Result<ArrayRef, String> {
    let text = |value: &[u8]| {
        let (codes, _) = value.as_chunks::<4>();
        let codes = codes.iter().map(|code| u32::from_le_bytes(*code));
        let text: Option<String> = codes.map(char::from_u32).collect();
        let text = text.ok_or("an invalid Unicode character")?;
        Ok(Some(text.trim_end_matches('\0').to_owned()))
    };
    let texts: Result<StringArray, String> = split_values(bytes, length, count).map(text).collect();
    Ok(Arc::new(texts?))
}

/// Replaces NumPy's "not a time" by NULL.
fn null_for_nat(ticks: &ArrayRef) -> Int64Array {
    let ticks = ticks.as_primitive::<Int64Type>();
    ticks.unary_opt(|tick| (tick != i64::MIN).then_some(tick))
}

fn decode_days(ticks: &ArrayRef) -> Result<ArrayRef, String> {
    let days = null_for_nat(ticks);
    let narrow = days.iter().map(|day| {
        let narrow = day.map(i32::try_from).transpose();
        narrow.map_err(|_| "a date outside of the supported range".to_owned())
    });
    let narrow: Result<Date32Array, String> = narrow.collect();
    Ok(Arc::new(narrow?))
}

#[cfg(test)]
mod tests {
    use arrow::array::Array as _;

    use super::*;

    fn decoded(descr: &str, bytes: &[u8], count: usize) -> (DataType, Vec<String>) {
        let element = ElementType::parse(descr).unwrap();
        let array = element.decode(bytes.to_vec(), count).unwrap();
        assert_eq!(*array.data_type(), element.data_type());
        let formatter = arrow::util::display::ArrayFormatter::try_new(
            array.as_ref(),
            &arrow::util::display::FormatOptions::default().with_null("NULL"),
        );
        let formatter = formatter.unwrap();
        let texts = (0..array.len()).map(|row| formatter.value(row).to_string());
        (element.data_type(), texts.collect())
    }

    #[test]
    fn elements_of_every_type_are_values() {
        let text = |of: &str| {
            of.chars()
                .flat_map(|one| u32::from(one).to_le_bytes())
                .collect::<Vec<u8>>()
        };
        let nat = [&i64::MIN.to_le_bytes()[..], &1_i64.to_le_bytes()].concat();
        let half = half_of(1.5);
        for (descr, bytes, of, wanted) in [
            ("|b1", vec![0, 2], DataType::Boolean, ["false", "true"]),
            (">i2", vec![1, 2, 255, 255], DataType::Int16, ["258", "-1"]),
            (
                "<u4",
                vec![1, 0, 0, 0, 0, 1, 0, 0],
                DataType::UInt32,
                ["1", "256"],
            ),
            (
                "<f2",
                [half, half].concat(),
                DataType::Float32,
                ["1.5", "1.5"],
            ),
            ("<U2", text("ü\0ab"), DataType::Utf8, ["ü", "ab"]),
            ("|S2", b"a\0bc".to_vec(), DataType::Binary, ["61", "6263"]),
            ("<U0", vec![], DataType::Utf8, ["", ""]),
            (
                "<M8[D]",
                nat.clone(),
                DataType::Date32,
                ["NULL", "1970-01-02"],
            ),
            (
                "<M8[us]",
                nat.clone(),
                DataType::Timestamp(TimeUnit::Microsecond, None),
                ["NULL", "1970-01-01T00:00:00.000001"],
            ),
            (
                "<m8[s]",
                nat,
                DataType::Duration(TimeUnit::Second),
                ["NULL", "PT1S"],
            ),
        ] {
            assert_eq!(
                decoded(descr, &bytes, 2),
                (of, wanted.map(str::to_owned).to_vec()),
                "{descr}"
            );
        }
    }

    fn half_of(value: f32) -> [u8; 2] {
        let array: ArrayRef = Arc::new(arrow::array::Float32Array::from(vec![value]));
        let half = cast(&array, &DataType::Float16).unwrap();
        let half = half
            .as_primitive::<arrow::datatypes::Float16Type>()
            .value(0);
        half.to_le_bytes()
    }

    #[test]
    fn unsupported_arrays_are_reported() {
        for (descr, wanted) in [
            ("|O", "Python objects"),
            ("<c16", "complex numbers"),
            ("[('a', '<i4')]", "structures"),
            ("<f16", "an unsupported type"),
            ("<M8[W]", "an unsupported type"),
            ("", "an unsupported type"),
        ] {
            let reason = ElementType::parse(descr).unwrap_err();
            assert!(reason.contains(wanted), "{descr}: {reason}");
        }
    }
}

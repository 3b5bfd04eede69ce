//! Arrays in NumPy's format (NEP 1): header and numbers of any integer or float type.
//!
//! [`ArrayDescription`] is the header of any array. All numbers of TpuGraphs are integers, whatever type they are
//! stored in; they are read as `i64`. Fractions, infinities, NaN and negative zero are rejected because they would not
//! be reproduced.

use std::io::Read;

use half::f16;

/// Magic bytes of an array.
const MAGIC: &[u8] = b"\x93NUMPY";

/// Maximum length of a header in bytes; real headers have 118.
const MAX_HEADER_BYTES: usize = 1 << 16;

/// Alignment of the data of written arrays, the same as NumPy's.
const ALIGNMENT: usize = 64;

/// Element type of an array in NumPy's spelling: `<f4`, `|u1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dtype {
    /// NumPy's spelling.
    pub text: String,
    kind: NumberKind,
    /// Size of an element in bytes.
    pub bytes: usize,
    big_endian: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NumberKind {
    Signed,
    Unsigned,
    Float,
}

/// Header of any array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayDescription {
    /// Element type in NumPy's spelling: `<f4`, `<U12`, `[('a', '<i4')]`.
    pub descr: String,
    /// Whether the data is in Fortran (column-major) order.
    pub fortran: bool,
    /// Size of each dimension; empty for a scalar.
    pub shape: Vec<u64>,
}

/// Header of an array of numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumberHeader {
    /// Element type.
    pub dtype: Dtype,
    /// Whether the data is in Fortran (column-major) order.
    pub fortran: bool,
    /// Size of each dimension.
    pub shape: Vec<u64>,
}

impl Dtype {
    /// Parses NumPy's spelling; `None` for strings, dates, structures and similar types.
    pub fn parse(text: &str) -> Option<Self> {
        let mut characters = text.chars();
        let (order, kind) = (characters.next()?, characters.next()?);
        let bytes: usize = characters.as_str().parse().ok()?;
        let (kind, widths): (NumberKind, &[usize]) = match kind {
            'i' => (NumberKind::Signed, &[1, 2, 4, 8]),
            'u' => (NumberKind::Unsigned, &[1, 2, 4, 8]),
            'f' => (NumberKind::Float, &[2, 4, 8]),
            'b' => (NumberKind::Unsigned, &[1]),
            _ => return None,
        };
        let is_supported = widths.contains(&bytes) && "<>|=".contains(order);
        is_supported.then(|| Self {
            text: text.to_owned(),
            kind,
            bytes,
            big_endian: order == '>',
        })
    }

    /// Decodes `bytes`, which contain whole elements, and appends the numbers to `numbers`.
    ///
    /// # Errors
    /// Returns an error for a number that is not an integer.
    pub fn decode(&self, bytes: &[u8], numbers: &mut Vec<i64>) -> Result<(), String> {
        numbers.reserve(bytes.len() / self.bytes);
        for element in bytes.chunks_exact(self.bytes) {
            numbers.push(self.decode_number(element)?);
        }
        Ok(())
    }

    fn decode_number(&self, bytes: &[u8]) -> Result<i64, String> {
        let mut bits = 0_u64;
        if self.big_endian {
            bytes
                .iter()
                .for_each(|&byte| bits = bits << 8 | u64::from(byte));
        } else {
            bytes
                .iter()
                .rev()
                .for_each(|&byte| bits = bits << 8 | u64::from(byte));
        }
        let unused = 64 - 8 * self.bytes;
        match self.kind {
            NumberKind::Signed => Ok((bits << unused).cast_signed() >> unused),
            NumberKind::Unsigned => i64::try_from(bits).map_err(|_| format!("{bits} is too large")),
            NumberKind::Float => float_to_integer(self.decode_float(bits)),
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "the bits of a narrow float are the low ones"
    )]
    fn decode_float(&self, bits: u64) -> f64 {
        match self.bytes {
            2 => f16::from_bits(bits as u16).to_f64(),
            4 => f64::from(f32::from_bits(bits as u32)),
            _ => f64::from_bits(bits),
        }
    }

    /// Appends a number in this type.
    #[expect(
        clippy::cast_precision_loss,
        reason = "written numbers were read from this type"
    )]
    pub fn encode(&self, number: i64, bytes: &mut Vec<u8>) {
        let bits = match (self.kind, self.bytes) {
            (NumberKind::Float, 2) => u64::from(f16::from_f64(number as f64).to_bits()),
            (NumberKind::Float, 4) => u64::from((number as f32).to_bits()),
            (NumberKind::Float, _) => (number as f64).to_bits(),
            _ => number.cast_unsigned(),
        };
        let little = bits.to_le_bytes();
        let used_bytes = little.iter().take(self.bytes);
        if self.big_endian {
            bytes.extend(used_bytes.rev());
        } else {
            bytes.extend(used_bytes);
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the range is checked first"
)]
fn float_to_integer(value: f64) -> Result<i64, String> {
    let limit = 9_223_372_036_854_775_808.0;
    if value.fract() == 0.0 && value.abs() < limit && !(value == 0.0 && value.is_sign_negative()) {
        return Ok(value as i64);
    }
    Err(format!("{value:?} is not an integer"))
}

impl ArrayDescription {
    /// Reads a header from the front of an array.
    ///
    /// # Errors
    /// Returns an error if the header is invalid.
    pub fn read(input: &mut impl Read) -> Result<Self, String> {
        let mut start = [0; 8];
        input
            .read_exact(&mut start)
            .map_err(|error| error.to_string())?;
        let [magic @ .., major, _] = start;
        if magic != MAGIC {
            return Err("not a NumPy array".to_owned());
        }
        let width = if major == 1 { 2 } else { 4 };
        let mut length = [0; 4];
        let length_bytes = length.get_mut(..width).unwrap_or(&mut []);
        input
            .read_exact(length_bytes)
            .map_err(|error| error.to_string())?;
        let length = u32::from_le_bytes(length) as usize;
        if length > MAX_HEADER_BYTES {
            return Err(format!(
                "the header has {length} bytes, expected at most {MAX_HEADER_BYTES}"
            ));
        }
        let mut text = vec![0; length];
        input
            .read_exact(&mut text)
            .map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&text);
        Self::parse(&text).ok_or_else(|| format!("unsupported header {:?}", text.trim()))
    }

    /// Parses the Python literal `{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }`.
    fn parse(text: &str) -> Option<Self> {
        let value_text = |key: &str| {
            let (_, rest) = text.split_once(&format!("'{key}'"))?;
            Some(rest.trim_start().strip_prefix(':')?.trim_start())
        };
        let descr = value_text("descr")?;
        let descr = match descr.strip_prefix('\'') {
            Some(quoted) => quoted.split_once('\'')?.0,
            // A list of fields.
            None => descr.split_once(", 'fortran_order'")?.0,
        };
        let order = value_text("fortran_order")?;
        let shape = value_text("shape")?.strip_prefix('(')?.split_once(')')?.0;
        let sizes = shape
            .split(',')
            .map(str::trim)
            .filter(|size| !size.is_empty());
        let sizes = sizes.map(|size| size.trim_end_matches('L').parse().ok());
        Some(Self {
            descr: descr.to_owned(),
            fortran: order.starts_with("True"),
            shape: sizes.collect::<Option<_>>()?,
        })
    }

    /// Number of elements; `None` on overflow.
    #[must_use]
    pub fn count(&self) -> Option<u64> {
        element_count(&self.shape)
    }
}

fn element_count(shape: &[u64]) -> Option<u64> {
    let mut sizes = shape.iter();
    sizes.try_fold(1_u64, |count, &size| count.checked_mul(size))
}

impl NumberHeader {
    /// Reads a header from the front of an array of numbers.
    ///
    /// # Errors
    /// Returns an error if the header is invalid or the elements are not numbers.
    pub fn read(input: &mut impl Read) -> Result<Self, String> {
        let description = ArrayDescription::read(input)?;
        let dtype = Dtype::parse(&description.descr)
            .ok_or_else(|| format!("unsupported number type {:?}", description.descr))?;
        Ok(Self {
            dtype,
            fortran: description.fortran,
            shape: description.shape,
        })
    }

    /// Returns the header as NumPy writes it.
    pub fn write(&self) -> Vec<u8> {
        format_header(&self.dtype.text, self.fortran, &self.shape)
    }

    /// Number of elements; `None` on overflow.
    pub fn count(&self) -> Option<u64> {
        element_count(&self.shape)
    }
}

/// Returns the header of an array in row-major order. `descr` is NumPy's spelling of the element type.
pub fn format_row_major_header(descr: &str, shape: &[usize]) -> Vec<u8> {
    let shape: Vec<u64> = shape.iter().map(|&size| size as u64).collect();
    format_header(descr, false, &shape)
}

fn format_header(descr: &str, fortran: bool, shape: &[u64]) -> Vec<u8> {
    let sizes: Vec<String> = shape.iter().map(ToString::to_string).collect();
    let comma = if sizes.len() == 1 { "," } else { "" };
    let order = if fortran { "True" } else { "False" };
    let mut text = format!(
        "{{'descr': '{descr}', 'fortran_order': {order}, 'shape': ({}{comma}), }}",
        sizes.join(", ")
    );
    let prefix_length = MAGIC.len() + 4;
    let length = (prefix_length + text.len() + 1).next_multiple_of(ALIGNMENT) - prefix_length;
    text.push_str(&" ".repeat(length - text.len() - 1));
    text.push('\n');
    let mut bytes = [MAGIC, &[1, 0]].concat();
    bytes.extend_from_slice(&u16::try_from(length).unwrap_or(u16::MAX).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_type_come_back() {
        for (text, numbers) in [
            ("<f4", vec![0, -1, 3, 2_952_790_016]),
            ("<f8", vec![0, -1, 1 << 53]),
            ("<f2", vec![0, -1, 2048]),
            (">i4", vec![0, -1, 70_000]),
            ("|i1", vec![-128, 127]),
            ("|u1", vec![0, 255]),
            ("|b1", vec![0, 1]),
            ("<u8", vec![0, i64::MAX]),
            ("<i8", vec![i64::MIN, i64::MAX]),
            (">u2", vec![258]),
        ] {
            let dtype = Dtype::parse(text).unwrap();
            let (mut bytes, mut decoded) = (Vec::new(), Vec::new());
            numbers
                .iter()
                .for_each(|&number| dtype.encode(number, &mut bytes));
            dtype.decode(&bytes, &mut decoded).unwrap();
            assert_eq!(decoded, numbers, "{text}");
        }
        let mut bytes = Vec::new();
        Dtype::parse(">u2").unwrap().encode(258, &mut bytes);
        assert_eq!(bytes, [1, 2]);
    }

    #[test]
    fn invalid_numbers_and_types_are_rejected() {
        let dtype = Dtype::parse("<f4").unwrap();
        for value in [0.5, f32::NAN, f32::INFINITY, -0.0, 1e30] {
            let error = dtype.decode(&value.to_le_bytes(), &mut Vec::new());
            assert!(error.unwrap_err().contains("is not an integer"), "{value}");
        }
        let large = Dtype::parse("<u8")
            .unwrap()
            .decode(&[255; 8], &mut Vec::new());
        assert!(large.unwrap_err().contains("too large"));
        for text in ["<U4", "<M8", "<f3", "", "<", "f4", "<c8", "|O"] {
            assert_eq!(Dtype::parse(text), None, "{text}");
        }
    }

    #[test]
    fn headers_of_all_arrays_are_parsed() {
        for (text, descr, shape) in [
            (
                "{'descr': '<U12', 'fortran_order': False, 'shape': (3,), }",
                "<U12",
                vec![3],
            ),
            (
                "{'descr': '<f8', 'fortran_order': False, 'shape': (), }",
                "<f8",
                vec![],
            ),
            (
                "{'descr': [('a', '<i4'), ('b', '<f8')], 'fortran_order': False, 'shape': (2, 1), }",
                "[('a', '<i4'), ('b', '<f8')]",
                vec![2, 1],
            ),
        ] {
            let description = ArrayDescription::parse(text).unwrap();
            assert_eq!(
                (description.descr.as_str(), description.shape),
                (descr, shape)
            );
            assert!(!description.fortran);
        }
    }

    #[test]
    fn headers_come_back() {
        for shape in [vec![], vec![5], vec![2, 0], vec![100_040, 344, 18]] {
            let header = NumberHeader {
                dtype: Dtype::parse("<i8").unwrap(),
                fortran: shape.len() == 2,
                shape,
            };
            let bytes = header.write();
            assert_eq!(bytes.len() % ALIGNMENT, 0);
            assert_eq!(NumberHeader::read(&mut bytes.as_slice()).unwrap(), header);
        }
        for bytes in [
            &b""[..],
            b"\x93NUMPY\x01\x00",
            b"PK345678",
            b"\x93NUMPY\x01\x00\x02\x00{}",
        ] {
            assert!(NumberHeader::read(&mut &bytes[..]).is_err());
        }
    }
}

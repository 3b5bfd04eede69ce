//! Layout configurations: the compiler's layout choice for every configurable node, in about one byte
//! per *group* of nodes.
//!
//! A row of `node_config_feat` holds 18 numbers for each configurable node (*slot*): the layouts of its
//! output, input and kernel, minor to major, padded with -1. XLA's autotuner assigns equal layouts to
//! equivalent nodes, so whole columns of that array are equal. Slots are therefore collected in groups. A
//! group has few distinct vectors, and a configuration is one code per group. Groups are inferred from
//! the data and cost nothing if there are none.
//!
//! The text form is the *sketch* of such configurations:
//!
//! ```text
//! {"group_of_slot":[0,1,0],"layouts":[["1 0|0 1|","0 1|0 1|"],["3 2 1 0|0|"]]}
//!                   slots 0 and 2 together,  two codes of group 0, one of group 1
//! ```
//!
//! The codes of a configuration are its *parameters*: one byte per group, or two if a group has more than
//! 256 vectors. If it is smaller, the codes are the digits of one mixed-radix number, and the sketch
//! contains `"digits":true`. Random search produces no pattern that a compressor could find.

mod merged;

use serde::{Deserialize, Serialize};

use crate::identity::ProgramHash;
pub use merged::MergedLayouts;

/// Numbers per slot: three layouts of six dimensions.
pub const VECTOR_WIDTH: usize = 18;

/// Dimensions of a layout.
const DIMENSIONS: usize = 6;

/// Padding: no dimension, or the compiler decides.
const NONE: i8 = -1;

/// Layouts of one slot.
pub type Vector = [i8; VECTOR_WIDTH];

/// Prefix of layout sketches. Program sketches start with `[`.
const SKETCH_PREFIX: &str = "{\"group_of_slot\":";

/// Groups of slots and the distinct vectors of each group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layouts {
    /// Group of each slot.
    pub group_of_slot: Vec<u32>,
    /// Vectors of each group. A code is an index into this list.
    pub vectors: Vec<Vec<Vector>>,
    /// Codes are the digits of one mixed-radix number.
    digits: bool,
    /// Bytes per code without `digits`: one, or two if a group has more than 256 vectors.
    code_width: usize,
    /// Bytes of a configuration's parameters.
    length: usize,
}

/// Serialised form of [`Layouts`].
#[derive(Serialize, Deserialize)]
struct SketchText {
    group_of_slot: Vec<u32>,
    layouts: Vec<Vec<String>>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    digits: bool,
}

/// Bytes of parameters on which both encodings are tried.
const SAMPLE_BYTES: usize = 1 << 20;

/// Returns whether this is a sketch of layout configurations.
pub fn is_layout(sketch: &str) -> bool {
    sketch.starts_with(SKETCH_PREFIX)
}

impl Layouts {
    /// Parses a sketch. Returns `None` if it is not a layout sketch.
    pub fn parse(sketch: &str) -> Option<Self> {
        let parsed: SketchText = serde_json::from_str(sketch).ok()?;
        let vectors = parsed.layouts.iter();
        let vectors = vectors.map(|group| group.iter().map(|text| parse_vector(text)).collect());
        let vectors = vectors.collect::<Option<Vec<_>>>()?;
        let mut layouts = Self::new(parsed.group_of_slot, vectors);
        if parsed.digits {
            layouts = layouts.with_digits()?;
        }
        let groups = layouts.vectors.len();
        let is_valid = |group: &u32| (*group as usize) < groups;
        layouts
            .group_of_slot
            .iter()
            .all(is_valid)
            .then_some(layouts)
    }

    /// Creates layouts with these groups and vectors.
    pub fn new(group_of_slot: Vec<u32>, vectors: Vec<Vec<Vector>>) -> Self {
        let max_vectors = vectors.iter().map(Vec::len).max();
        let code_width = if max_vectors > Some(256) { 2 } else { 1 };
        Self {
            digits: false,
            code_width,
            length: vectors.len() * code_width,
            group_of_slot,
            vectors,
        }
    }

    /// The same layouts with codes as digits. Returns `None` if the number exceeds 16 bytes.
    fn with_digits(&self) -> Option<Self> {
        let count = self.sizes().try_fold(1_u128, u128::checked_mul)?;
        let bits = u128::BITS - (count - 1).leading_zeros();
        Some(Self {
            digits: true,
            length: bits.div_ceil(8) as usize,
            ..self.clone()
        })
    }

    /// Number of vectors of each group.
    fn sizes(&self) -> impl DoubleEndedIterator<Item = u128> {
        self.vectors
            .iter()
            .map(|vectors| vectors.len().max(1) as u128)
    }

    /// Returns the sketch.
    pub fn text(&self) -> String {
        let groups = self.vectors.iter();
        let serialized = SketchText {
            group_of_slot: self.group_of_slot.clone(),
            layouts: groups
                .map(|group| group.iter().map(format_vector).collect())
                .collect(),
            digits: self.digits,
        };
        serde_json::to_string(&serialized).unwrap_or_default()
    }

    /// Bytes of a configuration's parameters.
    pub fn params_length(&self) -> usize {
        self.length
    }

    /// Appends the parameters of a configuration with these codes.
    pub fn push(&self, codes: &[u16], params: &mut Vec<u8>) {
        if !self.digits {
            for code in codes {
                params.extend(code.to_le_bytes().iter().take(self.code_width));
            }
            return;
        }
        let mut number = 0_u128;
        for (size, &code) in self.sizes().rev().zip(codes.iter().rev()) {
            number = number * size + u128::from(code);
        }
        params.extend(number.to_le_bytes().iter().take(self.length));
    }

    /// Decodes one code per group. Returns `None` if the parameters have another length.
    pub fn codes(&self, params: &[u8]) -> Option<Vec<usize>> {
        if params.len() != self.length {
            return None;
        }
        let number = |bytes: &[u8]| {
            let bytes = bytes.iter().rev();
            bytes.fold(0_u128, |number, &byte| number << 8 | u128::from(byte))
        };
        let narrow = |code: u128| usize::try_from(code).ok();
        if !self.digits {
            let codes = params.chunks_exact(self.code_width);
            return codes.map(|code| narrow(number(code))).collect();
        }
        let mut rest = number(params);
        let digits = self.sizes().map(|size| {
            let (digit, above) = match (u64::try_from(rest), u64::try_from(size)) {
                (Ok(rest), Ok(size)) => (u128::from(rest % size), u128::from(rest / size)),
                _ => (rest % size, rest / size),
            };
            rest = above;
            narrow(digit)
        });
        digits.collect()
    }

    /// Chooses the encoding that compresses better. Returns the layouts and the re-encoded parameters (one
    /// byte per code on input).
    pub fn pack(self, params: Vec<u8>) -> (Self, Vec<u8>) {
        let Some(numbers) = self.with_digits().filter(|_| !params.is_empty()) else {
            return (self, params);
        };
        let mut digits = Vec::with_capacity(params.len() / 2);
        for row in params.chunks_exact(self.length) {
            let codes = self.codes(row).unwrap_or_default();
            let codes = codes
                .iter()
                .map(|&code| u16::try_from(code).unwrap_or(u16::MAX));
            numbers.push(&codes.collect::<Vec<_>>(), &mut digits);
        }
        let sample_rows = (SAMPLE_BYTES / self.length).max(1);
        let size = |bytes: &[u8], length: usize| {
            let sample = bytes.get(..sample_rows * length).unwrap_or(bytes);
            let compressed = zstd::bulk::compress(sample, 3);
            compressed.map_or(usize::MAX, |compressed| compressed.len())
        };
        if size(&digits, numbers.length) < size(&params, self.length) {
            (numbers, digits)
        } else {
            (self, params)
        }
    }

    /// Vector of each group in a configuration.
    pub fn select_vectors<'a>(&'a self, params: &[u8]) -> Option<Vec<&'a Vector>> {
        let codes = self.codes(params)?;
        let groups = self.vectors.iter().zip(codes);
        groups.map(|(vectors, code)| vectors.get(code)).collect()
    }

    /// Appends the vectors of all slots of a configuration: a row of `node_config_feat`. Returns false if
    /// the codes do not fit.
    pub fn expand(&self, params: &[u8], row: &mut Vec<i8>) -> bool {
        let Some(selected) = self.select_vectors(params) else {
            return false;
        };
        for &group in &self.group_of_slot {
            let Some(vector) = selected.get(group as usize) else {
                return false;
            };
            row.extend_from_slice(*vector);
        }
        true
    }

    /// Appends the configuration as a JSON list of the slots' layouts (`"output|input|kernel"`).
    pub(crate) fn write_steps(&self, params: &[u8], text: &mut Vec<u8>) -> bool {
        let Some(selected) = self.select_vectors(params) else {
            return false;
        };
        text.push(b'[');
        for (slot, &group) in self.group_of_slot.iter().enumerate() {
            let Some(vector) = selected.get(group as usize) else {
                return false;
            };
            let separator = if slot == 0 { "\"" } else { ", \"" };
            text.extend_from_slice(separator.as_bytes());
            text.extend_from_slice(format_vector(vector).as_bytes());
            text.push(b'"');
        }
        text.push(b']');
        true
    }

    /// Returns a hasher whose hashes do not depend on the grouping.
    pub fn hasher(&self) -> LayoutHasher {
        let mut sums: Vec<Vec<ProgramHash>> = self
            .vectors
            .iter()
            .map(|group| vec![ProgramHash::default(); group.len()])
            .collect();
        for (slot, &group) in (0..).zip(&self.group_of_slot) {
            let group = group as usize;
            let vectors = self.vectors.get(group).map_or(&[][..], Vec::as_slice);
            let sums = sums.get_mut(group).into_iter().flatten();
            for (sum, vector) in sums.zip(vectors) {
                *sum = sum.plus(ProgramHash::from_slot(slot, &vector.map(i8::cast_unsigned)));
            }
        }
        LayoutHasher {
            layouts: self.clone(),
            sums,
        }
    }
}

/// Hashes configurations by their codes. The hash of a configuration is the sum of the hashes of its slots,
/// so different groupings give the same hash.
#[derive(Debug)]
pub struct LayoutHasher {
    layouts: Layouts,
    sums: Vec<Vec<ProgramHash>>,
}

impl LayoutHasher {
    /// Hash of a configuration. Returns `None` if its parameters do not fit.
    pub fn hash(&self, params: &[u8]) -> Option<ProgramHash> {
        let mut hash = ProgramHash::default();
        for (sums, code) in self.sums.iter().zip(self.layouts.codes(params)?) {
            hash = hash.plus(*sums.get(code)?);
        }
        Some(hash)
    }
}

/// Formats the dimensions of output, input and kernel without padding: `1 0|0 1|`.
fn format_vector(vector: &Vector) -> String {
    let parts = vector.chunks(DIMENSIONS).map(|part| {
        let length = part.iter().rposition(|&dimension| dimension != NONE);
        let dimensions = part.iter().take(length.map_or(0, |last| last + 1));
        let dimensions: Vec<String> = dimensions.map(ToString::to_string).collect();
        dimensions.join(" ")
    });
    parts.collect::<Vec<_>>().join("|")
}

fn parse_vector(text: &str) -> Option<Vector> {
    let mut vector = [NONE; VECTOR_WIDTH];
    let mut parts = text.split('|');
    for slots in vector.chunks_mut(DIMENSIONS) {
        let mut slots = slots.iter_mut();
        for dimension in parts.next()?.split_ascii_whitespace() {
            *slots.next()? = dimension.parse().ok()?;
        }
    }
    parts.next().is_none().then_some(vector)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Layouts {
        let text = r#"{"group_of_slot":[0,1,0],"layouts":[["1 0|0 1|","0 1|0 1|3"],["-1 2||"]]}"#;
        Layouts::parse(text).unwrap()
    }

    #[test]
    fn text_and_layouts_are_the_same() {
        let layouts = sample();
        assert_eq!(Layouts::parse(&layouts.text()).unwrap(), layouts);
        assert!(is_layout(&layouts.text()));
        assert_eq!(layouts.vectors[1][0][..3], [-1, 2, -1]);
        for broken in [
            "",
            "[]",
            r#"{"group_of_slot":[1],"layouts":[["||"]]}"#,
            r#"{"group_of_slot":[0],"layouts":[["|"]]}"#,
            r#"{"group_of_slot":[0],"layouts":[["1 2 3 4 5 6 7||"]]}"#,
        ] {
            assert_eq!(Layouts::parse(broken), None, "{broken}");
        }
    }

    #[test]
    fn codes_become_rows() {
        let layouts = sample();
        let mut row = Vec::new();
        assert!(layouts.expand(&[1, 0], &mut row));
        assert_eq!(row.len(), 3 * VECTOR_WIDTH);
        assert_eq!(row[..2], [0, 1]);
        assert_eq!(row[12], 3);
        assert_eq!(row[18..20], [-1, 2]);
        assert_eq!(row[36..], row[..18]);
        let mut text = Vec::new();
        assert!(layouts.write_steps(&[1, 0], &mut text));
        assert_eq!(text, br#"["0 1|0 1|3", "-1 2||", "0 1|0 1|3"]"#);
        for wrong in [&[2, 0][..], &[0, 1], &[0], &[0, 0, 0]] {
            assert!(!layouts.expand(wrong, &mut row), "{wrong:?}");
            assert_eq!(layouts.hasher().hash(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn the_hash_does_not_depend_on_the_groups() {
        let grouped = sample();
        let vectors = &grouped.vectors;
        let vectors = vec![vectors[0].clone(), vectors[1].clone(), vectors[0].clone()];
        let single = Layouts::new(vec![2, 1, 0], vectors);
        assert_eq!(
            grouped.hasher().hash(&[1, 0]),
            single.hasher().hash(&[1, 0, 1])
        );
        assert_ne!(
            grouped.hasher().hash(&[0, 0]),
            single.hasher().hash(&[1, 0, 1])
        );
    }

    #[test]
    fn many_vectors_take_two_bytes() {
        let vectors = (0..300_i16).map(|n| {
            let mut vector = [NONE; VECTOR_WIDTH];
            vector[0] = i8::try_from(n % 100).unwrap();
            vector[1] = i8::try_from(n / 100).unwrap();
            vector
        });
        let layouts = Layouts::new(vec![0], vec![vectors.collect()]);
        let (mut params, mut row) = (Vec::new(), Vec::new());
        layouts.push(&[258], &mut params);
        assert_eq!(params, [2, 1]);
        assert!(layouts.expand(&params, &mut row));
        assert_eq!(row[..2], [58, 2]);
        assert!(layouts.hasher().hash(&params).is_some());
    }

    #[test]
    fn random_codes_become_numbers_and_come_back() {
        let vector = |n: i8| std::array::from_fn(|index| if index == 0 { n } else { NONE });
        let sizes = [7, 1, 9, 5, 2, 9, 8, 3];
        let vectors = sizes.map(|size| (0..size).map(vector).collect());
        let layouts = Layouts::new((0..8).collect(), vectors.to_vec());
        let mut random = fastrand::Rng::with_seed(1);
        let mut params = Vec::new();
        for _ in 0..1000 {
            let codes = sizes.map(|size| u16::try_from(random.i8(0..size)).unwrap());
            layouts.push(&codes, &mut params);
        }
        let (packed, numbers) = layouts.clone().pack(params.clone());
        assert_eq!(packed.params_length(), 3);
        assert_eq!(Layouts::parse(&packed.text()).unwrap(), packed);
        for (bytes, number) in params.chunks(8).zip(numbers.chunks(3)) {
            assert_eq!(packed.codes(number), layouts.codes(bytes));
            assert_eq!(packed.hasher().hash(number), layouts.hasher().hash(bytes));
        }
        let (none, _) = layouts.clone().pack(Vec::new());
        assert_eq!(none, layouts);
    }
}

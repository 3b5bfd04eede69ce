//! Sorts rows by integers that encode their sort keys and their row index.
//!
//! ```text
//! platform   graph_id     runtime_ns       row
//!     2    |  8 8 1 3  |   1 2 0 4 7   |  0 1 7    one number of 64 or 128 bits
//! ```
//!
//! A key uses as many bits as its range of values needs: the difference from the minimum, or the rank of a string among
//! few distinct ones. Rows whose keys do not fit and whose integers are equal are compared value by value.

use std::collections::HashMap;

use arrow::array::{Array, ArrayRef, AsArray as _, DynComparator, UInt32Array, make_comparator};
use arrow::compute::{SortColumn, SortOptions, cast};
use arrow::datatypes::{DataType, Float32Type, Float64Type, Int64Type, UInt64Type};
use datafusion::common::{Result, exec_datafusion_err};

/// Bits of the wider integers.
const BITS: u32 = u128::BITS;

/// Maximum number of distinct strings that are encoded as ranks.
const MAX_RANKED_TEXTS: usize = 1 << 12;

/// Returns the row indices in the order of `keys`, which must not be empty. The sort is stable.
pub fn sort_indices(keys: &[SortColumn], rows: usize) -> Result<UInt32Array> {
    let last = u32::try_from(rows.saturating_sub(1))
        .map_err(|_| exec_datafusion_err!("{rows} rows are too many to sort at once"))?;
    let place_bits = u32::BITS - last.leading_zeros();
    let mut words = PackedKeys {
        words: vec![0; rows],
        free: BITS - place_bits,
    };
    let held = keys.iter().position(|key| !words.push(key));
    let ties = match held {
        None => Vec::new(),
        Some(held) => comparators(keys.get(held..).unwrap_or_default())?,
    };
    Ok(words.into_row_indices(place_bits, &ties).into())
}

/// Returns comparators for rows whose encoded keys are equal.
fn comparators(keys: &[SortColumn]) -> Result<Vec<DynComparator>> {
    let comparators = keys.iter().map(|key| {
        let options = key.options.unwrap_or_default();
        Ok(make_comparator(&key.values, &key.values, options)?)
    });
    comparators.collect()
}

/// One integer per row, to which keys are appended at the low end.
struct PackedKeys {
    words: Vec<u128>,
    /// Unused high bits.
    free: u32,
}

impl PackedKeys {
    /// Appends a key. Returns whether equal integers now mean equal keys.
    fn push(&mut self, key: &SortColumn) -> bool {
        let SortOptions {
            descending,
            nulls_first,
        } = key.options.unwrap_or_default();
        let values = &key.values;
        let nulls = values
            .logical_nulls()
            .filter(|nulls| nulls.null_count() > 0);
        if let Some(nulls) = &nulls {
            let flags = nulls.iter().map(|valid| u64::from(valid == nulls_first));
            if !self.push_bits(flags, 1) {
                return false;
            }
        }
        let Some(KeyCodes { mut codes, exact }) = KeyCodes::try_from_values(values) else {
            return false;
        };
        let is_valid = |row: usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
        let valid = codes.iter().enumerate().filter(|(row, _)| is_valid(*row));
        let (least, most) = valid.fold((u64::MAX, 0), |(least, most), (_, code)| {
            (least.min(*code), most.max(*code))
        });
        for (row, code) in codes.iter_mut().enumerate() {
            *code = match (is_valid(row), descending) {
                (false, _) => 0,
                (true, false) => *code - least,
                (true, true) => most - *code,
            };
        }
        let bits = u64::BITS - most.saturating_sub(least).leading_zeros();
        self.push_bits(codes.into_iter(), bits) && exact
    }

    /// Appends `bits` bits of each code, or as many high bits as fit. Returns whether all bits fit.
    fn push_bits(&mut self, codes: impl Iterator<Item = u64>, bits: u32) -> bool {
        let taken = bits.min(self.free);
        for (word, code) in self.words.iter_mut().zip(codes) {
            *word = (*word << taken) | (u128::from(code) >> (bits - taken));
        }
        self.free -= taken;
        taken == bits
    }

    /// Returns the row indices in order; ties are resolved by `ties`, then by row index.
    fn into_row_indices(self, place_bits: u32, ties: &[DynComparator]) -> Vec<u32> {
        let Self { words, free } = self;
        // With 64 bits, half as many bytes are moved.
        if free >= u64::BITS {
            let words = words.into_iter().zip(0_u64..);
            let words = words.map(|(word, place)| (low_bits(word) << place_bits) | place);
            sort_packed(words.collect(), place_bits, ties)
        } else {
            let words = words.into_iter().zip(0_u128..);
            let words = words.map(|(word, place)| (word << place_bits) | place);
            sort_packed(words.collect(), place_bits, ties)
        }
    }
}

/// Sorts integers that have the row index in their low bits, and returns the indices.
fn sort_packed<Word: Copy + Ord + Into<u128>>(
    mut words: Vec<Word>,
    place_bits: u32,
    ties: &[DynComparator],
) -> Vec<u32> {
    words.sort_unstable();
    let place = |word: &Word| row_of((*word).into(), place_bits);
    if !ties.is_empty() {
        let key = |word: &Word| (*word).into() >> place_bits;
        for equal in words.chunk_by_mut(|one, next| key(one) == key(next)) {
            equal.sort_unstable_by(|one, other| {
                let (one, other) = (place(one), place(other));
                let mut ties = ties.iter().map(|tie| tie(one as usize, other as usize));
                let first = ties.find(|order| order.is_ne());
                first.unwrap_or_else(|| one.cmp(&other))
            });
        }
    }
    words.iter().map(place).collect()
}

/// Returns the low 64 bits.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the low 64 bits are the result"
)]
fn low_bits(word: u128) -> u64 {
    word as u64
}

/// Returns the row index in the low bits of an integer.
#[expect(clippy::cast_possible_truncation, reason = "32 bits at most are left")]
fn row_of(word: u128, place_bits: u32) -> u32 {
    (word & ((1 << place_bits) - 1)) as u32
}

/// Integers in the order of the values. The codes of NULLs are arbitrary.
struct KeyCodes {
    codes: Vec<u64>,
    /// Whether equal codes mean equal values.
    exact: bool,
}

impl KeyCodes {
    /// Returns `None` for types that must be compared value by value.
    fn try_from_values(values: &ArrayRef) -> Option<Self> {
        use DataType as T;
        let exact = |codes| Some(Self { codes, exact: true });
        match values.data_type() {
            T::Null => exact(vec![0; values.len()]),
            T::Boolean => {
                let values = values.as_boolean().values();
                exact(values.iter().map(u64::from).collect())
            }
            T::UInt64 => exact(values.as_primitive::<UInt64Type>().values().to_vec()),
            T::Float64 => {
                let values = values.as_primitive::<Float64Type>().values();
                let bits = values.iter().map(|value| value.to_bits());
                exact(bits.map(|bits| total_order_bits(bits, u64::BITS)).collect())
            }
            T::Float32 => {
                let values = values.as_primitive::<Float32Type>().values();
                let bits = values.iter().map(|value| u64::from(value.to_bits()));
                exact(bits.map(|bits| total_order_bits(bits, u32::BITS)).collect())
            }
            T::Int8 | T::Int16 | T::Int32 | T::Int64 | T::UInt8 | T::UInt16 | T::UInt32 => {
                exact(integer_codes(values)?)
            }
            T::Date32
            | T::Date64
            | T::Time32(_)
            | T::Time64(_)
            | T::Timestamp(..)
            | T::Duration(_) => exact(integer_codes(values)?),
            T::Utf8 | T::LargeUtf8 | T::Utf8View => {
                let values = cast(values, &T::Utf8View).ok()?;
                let values = values.as_string_view();
                Some(Self::from_texts(values.len(), |row| {
                    values.value(row).as_bytes()
                }))
            }
            T::Binary | T::LargeBinary | T::BinaryView | T::FixedSizeBinary(_) => {
                let values = cast(values, &T::BinaryView).ok()?;
                let values = values.as_binary_view();
                Some(Self::from_texts(values.len(), |row| values.value(row)))
            }
            T::Dictionary(_, of) => Self::try_from_values(&cast(values, of).ok()?),
            _ => None,
        }
    }

    /// Encodes few distinct strings by rank. Many are encoded by their eight bytes after the common prefix.
    fn from_texts<'a>(rows: usize, value: impl Fn(usize) -> &'a [u8]) -> Self {
        if let Some(codes) = dense_ranks(rows, &value) {
            return Self { codes, exact: true };
        }
        let first = value(0);
        let shared = (1..rows).fold(first.len(), |shared, row| {
            let both = first.iter().zip(value(row)).take(shared);
            both.take_while(|(one, other)| one == other).count()
        });
        let codes = (0..rows).map(|row| {
            let mut bytes = [0; size_of::<u64>()];
            let text = value(row).get(shared..).unwrap_or_default();
            for (byte, of_text) in bytes.iter_mut().zip(text) {
                *byte = *of_text;
            }
            u64::from_be_bytes(bytes)
        });
        Self {
            codes: codes.collect(),
            exact: false,
        }
    }
}

/// Returns the rank of each value among the distinct values; `None` if there are more than [`MAX_RANKED_TEXTS`].
fn dense_ranks<'a>(rows: usize, value: impl Fn(usize) -> &'a [u8]) -> Option<Vec<u64>> {
    let mut numbers: HashMap<&[u8], usize> = HashMap::new();
    let mut codes: Vec<usize> = Vec::with_capacity(rows);
    let mut last: Option<(&[u8], usize)> = None;
    for row in 0..rows {
        let value = value(row);
        let number = match last {
            Some((text, number)) if text == value => number,
            _ => {
                let next = numbers.len();
                *numbers.entry(value).or_insert(next)
            }
        };
        if numbers.len() > MAX_RANKED_TEXTS {
            return None;
        }
        last = Some((value, number));
        codes.push(number);
    }
    let mut texts: Vec<(&[u8], usize)> = numbers.into_iter().collect();
    texts.sort_unstable();
    let mut ranks = vec![0; texts.len()];
    for (rank, (_, number)) in texts.into_iter().enumerate() {
        if let Some(of_number) = ranks.get_mut(number) {
            *of_number = rank as u64;
        }
    }
    let ranked = codes.iter().map(|number| ranks.get(*number).copied());
    ranked.collect()
}

/// Encodes integers, and types that are stored as integers.
fn integer_codes(values: &ArrayRef) -> Option<Vec<u64>> {
    let values = cast(values, &DataType::Int64).ok()?;
    let values = values.as_primitive::<Int64Type>().values();
    Some(
        values
            .iter()
            .map(|value| value.cast_unsigned() ^ (1 << 63))
            .collect(),
    )
}

/// Encodes the bits of a float of `of` bits in the order of [`f64::total_cmp`].
fn total_order_bits(bits: u64, of: u32) -> u64 {
    let sign = 1 << (of - 1);
    match bits & sign {
        0 => bits | sign,
        _ => !bits & (sign | (sign - 1)),
    }
}

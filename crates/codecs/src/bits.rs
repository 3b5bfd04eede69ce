//! Fixed-width bit packing of integers.
//!
//! All numbers are zigzag-encoded and share one width: the largest that fits the byte length, up to 64
//! bits. Bits are stored least significant first.

/// Appends `values` with the bit width that the largest of them needs.
pub fn write(values: &[i64], out: &mut Vec<u8>) {
    let encoded: Vec<u64> = values
        .iter()
        .map(|&value| ((value << 1) ^ (value >> 63)).cast_unsigned())
        .collect();
    let needed = encoded
        .iter()
        .map(|value| 64 - value.leading_zeros())
        .max()
        .unwrap_or(0);
    let length = (values.len() * needed as usize).div_ceil(8);
    let Some(width) = bit_width(length, values.len()) else {
        return;
    };
    let (mut buffer, mut count) = (0_u128, 0);
    for value in encoded {
        buffer |= u128::from(value) << count;
        count += width;
        while count >= 8 {
            out.push(u8::try_from(buffer & 0xff).unwrap_or(0));
            buffer >>= 8;
            count -= 8;
        }
    }
    if count > 0 {
        out.push(u8::try_from(buffer & 0xff).unwrap_or(0));
    }
}

/// Bit width of `count` numbers in `length` bytes.
fn bit_width(length: usize, count: usize) -> Option<u32> {
    let bits = length.checked_mul(8)?;
    // A 32-bit division takes half the time.
    let width = match (u32::try_from(bits), u32::try_from(count)) {
        (Ok(bits), Ok(count)) => bits.checked_div(count)?,
        _ => u32::try_from(bits.checked_div(count)?.min(64)).ok()?,
    };
    Some(width.min(64))
}

/// Unpacks exactly `count` numbers from `bytes`. Returns `None` if the length does not match.
pub fn read(bytes: &[u8], count: usize) -> Option<Vec<i64>> {
    let mut values = Vec::with_capacity(count.min(bytes.len() * 8 + 1));
    read_each(bytes, count, |value| {
        values.push(value);
        Some(())
    })?;
    Some(values)
}

/// Calls `each` with the `count` numbers in `bytes`. Returns `None` if the length does not match or `each`
/// returns `None`.
#[inline]
pub(crate) fn read_each(
    bytes: &[u8],
    count: usize,
    mut each: impl FnMut(i64) -> Option<()>,
) -> Option<()> {
    if count == 0 {
        return bytes.is_empty().then_some(());
    }
    let width = bit_width(bytes.len(), count)?;
    if bytes.len() != (count * width as usize).div_ceil(8) {
        return None;
    }
    if width <= 57 {
        let words = Words::new(bytes);
        let mask = (1_u64 << width) - 1;
        let mut first = 0;
        for _ in 0..count {
            each(zigzag_decode(
                (words.at_byte(first / 8) >> (first % 8)) & mask,
            ))?;
            first += width as usize;
        }
        return Some(());
    }
    for index in 0..count {
        let first = index * width as usize;
        let (low, shift) = (Words::new(bytes).at_byte(first / 8), first % 8);
        let high = bytes.get(first / 8 + 8).copied().unwrap_or(0);
        let wide = (u128::from(high) << 64 | u128::from(low)) >> shift;
        each(zigzag_decode(
            u64::try_from(wide & ((1 << width) - 1)).ok()?,
        ))?;
    }
    Some(())
}

/// Bytes from which a 64-bit word can be read at any offset. Bytes past the end read as 0.
enum Words<'a> {
    /// Fewer than eight bytes.
    One(u64),
    Many(&'a [u8]),
}

impl<'a> Words<'a> {
    #[inline]
    fn new(bytes: &'a [u8]) -> Self {
        if bytes.len() >= 8 {
            return Self::Many(bytes);
        }
        let bytes = bytes.iter().rev();
        Self::One(bytes.fold(0, |word, &byte| (word << 8) | u64::from(byte)))
    }

    /// The little-endian 64-bit word at byte `offset`.
    #[inline]
    fn at_byte(&self, offset: usize) -> u64 {
        let (word, excess) = match self {
            Self::One(word) => (*word, offset),
            Self::Many(bytes) => {
                // Reading inside the slice and shifting is faster than a copy padded with zeros.
                let start = offset.min(bytes.len() - 8);
                let word = bytes.get(start..).and_then(<[u8]>::first_chunk);
                (u64::from_le_bytes(*word.unwrap_or(&[0; 8])), offset - start)
            }
        };
        if excess < 8 { word >> (excess * 8) } else { 0 }
    }
}

#[inline]
fn zigzag_decode(encoded: u64) -> i64 {
    (encoded >> 1).cast_signed() ^ -((encoded & 1).cast_signed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_numbers_take_few_bits() {
        let mut out = Vec::new();
        write(&[1, -2, 3, 0], &mut out);
        assert_eq!(
            out,
            [0b0011_0010, 0b0000_0110],
            "four bits each: two bytes have room for them"
        );
    }

    proptest::proptest! {
        #[test]
        fn every_list_comes_back(values: Vec<i64>, small in proptest::collection::vec(-9_i64..9, 0..40)) {
            for values in [values, small] {
                let mut out = Vec::new();
                write(&values, &mut out);
                proptest::prop_assert_eq!(read(&out, values.len()), Some(values));
            }
        }

        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>, count in 0_usize..100) {
            let _ = read(&bytes, count);
        }
    }
}

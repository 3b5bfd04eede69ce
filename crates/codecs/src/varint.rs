//! Variable-length integers: LEB128, seven bits per byte.

/// Appends a signed `value` (zigzag): -64 to 63 take one byte.
pub fn write(value: i64, out: &mut Vec<u8>) {
    write_bits(((value << 1) ^ (value >> 63)).cast_unsigned(), out);
}

/// Appends a non-negative `value`: 0 to 127 take one byte.
pub fn write_unsigned(value: i64, out: &mut Vec<u8>) {
    write_bits(value.cast_unsigned(), out);
}

/// Removes a value written by [`write`](write()) from the front of `bytes`. Returns `None` if they end too
/// early or exceed 64 bits.
pub fn read(bytes: &mut &[u8]) -> Option<i64> {
    let bits = read_bits(bytes)?;
    Some((bits >> 1).cast_signed() ^ -((bits & 1).cast_signed()))
}

/// Removes a value written by [`write_unsigned`] from the front of `bytes`.
pub fn read_unsigned(bytes: &mut &[u8]) -> Option<i64> {
    read_bits(bytes).map(u64::cast_signed)
}

fn write_bits(mut rest: u64, out: &mut Vec<u8>) {
    loop {
        let byte = u8::try_from(rest & 0x7f).unwrap_or(0);
        rest >>= 7;
        if rest == 0 {
            out.push(byte);
            return;
        }
        out.push(byte | 0x80);
    }
}

fn read_bits(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    let mut shift = 0;
    loop {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        if shift == 63 && byte > 1 {
            return None;
        }
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
        shift += 7;
        if shift > 63 {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn every_number_comes_back(values: Vec<i64>) {
            let mut bytes = Vec::new();
            values.iter().for_each(|&value| write(value, &mut bytes));
            let mut rest = bytes.as_slice();
            for value in values {
                proptest::prop_assert_eq!(read(&mut rest), Some(value));
            }
            proptest::prop_assert!(rest.is_empty());
        }

        #[test]
        fn every_unsigned_number_comes_back(value in 0..i64::MAX) {
            let mut bytes = Vec::new();
            write_unsigned(value, &mut bytes);
            proptest::prop_assert_eq!(read_unsigned(&mut bytes.as_slice()), Some(value));
        }

        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let mut rest = bytes.as_slice();
            while read(&mut rest).is_some() {}
        }
    }
}

//! Texts and numbers in the format of protocol 0.

use super::value::Value;

/// Maximum number of digits of an integer, which is Python's limit.
const MAX_DIGITS: usize = 4300;

/// Parses an integer in decimal digits, with or without a sign.
pub(super) fn parse_integer(text: &str) -> Option<Value> {
    if let Ok(number) = text.parse::<i64>() {
        return Some(Value::Int(number));
    }
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_valid = !digits.is_empty() && digits.len() <= MAX_DIGITS;
    let is_valid = is_valid && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_valid.then(|| Value::Digits(text.into()))
}

/// Decodes quoted bytes with the escapes of Python's `repr`.
pub(super) fn unquote(line: &[u8]) -> Option<Vec<u8>> {
    let line = line.trim_ascii_end();
    let [first, inner @ .., last] = line else {
        return None;
    };
    if first != last || !matches!(first, b'"' | b'\'') {
        return None;
    }
    let mut bytes = Vec::with_capacity(inner.len());
    let mut rest = inner;
    while let [byte, after @ ..] = rest {
        rest = after;
        if *byte != b'\\' {
            bytes.push(*byte);
            continue;
        }
        let [escape, after @ ..] = rest else {
            return None;
        };
        rest = after;
        match escape {
            b'\n' => {}
            b'\\' | b'\'' | b'"' => bytes.push(*escape),
            b'a' => bytes.push(7),
            b'b' => bytes.push(8),
            b't' => bytes.push(b'\t'),
            b'n' => bytes.push(b'\n'),
            b'v' => bytes.push(11),
            b'f' => bytes.push(12),
            b'r' => bytes.push(b'\r'),
            b'x' => {
                let (digits, after) = rest.split_at_checked(2)?;
                bytes.push(u8::try_from(parse_hex(digits)?).ok()?);
                rest = after;
            }
            b'0'..=b'7' => {
                let mut code = u32::from(escape - b'0');
                for _ in 0..2 {
                    if let [digit @ b'0'..=b'7', after @ ..] = rest {
                        code = code * 8 + u32::from(digit - b'0');
                        rest = after;
                    }
                }
                // Python keeps the low byte, too.
                bytes.push(code.to_le_bytes()[0]);
            }
            other => bytes.extend([b'\\', *other]),
        }
    }
    Some(bytes)
}

/// Decodes text whose bytes are code points, except for `\u` and `\U` escapes.
pub(super) fn decode_raw_unicode(line: &[u8]) -> Option<String> {
    let mut text = String::with_capacity(line.len());
    let mut rest = line;
    while let [byte, after @ ..] = rest {
        let digits = match rest {
            [b'\\', b'u', ..] => 4,
            [b'\\', b'U', ..] => 8,
            _ => {
                text.push(char::from(*byte));
                rest = after;
                continue;
            }
        };
        let (escape, after) = rest.split_at_checked(2 + digits)?;
        text.push(char::from_u32(parse_hex(escape.get(2..)?)?)?);
        rest = after;
    }
    Some(text)
}

/// Parses hexadecimal digits.
fn parse_hex(digits: &[u8]) -> Option<u32> {
    let mut number = 0_u32;
    for &digit in digits {
        number = number.checked_mul(16)? + char::from(digit).to_digit(16)?;
    }
    Some(number)
}

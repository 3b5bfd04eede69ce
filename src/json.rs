//! Pieces of JSON text, as written: where a string or a number ends, what a list holds.
//!
//! For logs that must come back to the byte; whoever only wants the values takes `serde_json`.

/// Length of the JSON string at the start of `text`, quotes included.
pub(crate) fn string_length(text: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        match text.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => {
                at += match text.get(at + 1)? {
                    b'u' if text.get(at + 2..at + 6)?.iter().all(u8::is_ascii_hexdigit) => 6,
                    b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => 2,
                    _ => return None,
                }
            }
            0..=0x1f => return None,
            _ => at += 1,
        }
    }
}

/// Length of the JSON number at the start of `text`.
pub(crate) fn number_length(text: &[u8]) -> Option<usize> {
    let digits = |from: usize| {
        text.get(from..)
            .unwrap_or(&[])
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count()
    };
    let mut at = usize::from(text.first() == Some(&b'-'));
    let whole = digits(at);
    if whole == 0 || (whole > 1 && text.get(at) == Some(&b'0')) {
        return None;
    }
    at += whole;
    if text.get(at) == Some(&b'.') {
        let fraction = digits(at + 1);
        at += (fraction > 0).then_some(fraction + 1)?;
    }
    if matches!(text.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(text.get(at + 1), Some(b'+' | b'-')));
        let exponent = digits(at + 1 + sign);
        at += (exponent > 0).then_some(exponent + sign + 1)?;
    }
    Some(at)
}

/// `text` (valid JSON) with `, ` and `: ` between and no other space, as TVM and Python write it.
pub(crate) fn spaced(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + text.len() / 4);
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'"' => {
                let rest = text.get(at..).unwrap_or(&[]);
                let length = string_length(rest).unwrap_or(rest.len());
                out.extend_from_slice(rest.get(..length).unwrap_or(rest));
                at += length;
                continue;
            }
            b' ' | b'\t' | b'\r' | b'\n' => {}
            b',' | b':' => out.extend_from_slice(&[byte, b' ']),
            _ => out.push(byte),
        }
        at += 1;
    }
    out
}

/// The elements of the JSON list that `text` is, as written; `None` where it is no list.
pub(crate) fn elements(text: &str) -> Option<Vec<&str>> {
    serde_json::from_str::<Vec<serde::de::IgnoredAny>>(text).ok()?;
    let inner = text.trim().strip_prefix('[')?.strip_suffix(']')?;
    let bytes = inner.as_bytes();
    let (mut elements, mut start, mut at, mut depth) = (Vec::new(), 0, 0, 0_usize);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at += string_length(bytes.get(at..)?)?;
                continue;
            }
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.checked_sub(1)?,
            b',' if depth == 0 => {
                elements.push(inner.get(start..at)?.trim());
                start = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    let last = inner.get(start..)?.trim();
    if !last.is_empty() {
        elements.push(last);
    }
    Some(elements)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_and_numbers_end_where_json_says() {
        assert_eq!(string_length(br#""a\"b" c"#), Some(6));
        assert_eq!(string_length(br#""\u00e9""#), Some(8));
        assert_eq!(
            (
                string_length(br#""a"#),
                string_length(b"\"\n\""),
                string_length(br#""\x""#)
            ),
            (None, None, None)
        );
        assert_eq!(
            (number_length(b"-1.5e+10]"), number_length(b"0,")),
            (Some(8), Some(1))
        );
        assert_eq!(
            (
                number_length(b"01"),
                number_length(b"1."),
                number_length(b"-")
            ),
            (None, None, None)
        );
    }

    #[test]
    fn elements_are_as_written() {
        let text = r#"[ "a,]", [1, [2]] ,{"b": 3}, 1.50 ]"#;
        assert_eq!(
            elements(text),
            Some(vec![r#""a,]""#, "[1, [2]]", r#"{"b": 3}"#, "1.50"])
        );
        assert_eq!(
            (elements("[]"), elements("{}"), elements("[1")),
            (Some(vec![]), None, None)
        );
    }
}

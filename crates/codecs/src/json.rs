//! Scanning of JSON text without changing it: lengths of tokens, elements of lists, members of objects.
//!
//! For logs that must be restored byte for byte. Use `serde_json` if only the values matter.

/// Length of the JSON string at the start of `text`, including quotes.
pub fn string_length(text: &[u8]) -> Option<usize> {
    let mut offset = 1;
    loop {
        let rest = text.get(offset..)?;
        let is_end = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..=0x1f);
        offset += rest.iter().position(is_end)?;
        match text.get(offset)? {
            b'"' => return Some(offset + 1),
            b'\\' => {
                offset += match text.get(offset + 1)? {
                    b'u' if text
                        .get(offset + 2..offset + 6)?
                        .iter()
                        .all(u8::is_ascii_hexdigit) =>
                    {
                        6
                    }
                    b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => 2,
                    _ => return None,
                }
            }
            _ => return None,
        }
    }
}

/// Length of the JSON number at the start of `text`.
pub fn number_length(text: &[u8]) -> Option<usize> {
    let digits = |start: usize| {
        text.get(start..)
            .unwrap_or(&[])
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count()
    };
    let mut position = usize::from(text.first() == Some(&b'-'));
    let integer = digits(position);
    if integer == 0 || (integer > 1 && text.get(position) == Some(&b'0')) {
        return None;
    }
    position += integer;
    if text.get(position) == Some(&b'.') {
        let fraction = digits(position + 1);
        position += (fraction > 0).then_some(fraction + 1)?;
    }
    if matches!(text.get(position), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(text.get(position + 1), Some(b'+' | b'-')));
        let exponent = digits(position + 1 + sign);
        position += (exponent > 0).then_some(exponent + sign + 1)?;
    }
    Some(position)
}

/// Rewrites `text` (valid JSON) with `, ` and `: ` as separators and no other spaces, as TVM and Python
/// write it.
pub fn normalize_spacing(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + text.len() / 4);
    let (mut start, mut position) = (0, 0);
    while let Some(&byte) = text.get(position) {
        match byte {
            b'"' => position += length_at(text, position) - 1,
            b' ' | b'\t' | b'\r' | b'\n' => {
                out.extend_from_slice(text.get(start..position).unwrap_or(&[]));
                start = position + 1;
            }
            b',' | b':' => {
                out.extend_from_slice(text.get(start..=position).unwrap_or(&[]));
                out.push(b' ');
                start = position + 1;
            }
            _ => {}
        }
        position += 1;
    }
    out.extend_from_slice(text.get(start..).unwrap_or(&[]));
    out
}

/// Length of the string at `position`, or of the rest of the text if it does not end.
fn length_at(text: &[u8], position: usize) -> usize {
    let rest = text.get(position..).unwrap_or(&[]);
    string_length(rest).unwrap_or(rest.len())
}

/// Appends `text` as an ASCII JSON string, as Python writes it.
pub fn write_ascii_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    for character in text.chars() {
        match character {
            '\r' => out.extend_from_slice(b"\\r"),
            '\n' => out.extend_from_slice(b"\\n"),
            '\t' => out.extend_from_slice(b"\\t"),
            '\u{8}' => out.extend_from_slice(b"\\b"),
            '\u{c}' => out.extend_from_slice(b"\\f"),
            '\\' => out.extend_from_slice(b"\\\\"),
            '"' => out.extend_from_slice(b"\\\""),
            ' '..='~' => out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
            _ => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    out.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
                }
            }
        }
    }
    out.push(b'"');
}

/// Appends `text` (valid JSON) without spaces between tokens.
pub fn write_compact(text: &[u8], out: &mut Vec<u8>) {
    let (mut start, mut position) = (0, 0);
    while let Some(&byte) = text.get(position) {
        match byte {
            b'"' => position += length_at(text, position) - 1,
            b' ' => {
                out.extend_from_slice(text.get(start..position).unwrap_or(&[]));
                start = position + 1;
            }
            _ => {}
        }
        position += 1;
    }
    out.extend_from_slice(text.get(start..).unwrap_or(&[]));
}

/// Elements of a JSON list, as written. Returns `None` if `text` is not a list.
pub fn elements(text: &str) -> Option<Vec<&str>> {
    serde_json::from_str::<Vec<serde::de::IgnoredAny>>(text).ok()?;
    elements_unchecked(text)
}

/// Elements of a list that is already known to be valid JSON. Returns `None` if `text` is not a list.
///
/// The result is meaningless for invalid JSON.
pub fn elements_unchecked(text: &str) -> Option<Vec<&str>> {
    split_top_level(text.trim().strip_prefix('[')?.strip_suffix(']')?)
}

/// Elements of a list and of the lists and objects nested in it, up to `depth` levels. Each comes as
/// written, after its own elements, with its level from 0.
///
/// Returns `None` if `text` is not a list. The result is meaningless for invalid JSON.
pub fn nested_elements(text: &str, depth: usize) -> Option<Vec<(usize, &str)>> {
    split_nested(text.trim().strip_prefix('[')?.strip_suffix(']')?, depth)
}

/// Keys (with quotes) and values of a JSON object, as written. Returns `None` if `text` is not an object.
pub fn members(text: &str) -> Option<Vec<(&str, &str)>> {
    serde_json::from_str::<serde::de::IgnoredAny>(text).ok()?;
    let inner = text.trim().strip_prefix('{')?.strip_suffix('}')?;
    let mut members = Vec::new();
    for part in split_top_level(inner)? {
        let (key, rest) = part.split_at_checked(string_length(part.as_bytes())?)?;
        members.push((key, rest.trim_start().strip_prefix(':')?.trim()));
    }
    Some(members)
}

/// Splits the inside of a list or object at its top-level commas.
fn split_top_level(inner: &str) -> Option<Vec<&str>> {
    let parts = split_nested(inner, 1)?.into_iter();
    Some(parts.map(|(_, part)| part).collect())
}

/// Splits the inside of a list or object, and of the nested ones, up to `depth` levels.
fn split_nested(inner: &str, depth: usize) -> Option<Vec<(usize, &str)>> {
    let (bytes, mut parts, mut position) = (inner.as_bytes(), Vec::new(), 0);
    let (mut level, mut starts) = (0_usize, vec![0; depth]);
    while let Some(&byte) = bytes.get(position) {
        match byte {
            b'"' => {
                position += string_length(bytes.get(position..)?)?;
                continue;
            }
            b'[' | b'{' => {
                level += 1;
                if let Some(start) = starts.get_mut(level) {
                    *start = position + 1;
                }
            }
            b']' | b'}' | b',' => {
                if let Some(start) = starts.get_mut(level) {
                    let part = inner.get(*start..position)?.trim();
                    if byte == b',' || !part.is_empty() {
                        parts.push((level, part));
                    }
                    *start = position + 1;
                }
                if byte != b',' {
                    level = level.checked_sub(1)?;
                }
            }
            _ => {}
        }
        position += 1;
    }
    let last = inner.get(starts.first().copied()?..)?.trim();
    if !last.is_empty() {
        parts.push((0, last));
    }
    Some(parts)
}

/// Rewrites JSON with sorted object keys and `, ` and `: ` as separators. Strings and numbers stay as
/// written. Returns `None` for invalid JSON.
pub fn canonical(text: &str) -> Option<String> {
    let joined = |parts: Option<Vec<String>>| Some(parts?.join(", "));
    match text.trim_start().as_bytes().first()? {
        b'{' => {
            let mut members = members(text)?;
            members.sort_unstable();
            let formatted = members.into_iter();
            let formatted =
                formatted.map(|(key, value)| Some(format!("{key}: {}", canonical(value)?)));
            Some(format!("{{{}}}", joined(formatted.collect())?))
        }
        b'[' => {
            let formatted = elements(text)?.into_iter().map(canonical);
            Some(format!("[{}]", joined(formatted.collect())?))
        }
        _ => {
            serde_json::from_str::<serde::de::IgnoredAny>(text).ok()?;
            Some(text.trim().to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_and_numbers_end_by_the_json_grammar() {
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
        assert_eq!(elements_unchecked(text), elements(text));
        assert_eq!(elements_unchecked("{}"), None);
        let nested = |depth| nested_elements(r#"[1, [[2, 3] , "]"], []]"#, depth);
        let first = [(0, "1"), (0, r#"[[2, 3] , "]"]"#), (0, "[]")];
        assert_eq!(nested(1), Some(first.to_vec()));
        let second = [first[0], (1, "[2, 3]"), (1, r#""]""#), first[1], first[2]];
        assert_eq!(nested(2), Some(second.to_vec()));
        assert_eq!(nested_elements("{}", 2), None);
        assert_eq!(
            (elements("[]"), elements("{}"), elements("[1")),
            (Some(vec![]), None, None)
        );
    }

    #[test]
    fn members_keep_their_order_or_are_sorted() {
        let text = r#" {"b" :[1.50,{"z":0,"y":"a,b"}], "a":"x\"}" } "#;
        let members = members(text).unwrap();
        assert_eq!(
            members,
            [
                (r#""b""#, r#"[1.50,{"z":0,"y":"a,b"}]"#),
                (r#""a""#, r#""x\"}""#)
            ]
        );
        assert_eq!(
            canonical(text).unwrap(),
            r#"{"a": "x\"}", "b": [1.50, {"y": "a,b", "z": 0}]}"#
        );
        for broken in ["{", "[1", r#"{"a"}"#, "", "nul"] {
            assert_eq!(canonical(broken), None, "{broken}");
        }
    }
}

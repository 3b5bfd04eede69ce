//! Formats workloads and configurations like Python's `json.dumps`.
//!
//! Other tools identify workloads by this text, so it must match byte for byte: `", "` and `": "` as
//! separators, sorted keys, and ASCII only, with escapes.

use std::collections::BTreeMap;

use tsql_codecs::json;

/// Formats an object of integers.
pub(super) fn format_integers(map: &BTreeMap<String, i64>) -> String {
    format_object(map, i64::to_string)
}

/// Formats an object of strings.
pub(super) fn format_texts(map: &BTreeMap<String, String>) -> String {
    format_object(map, |value| format_string(value))
}

fn format_object<V>(map: &BTreeMap<String, V>, format_value: impl Fn(&V) -> String) -> String {
    let members: Vec<String> = map
        .iter()
        .map(|(key, value)| format!("{}: {}", format_string(key), format_value(value)))
        .collect();
    format!("{{{}}}", members.join(", "))
}

/// Formats a string.
pub(super) fn format_string(value: &str) -> String {
    let mut encoded = Vec::with_capacity(value.len() + 2);
    json::write_ascii_string(value, &mut encoded);
    String::from_utf8_lossy(&encoded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected: `json.dumps('a"\\\n\x01\x7fä😀')` of Python 3.11.
    #[test]
    fn text_is_escaped_as_python_does() {
        assert_eq!(
            format_string("a\"\\\n\u{1}\u{7f}ä😀"),
            "\"a\\\"\\\\\\n\\u0001\\u007f\\u00e4\\ud83d\\ude00\""
        );
    }

    #[test]
    fn objects_have_pythons_separators_and_sorted_keys() {
        let map = BTreeMap::from([("M".to_owned(), 128), ("K".to_owned(), -1)]);
        assert_eq!(format_integers(&map), r#"{"K": -1, "M": 128}"#);
        assert_eq!(format_integers(&BTreeMap::new()), "{}");
    }
}

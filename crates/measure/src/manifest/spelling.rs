//! Workloads and configurations as text, spelled as Python's `json.dumps` spells them.
//!
//! Rows that other tools wrote name their workloads so, and a key is only found again where every byte is the same:
//! `", "` and `": "` between, keys in order, all that is not ASCII escaped.

use std::collections::BTreeMap;

use tsql_codecs::json;

/// An object of integers.
pub(super) fn integers(map: &BTreeMap<String, i64>) -> String {
    object(map, i64::to_string)
}

/// An object of texts.
pub(super) fn texts(map: &BTreeMap<String, String>) -> String {
    object(map, |value| text(value))
}

fn object<V>(map: &BTreeMap<String, V>, spell: impl Fn(&V) -> String) -> String {
    let members: Vec<String> = map
        .iter()
        .map(|(key, value)| format!("{}: {}", text(key), spell(value)))
        .collect();
    format!("{{{}}}", members.join(", "))
}

/// A text in quotes.
pub(super) fn text(value: &str) -> String {
    let mut spelled = Vec::with_capacity(value.len() + 2);
    json::write_ascii_string(value, &mut spelled);
    String::from_utf8_lossy(&spelled).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected: `json.dumps('a"\\\n\x01\x7fä😀')` of Python 3.11.
    #[test]
    fn text_is_escaped_as_python_does() {
        assert_eq!(
            text("a\"\\\n\u{1}\u{7f}ä😀"),
            "\"a\\\"\\\\\\n\\u0001\\u007f\\u00e4\\ud83d\\ude00\""
        );
    }

    #[test]
    fn objects_have_pythons_separators_and_sorted_keys() {
        let map = BTreeMap::from([("M".to_owned(), 128), ("K".to_owned(), -1)]);
        assert_eq!(integers(&map), r#"{"K": -1, "M": 128}"#);
        assert_eq!(integers(&BTreeMap::new()), "{}");
    }
}

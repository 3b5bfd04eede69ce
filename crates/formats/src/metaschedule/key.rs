//! Graph keys of records.
//!
//! A record contains only the line number of its workload in another file, counted from 0, and the types of its
//! arguments (a list or `null`). Every database numbers its workloads from 0, so the number alone is not a key.

use tsql_codecs::json;

use crate::log_context::LogContext;

/// Returns the key of a graph whose module has a known structural hash:
/// `["7523732197612418965", [["TENSOR", "float32", [1, 128, 128]]]]`.
pub(super) fn key_of_hash(hash: &str, args_info: &str) -> String {
    format!("[\"{hash}\", {args_info}]")
}

/// Returns the key of a graph whose module is missing. It contains the folder and line number of the workload and the
/// number of the source, which no other database shares: `["resnet34#3", [["TENSOR", ...]], "1c9e...", 5318008]`.
pub(super) fn key_of_place(index: i32, args_info: &str, beside: &LogContext) -> String {
    let mut place = Vec::new();
    json::write_ascii_string(&format!("{}#{index}", beside.folder.name), &mut place);
    let place = String::from_utf8_lossy(&place);
    let (hash, source_id) = (&beside.folder.hash, beside.source_id);
    format!("[{place}, {args_info}, \"{hash}\", {source_id}]")
}

/// Returns the types of the arguments in a key.
pub(super) fn args_info(key: &str) -> Option<&str> {
    json::elements_unchecked(key)?.get(1).copied()
}

/// Returns the structural hash in a key; `None` for a key without a module.
pub fn structural_hash(key: &str) -> Option<u64> {
    match json::elements_unchecked(key)?.as_slice() {
        [hash, _] => hash.strip_prefix('"')?.strip_suffix('"')?.parse().ok(),
        _ => None,
    }
}

/// Returns the folder hash and the line number, from 0, in a key without a module; `None` for other keys.
pub fn workload_place(key: &str) -> Option<(String, i32)> {
    let elements = json::elements_unchecked(key)?;
    let &[place, _, folder_hash, _] = elements.as_slice() else {
        return None;
    };
    let (_, index) = place.strip_suffix('"')?.rsplit_once('#')?;
    let hash = folder_hash.strip_prefix('"')?.strip_suffix('"')?;
    Some((hash.to_owned(), index.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_restore_their_workload() {
        let of_hash = key_of_hash("7523732197612418965", "null");
        assert_eq!(structural_hash(&of_hash), Some(7_523_732_197_612_418_965));
        assert_eq!(workload_place(&of_hash), None);
        let mut beside = LogContext {
            source_id: -5,
            ..LogContext::default()
        };
        (beside.folder.name, beside.folder.hash) = ("a #\"1".to_owned(), "1c9e".to_owned());
        let of_place = key_of_place(3, "[[\"TENSOR\", \"int8\", [1]]]", &beside);
        assert_eq!(structural_hash(&of_place), None);
        assert_eq!(workload_place(&of_place), Some(("1c9e".to_owned(), 3)));
    }
}

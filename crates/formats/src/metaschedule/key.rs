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
/// number of the source, which is unique: `["resnet34#3", [["TENSOR", ...]], "1c9e...", 5318008]`.
pub(super) fn key_of_location(index: i32, args_info: &str, context: &LogContext) -> String {
    let mut location = Vec::new();
    json::write_ascii_string(&format!("{}#{index}", context.folder.name), &mut location);
    let location = String::from_utf8_lossy(&location);
    let (hash, source_id) = (&context.folder.hash, context.source_id);
    format!("[{location}, {args_info}, \"{hash}\", {source_id}]")
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
    let &[location, _, folder_hash, _] = elements.as_slice() else {
        return None;
    };
    let (_, index) = location.strip_suffix('"')?.rsplit_once('#')?;
    let hash = folder_hash.strip_prefix('"')?.strip_suffix('"')?;
    Some((hash.to_owned(), index.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_restore_their_workload() {
        let hash_key = key_of_hash("7523732197612418965", "null");
        assert_eq!(structural_hash(&hash_key), Some(7_523_732_197_612_418_965));
        assert_eq!(workload_place(&hash_key), None);
        let mut context = LogContext {
            source_id: -5,
            ..LogContext::default()
        };
        (context.folder.name, context.folder.hash) = ("a #\"1".to_owned(), "1c9e".to_owned());
        let location_key = key_of_location(3, "[[\"TENSOR\", \"int8\", [1]]]", &context);
        assert_eq!(structural_hash(&location_key), None);
        assert_eq!(workload_place(&location_key), Some(("1c9e".to_owned(), 3)));
    }
}

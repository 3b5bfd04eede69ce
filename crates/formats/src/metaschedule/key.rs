//! What a record knows of its workload, as the key of its graph.
//!
//! A record only has the line of its workload in another file, counted from 0, and the types of its arguments (a
//! list, or `null`). Two databases number their workloads each from 0 on: the number alone is no name.

use tsql_codecs::json;

use crate::beside::Beside;

/// The key of a graph that is known by the structural hash of its module:
/// `["7523732197612418965", [["TENSOR", "float32", [1, 128, 128]]]]`.
pub(super) fn of_hash(hash: &str, args_info: &str) -> String {
    format!("[\"{hash}\", {args_info}]")
}

/// The key of one whose module is not there: folder and place, which say where its workload would be found, and the
/// number of the source, which no other database has: `["resnet34#3", [["TENSOR", ...]], "1c9e...", 5318008]`.
pub(super) fn of_place(index: i32, args_info: &str, beside: &Beside) -> String {
    let mut place = Vec::new();
    json::write_ascii_string(&format!("{}#{index}", beside.folder.name), &mut place);
    let place = String::from_utf8_lossy(&place);
    let (hash, source_id) = (&beside.folder.hash, beside.source_id);
    format!("[{place}, {args_info}, \"{hash}\", {source_id}]")
}

/// The types of the arguments that a key was made of.
pub(super) fn args_info(key: &str) -> Option<&str> {
    json::elements_of_valid(key)?.get(1).copied()
}

/// Returns the structural hash of the module that a key was made of; `None` for a key of a place.
pub fn structural_hash(key: &str) -> Option<u64> {
    match json::elements_of_valid(key)?.as_slice() {
        [hash, _] => hash.strip_prefix('"')?.strip_suffix('"')?.parse().ok(),
        _ => None,
    }
}

/// Returns hash of the folder and place, from 0, of the workload of a key of a place; `None` for a key of a module.
pub fn workload_place(key: &str) -> Option<(String, i32)> {
    let elements = json::elements_of_valid(key)?;
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
    fn keys_lead_back_to_what_they_were_made_of() {
        let of_hash = of_hash("7523732197612418965", "null");
        assert_eq!(structural_hash(&of_hash), Some(7_523_732_197_612_418_965));
        assert_eq!(workload_place(&of_hash), None);
        let mut beside = Beside {
            source_id: -5,
            ..Beside::default()
        };
        (beside.folder.name, beside.folder.hash) = ("a #\"1".to_owned(), "1c9e".to_owned());
        let of_place = of_place(3, "[[\"TENSOR\", \"int8\", [1]]]", &beside);
        assert_eq!(structural_hash(&of_place), None);
        assert_eq!(workload_place(&of_place), Some(("1c9e".to_owned(), 3)));
    }
}

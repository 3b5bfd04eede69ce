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

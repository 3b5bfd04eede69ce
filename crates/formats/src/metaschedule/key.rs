//! What a record knows of its workload, as the key of its graph.

/// What a key begins with.
const NAME: &str = "[\"metaschedule\", ";

/// The key of the graph of a record: `["metaschedule", 3, [["TENSOR", "float32", [1, 128, 128]]]]`.
///
/// A record only has the line of its workload in another file, counted from 0, and the types of its arguments (a
/// list, or `null`). Two databases number their workloads each from 0 on, so this does not tell their graphs apart
/// where the arguments are the same. What links both files puts the structural hash here; the index has to stay
/// beside it, because lines are rebuilt from the key ([`parts`]). Nothing else knows how it is made.
pub(super) fn key(index: &str, args_info: &str) -> String {
    format!("{NAME}{index}, {args_info}]")
}

/// The index and the arguments that a key was made of.
pub(super) fn parts(key: &str) -> Option<(&str, &str)> {
    let inner = key.strip_prefix(NAME)?.strip_suffix(']')?;
    inner.split_once(", ")
}

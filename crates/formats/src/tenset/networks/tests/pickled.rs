//! Writes pickles in the format in which Python pickles TVM objects, for tests.

/// Text.
pub(super) fn text(text: &str) -> Vec<u8> {
    let length = u32::try_from(text.len()).unwrap();
    [b"X", length.to_le_bytes().as_slice(), text.as_bytes()].concat()
}

/// Integer.
pub(super) fn pickled_integer(number: i32) -> Vec<u8> {
    [b"J".as_slice(), &number.to_le_bytes()].concat()
}

/// List.
pub(super) fn list(items: &[Vec<u8>]) -> Vec<u8> {
    [b"](".as_slice(), &items.concat(), b"e"].concat()
}

/// Tuple.
pub(super) fn tuple(items: &[Vec<u8>]) -> Vec<u8> {
    [b"(".as_slice(), &items.concat(), b"t"].concat()
}

/// TVM object: its class, and the dictionary that is its state.
pub(super) fn object(module: &str, class: &str, state: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let state = state.iter();
    let state: Vec<u8> = state
        .flat_map(|(name, value)| [text(name), value.clone()].concat())
        .collect();
    let constructor = format!("ctvm.runtime.object\n_new_object\nc{module}\n{class}\n");
    [constructor.as_bytes(), b"\x85R}(", &state, b"ub"].concat()
}

/// TVM object that is a graph.
pub(super) fn graph(class: &str, nodes: &str) -> Vec<u8> {
    let json = json(nodes);
    object("tvm.of.tests", class, &[("handle", text(&json))])
}

/// Graph of these nodes; the second one is the root.
pub(super) fn json(nodes: &str) -> String {
    format!(
        r#"{{"root": 1, "nodes": [{{"type_key": ""}}, {nodes}],
            "b64ndarrays": [], "attrs": {{"tvm_version": "0.8"}}}}"#
    )
}

/// Complete file.
pub(super) fn file(value: &[u8]) -> Vec<u8> {
    [b"\x80\x04", value, b"."].concat()
}

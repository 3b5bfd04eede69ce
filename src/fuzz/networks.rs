//! What TenSet's `network_info` consists of: pickles, and graphs of nodes in them.

use tsql_formats::pickle::{self, Id, Pickle, Value};
use tsql_formats::tenset::networks;
use tsql_formats::tvm_json::{At, Budget, Graph, decode, post_order};

/// Values that one operation of a byte makes, at most.
const VALUES_A_BYTE: usize = 4;

/// A pickle: no more values than its bytes warrant, none of which refers to what is not there.
pub(super) fn pickle(bytes: &[u8]) {
    if let Ok(read) = pickle::read(bytes) {
        assert!(read.length() <= bytes.len());
        assert!(read.value_count() <= VALUES_A_BYTE * bytes.len());
        let (mut open, mut seen) = (vec![read.root()], std::collections::HashSet::new());
        while let Some(id) = open.pop() {
            if seen.insert(id) {
                open.extend(within(&read, id));
            }
        }
        assert!(seen.len() <= read.value_count());
    }
    let _ = networks::read(bytes);
}

/// The values that one holds.
fn within(pickle: &Pickle, id: Id) -> Vec<Id> {
    let pairs = |pairs: &[(Id, Id)]| pairs.iter().flat_map(|&(a, b)| [a, b]).collect();
    match pickle.get(id) {
        Value::List(items) | Value::Set(items) => items.clone(),
        Value::Tuple(items) | Value::FrozenSet(items) => items.to_vec(),
        Value::Dict(entries) => pairs(entries),
        Value::Global { module, name } => {
            assert!(pickle.text(*module).is_some() && pickle.text(*name).is_some());
            vec![*module, *name]
        }
        Value::Object(object) => {
            assert!(pickle.tuple(object.arguments).is_some());
            let mut all: Vec<Id> = pairs(&object.entries);
            all.extend([object.class, object.arguments]);
            all.extend(object.named.iter().chain(&object.state));
            all.extend(&object.items);
            all
        }
        _ => Vec::new(),
    }
}

/// A graph of TVM: walks over it end, by itself, in base64, and as what a task computes.
pub(super) fn tvm_json(bytes: &[u8]) {
    if let Ok(graph) = Graph::read(bytes) {
        let root = graph.root().expect("it was looked at");
        let mut budget = Budget::of(&graph);
        let arrays = |index| Ok(graph.at(index)?.elements().map(|at| at.index).collect());
        let _ = post_order(&[root.index], arrays, &mut budget);
        let every = |index| Ok(followed(graph.at(index)?));
        let _ = post_order(&[root.index], every, &mut budget);
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = decode(text);
        let _ = networks::read(&task(text));
    }
}

/// The nodes whose places the attributes and elements of one may be.
fn followed(at: At<'_>) -> Vec<usize> {
    let names = at.node.attributes.keys();
    let nodes = names.filter_map(|name| at.follow(name).ok()?);
    let nodes = nodes.chain(at.elements());
    let nodes = nodes.chain(at.entries().into_iter().map(|(_, at)| at));
    nodes.map(|at| at.index).collect()
}

/// A file with one task, everything of which is this graph.
fn task(graph: &str) -> Vec<u8> {
    const NEW: &str = "ctvm.runtime.object\n_new_object\n";
    let mut bytes = b"\x80\x04](".to_vec();
    let text = |text: &str, bytes: &mut Vec<u8>| {
        let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
        bytes.push(b'X');
        bytes.extend(length.to_le_bytes());
        bytes.extend_from_slice(text.as_bytes());
    };
    text(graph, &mut bytes);
    // The text is in the memo, and not in the list.
    bytes.extend(b"q\x000");
    bytes.extend_from_slice(NEW.as_bytes());
    bytes.extend(b"ctvm.auto_scheduler.search_task\nSearchTask\n\x85R}(");
    for (name, key) in [
        ("compute_dag", "tensors"),
        ("target", "handle"),
        ("hardware_params", "handle"),
        ("task_input_names", "handle"),
    ] {
        text(name, &mut bytes);
        bytes.extend_from_slice(NEW.as_bytes());
        bytes.extend(b"ctvm.m\nC\n\x85R}");
        text(key, &mut bytes);
        bytes.extend(b"h\x00sb");
    }
    text("workload_key", &mut bytes);
    text("[]", &mut bytes);
    text("layout_rewrite_option", &mut bytes);
    bytes.extend(b"K\x00ube.");
    bytes
}

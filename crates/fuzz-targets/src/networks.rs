//! Parts of TenSet's `network_info`: pickles, and node graphs in them.

use tsql_formats::pickle::{self, Id, Pickle, Value};
use tsql_formats::tenset::networks;
use tsql_formats::tvm_json::{NodeRef, StepBudget, TvmGraph, decode, post_order};

/// Maximum number of values that one operation byte creates.
const VALUES_A_BYTE: usize = 4;

/// A pickle. The number of values is bounded by its bytes, and all references are valid.
pub(super) fn pickle(bytes: &[u8]) {
    if let Ok(read) = pickle::read(bytes) {
        assert!(read.length() <= bytes.len());
        assert!(read.value_count() <= VALUES_A_BYTE * bytes.len());
        let (mut open, mut seen) = (vec![read.root()], std::collections::HashSet::new());
        while let Some(id) = open.pop() {
            if seen.insert(id) {
                open.extend(child_ids(&read, id));
            }
        }
        assert!(seen.len() <= read.value_count());
    }
    let _ = networks::read(bytes);
}

/// Returns the values that a value contains.
fn child_ids(pickle: &Pickle, id: Id) -> Vec<Id> {
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

/// A TVM graph. Traversal terminates: for the graph itself, in base64, and as the compute graph of a task.
pub(super) fn tvm_json(bytes: &[u8]) {
    if let Ok(graph) = TvmGraph::read(bytes) {
        let root = graph.root().expect("it was looked at");
        let mut budget = StepBudget::for_graph(&graph);
        let arrays = |index| Ok(graph.node(index)?.elements().map(|at| at.index).collect());
        let _ = post_order(&[root.index], arrays, &mut budget);
        let every = |index| Ok(child_nodes(graph.node(index)?));
        let _ = post_order(&[root.index], every, &mut budget);
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = decode(text);
        let _ = networks::read(&task(text));
    }
}

/// Returns the nodes that the attributes and elements of a node may refer to.
fn child_nodes(at: NodeRef<'_>) -> Vec<usize> {
    let names = at.node.attributes.keys();
    let nodes = names.filter_map(|name| at.follow(name).ok()?);
    let nodes = nodes.chain(at.elements());
    let nodes = nodes.chain(at.entries().into_iter().map(|(_, at)| at));
    nodes.map(|at| at.index).collect()
}

/// Returns a file with one task that consists of this graph.
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

//! A node of a graph, in either spelling.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::error::Error;

/// Types of nodes that are lists of nodes.
const ARRAYS: [&str; 3] = ["Array", "ffi.Array", "ffi.List"];

/// Types of nodes that are keys and values.
const MAPS: [&str; 3] = ["Map", "ffi.Map", "ffi.Dict"];

/// Types of nodes that are text.
const TEXTS: [&str; 3] = ["runtime.String", "ffi.String", "ffi.SmallStr"];

/// A node. What it means says its type, which is not looked up anywhere.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "RawNode")]
pub struct Node {
    /// The name of its type; empty, or `None`, of the node that is nothing.
    pub type_key: String,
    /// What it is, where that is text: a string, the name of an operator.
    pub text: Option<String>,
    /// What it is, where that is a number, a truth or another list than one of nodes.
    pub value: Option<Value>,
    /// Its attributes: texts in the older spelling, also where they are numbers or places of nodes.
    pub attributes: Map<String, Value>,
    /// Keys of a map that has texts as keys, one for each of the elements.
    pub(super) keys: Vec<String>,
    /// Places of the elements of an array, of the values of a map with `keys`, else of the keys and values of
    /// a map by turns.
    pub(super) elements: Vec<usize>,
}

impl Node {
    /// Is it an array?
    pub(super) fn is_array(&self) -> bool {
        ARRAYS.contains(&self.type_key.as_str())
    }

    /// Is it a map?
    pub(super) fn is_map(&self) -> bool {
        MAPS.contains(&self.type_key.as_str())
    }
}

/// A node: one of `type_key` and `type` is there.
#[derive(Deserialize)]
struct RawNode {
    type_key: Option<String>,
    #[serde(rename = "type")]
    type_: Option<String>,
    repr_str: Option<String>,
    repr_b64: Option<String>,
    #[serde(default)]
    attrs: Map<String, Value>,
    #[serde(default)]
    keys: Vec<String>,
    #[serde(default)]
    data: Value,
}

impl TryFrom<RawNode> for Node {
    type Error = Error;

    /// Whether there are nodes at the places of its elements only the graph knows.
    fn try_from(raw: RawNode) -> Result<Self, Error> {
        let type_key = raw.type_key.or(raw.type_);
        let mut node = Self {
            type_key: type_key.ok_or_else(|| Error::wrong("it has no type"))?,
            text: raw.repr_str,
            value: None,
            attributes: raw.attrs,
            keys: raw.keys,
            elements: Vec::new(),
        };
        if let Some(encoded) = raw.repr_b64 {
            let bytes = STANDARD.decode(encoded)?;
            let text = String::from_utf8(bytes);
            node.text = Some(text.map_err(|_| Error::wrong("a text that is not UTF-8"))?);
        }
        let is_map = node.is_map();
        match raw.data {
            Value::Null => {}
            Value::Array(data) if is_map || node.is_array() => {
                let element = |element: &Value| {
                    let index = element.as_u64().and_then(|index| index.try_into().ok());
                    index.ok_or_else(|| Error::wrong("an element that is no place"))
                };
                node.elements = data.iter().map(element).collect::<Result<_, _>>()?;
            }
            Value::Object(data) => node.attributes.extend(data),
            Value::String(data) => node.text = Some(data),
            other => node.value = Some(other),
        }
        if node.text.is_none() && TEXTS.contains(&node.type_key.as_str()) {
            // The older spelling leaves out what is empty.
            node.text = Some(String::new());
        }
        let in_step = if node.keys.is_empty() {
            !is_map || node.elements.len().is_multiple_of(2)
        } else {
            node.keys.len() == node.elements.len()
        };
        if in_step {
            Ok(node)
        } else {
            Err(Error::wrong("a map whose keys and values are not as many"))
        }
    }
}

//! Node of a graph, in either format.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::error::Error;

/// Type names of lists of nodes.
const ARRAYS: [&str; 3] = ["Array", "ffi.Array", "ffi.List"];

/// Type names of maps.
const MAPS: [&str; 3] = ["Map", "ffi.Map", "ffi.Dict"];

/// Type names of text.
const TEXTS: [&str; 3] = ["runtime.String", "ffi.String", "ffi.SmallStr"];

/// Node. Its type determines the meaning of its fields; the type is not resolved.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "RawNode")]
pub struct Node {
    /// Type name; empty or `None` for the null node.
    pub type_key: String,
    /// Text of a string or name of an operator.
    pub text: Option<String>,
    /// Number, Boolean, or list of other things than nodes.
    pub value: Option<Value>,
    /// Attributes. In the older format numbers and node indices are texts, too.
    pub attributes: Map<String, Value>,
    /// Keys of a map with texts as keys, one per element.
    pub(super) keys: Vec<String>,
    /// Node indices: the elements of an array, the values of a map with `keys`, else alternating keys and values of a
    /// map.
    pub(super) elements: Vec<usize>,
}

impl Node {
    /// Whether it is an array.
    pub(super) fn is_array(&self) -> bool {
        ARRAYS.contains(&self.type_key.as_str())
    }

    /// Whether it is a map.
    pub(super) fn is_map(&self) -> bool {
        MAPS.contains(&self.type_key.as_str())
    }
}

/// Serialized node; either `type_key` or `type` is present.
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

    /// The indices of the elements are validated by the graph.
    fn try_from(raw: RawNode) -> Result<Self, Error> {
        let type_key = raw.type_key.or(raw.type_);
        let mut node = Self {
            type_key: type_key.ok_or_else(|| Error::wrong("a node without a type"))?,
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
                    index.ok_or_else(|| Error::wrong("an element that is not a node index"))
                };
                node.elements = data.iter().map(element).collect::<Result<_, _>>()?;
            }
            Value::Object(data) => node.attributes.extend(data),
            Value::String(data) => node.text = Some(data),
            other => node.value = Some(other),
        }
        if node.text.is_none() && TEXTS.contains(&node.type_key.as_str()) {
            // The older format omits empty text.
            node.text = Some(String::new());
        }
        let has_matching_keys = if node.keys.is_empty() {
            !is_map || node.elements.len().is_multiple_of(2)
        } else {
            node.keys.len() == node.elements.len()
        };
        if has_matching_keys {
            Ok(node)
        } else {
            Err(Error::wrong(
                "a map with different numbers of keys and values",
            ))
        }
    }
}

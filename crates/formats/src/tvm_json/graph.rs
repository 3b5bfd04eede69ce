//! Graph and references to its nodes.

use std::collections::BTreeMap;
use std::str::FromStr;

use serde::Deserialize;
use serde_json::Value;

use super::error::Error;
use super::node::Node;

/// Graph of nodes.
#[derive(Clone, Debug)]
pub struct TvmGraph {
    nodes: Vec<Node>,
    root: usize,
    /// TVM version that wrote it.
    pub tvm_version: Option<String>,
    /// Arrays of numbers, each as the original base64.
    pub arrays: Vec<String>,
}

/// Serialized graph; either `root` or `root_index` is present.
#[derive(Deserialize)]
struct RawGraph {
    root: Option<u64>,
    root_index: Option<u64>,
    nodes: Vec<Node>,
    #[serde(default)]
    b64ndarrays: Vec<String>,
    #[serde(default)]
    attrs: BTreeMap<String, Value>,
    #[serde(default)]
    metadata: BTreeMap<String, Value>,
}

impl TvmGraph {
    /// Parses a graph.
    ///
    /// # Errors
    /// Returns an error for invalid JSON, other JSON, and invalid indices of the root or of elements.
    pub fn read(json: &[u8]) -> Result<Self, Error> {
        let raw: RawGraph = serde_json::from_slice(json)?;
        let count = raw.nodes.len();
        let root = raw.root.or(raw.root_index);
        let root = root.ok_or_else(|| Error::wrong("a graph without a root"))?;
        let root = check_index(root, count)?;
        let version = raw.attrs.get("tvm_version");
        let version = version.or_else(|| raw.metadata.get("tvm_version"));
        let tvm_version = version.and_then(Value::as_str).map(str::to_owned);
        for (index, node) in raw.nodes.iter().enumerate() {
            if let Some(&element) = node.elements.iter().find(|&&element| element >= count) {
                let error = no_node_error(element as u64, count);
                return Err(Error::wrong(format!("node {index}: {error}")));
            }
        }
        Ok(Self {
            nodes: raw.nodes,
            root,
            tvm_version,
            arrays: raw.b64ndarrays,
        })
    }

    /// Root node.
    ///
    /// # Errors
    /// Never fails, because the index was validated when the graph was read.
    pub fn root(&self) -> Result<NodeRef<'_>, Error> {
        self.node(self.root)
    }

    /// Returns the node at an index.
    ///
    /// # Errors
    /// Returns an error if the index is out of range.
    pub fn node(&self, index: usize) -> Result<NodeRef<'_>, Error> {
        let node = self.nodes.get(index);
        let node = node.ok_or_else(|| no_node_error(index as u64, self.nodes.len()))?;
        Ok(NodeRef {
            graph: self,
            index,
            node,
        })
    }

    /// All nodes.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Number of nodes, elements and text bytes: the cost of one walk over the whole graph.
    pub fn size(&self) -> u64 {
        let sizes = self.nodes.iter().map(|node| {
            let text = node.text.as_ref().map_or(0, String::len);
            (1 + node.elements.len() + text) as u64
        });
        sizes.sum()
    }
}

fn no_node_error(index: u64, count: usize) -> Error {
    Error::wrong(format!("no node {index} in a graph of {count} nodes"))
}

/// Converts an index and checks that it is in range.
fn check_index(index: u64, count: usize) -> Result<usize, Error> {
    let checked = usize::try_from(index)
        .ok()
        .filter(|&checked| checked < count);
    checked.ok_or_else(|| no_node_error(index, count))
}

/// Reference to a node of a graph.
#[derive(Clone, Copy, Debug)]
pub struct NodeRef<'a> {
    graph: &'a TvmGraph,
    /// Index of the node.
    pub index: usize,
    /// Node.
    pub node: &'a Node,
}

impl<'a> NodeRef<'a> {
    /// Type name.
    pub fn type_key(self) -> &'a str {
        &self.node.type_key
    }

    /// Whether it is the null node.
    pub fn is_nothing(self) -> bool {
        matches!(self.type_key(), "" | "None")
    }

    /// Whether it is an array.
    pub fn is_array(self) -> bool {
        self.node.is_array()
    }

    /// Returns the text of a text node.
    pub fn text(self) -> Option<&'a str> {
        self.node.text.as_deref()
    }

    fn wrong(self, problem: &str) -> Error {
        let Self { index, node, .. } = self;
        Error::wrong(format!("node {index} ({}) {problem}", node.type_key))
    }

    /// Returns an attribute.
    ///
    /// # Errors
    /// Returns an error if the attribute is missing.
    pub fn attribute(self, name: &str) -> Result<&'a Value, Error> {
        let value = self.node.attributes.get(name);
        value.ok_or_else(|| self.wrong(&format!("has no {name:?}")))
    }

    /// Returns a text attribute.
    ///
    /// # Errors
    /// Returns an error if the attribute is missing or not text.
    pub fn text_attribute(self, name: &str) -> Result<&'a str, Error> {
        let text = self.attribute(name)?.as_str();
        text.ok_or_else(|| self.wrong(&format!("has no text as {name:?}")))
    }

    /// Returns a number attribute in the format of either version.
    fn number_attribute<T: FromStr>(self, name: &str) -> Result<T, Error> {
        let number = match self.attribute(name)? {
            Value::String(text) => text.parse().ok(),
            Value::Number(number) => number.to_string().parse().ok(),
            _ => None,
        };
        number.ok_or_else(|| self.wrong(&format!("has an invalid number as {name:?}")))
    }

    /// Returns an integer attribute.
    ///
    /// # Errors
    /// Returns an error if the attribute is missing or not an integer.
    pub fn integer_attribute(self, name: &str) -> Result<i64, Error> {
        self.number_attribute(name)
    }

    /// Returns the node that an attribute references; `None` for `null` and for the null node.
    ///
    /// # Errors
    /// Returns an error if the attribute is missing or the index is invalid.
    pub fn follow(self, name: &str) -> Result<Option<NodeRef<'a>>, Error> {
        match self.attribute(name)? {
            Value::Null => return Ok(None),
            Value::String(text) if text == "null" => return Ok(None),
            _ => {}
        }
        let index = self.number_attribute(name)?;
        let count = self.graph.nodes.len();
        let node = self.graph.node(check_index(index, count)?)?;
        Ok((!node.is_nothing()).then_some(node))
    }

    /// Returns the node that an attribute references, which must not be null.
    ///
    /// # Errors
    /// Returns an error if the attribute is missing or null, or the index is invalid.
    pub fn follow_required(self, name: &str) -> Result<NodeRef<'a>, Error> {
        let node = self.follow(name)?;
        node.ok_or_else(|| self.wrong(&format!("has no node as {name:?}")))
    }

    /// Returns the elements of an array; empty for other nodes.
    pub fn elements(self) -> impl DoubleEndedIterator<Item = NodeRef<'a>> + ExactSizeIterator {
        let elements: &[usize] = if self.is_array() {
            &self.node.elements
        } else {
            &[]
        };
        let graph = self.graph;
        elements.iter().map(move |&index| NodeRef {
            graph,
            index,
            // The index was validated when the graph was read.
            node: graph.nodes.get(index).unwrap_or(self.node),
        })
    }

    /// Returns the elements of the array that an attribute references; empty for null.
    ///
    /// # Errors
    /// Returns an error if the attribute is missing or does not reference an array.
    pub fn follow_list(self, name: &str) -> Result<Vec<NodeRef<'a>>, Error> {
        match self.follow(name)? {
            None => Ok(Vec::new()),
            Some(array) if array.is_array() => Ok(array.elements().collect()),
            Some(_) => Err(self.wrong(&format!("has no array as {name:?}"))),
        }
    }

    /// Returns keys and values of a map with nodes as keys; empty for other nodes.
    pub fn pairs(self) -> impl ExactSizeIterator<Item = (NodeRef<'a>, NodeRef<'a>)> {
        let has_node_keys = self.node.is_map() && self.node.keys.is_empty();
        let elements: &[usize] = if has_node_keys {
            &self.node.elements
        } else {
            &[]
        };
        let graph = self.graph;
        let node_at = move |index: usize| NodeRef {
            graph,
            index,
            // The index was validated when the graph was read.
            node: graph.nodes.get(index).unwrap_or(self.node),
        };
        let (pairs, _) = elements.as_chunks();
        pairs
            .iter()
            .map(move |&[key, value]| (node_at(key), node_at(value)))
    }

    /// Returns keys and values of a map with texts as keys; empty for other nodes.
    pub fn entries(self) -> Vec<(&'a str, NodeRef<'a>)> {
        let elements = &self.node.elements;
        if !self.node.is_map() {
            return Vec::new();
        }
        let node_at = |index: &usize| self.graph.node(*index).ok();
        if self.node.keys.is_empty() {
            let (pairs, _) = elements.as_chunks();
            let pairs = pairs.iter();
            let pairs =
                pairs.filter_map(|[key, value]| Some((node_at(key)?.text()?, node_at(value)?)));
            pairs.collect()
        } else {
            let keys = self.node.keys.iter().map(String::as_str);
            let entries = keys.zip(elements);
            let entries = entries.filter_map(|(key, value)| Some((key, node_at(value)?)));
            entries.collect()
        }
    }

    /// Returns the value of a text key in a map.
    pub fn entry(self, key: &str) -> Option<NodeRef<'a>> {
        let mut entries = self.entries().into_iter();
        entries.find_map(|(name, value)| (name == key).then_some(value))
    }
}

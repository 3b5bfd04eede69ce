//! A graph, and places in it.

use std::collections::BTreeMap;
use std::str::FromStr;

use serde::Deserialize;
use serde_json::Value;

use super::error::Error;
use super::node::Node;

/// A graph of nodes.
#[derive(Clone, Debug)]
pub struct Graph {
    nodes: Vec<Node>,
    root: usize,
    /// The version of TVM that wrote it.
    pub tvm_version: Option<String>,
    /// Arrays of numbers, each in base64 as it was written.
    pub arrays: Vec<String>,
}

/// A graph: one of `root` and `root_index` is there.
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

impl Graph {
    /// Reads a graph.
    ///
    /// # Errors
    /// What is no JSON or no graph; a root or an element that is no node of it.
    pub fn read(json: &[u8]) -> Result<Self, Error> {
        let raw: RawGraph = serde_json::from_slice(json)?;
        let count = raw.nodes.len();
        let root = raw.root.or(raw.root_index);
        let root = root.ok_or_else(|| Error::wrong("a graph without a root"))?;
        let root = place(root, count)?;
        let version = raw.attrs.get("tvm_version");
        let version = version.or_else(|| raw.metadata.get("tvm_version"));
        let tvm_version = version.and_then(Value::as_str).map(str::to_owned);
        for (index, node) in raw.nodes.iter().enumerate() {
            if let Some(&element) = node.elements.iter().find(|&&element| element >= count) {
                let error = no_node(element as u64, count);
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

    /// The node that it is the graph of.
    ///
    /// # Errors
    /// None: it was looked at when the graph was read.
    pub fn root(&self) -> Result<At<'_>, Error> {
        self.at(self.root)
    }

    /// The node at a place.
    ///
    /// # Errors
    /// There is none.
    pub fn at(&self, index: usize) -> Result<At<'_>, Error> {
        let node = self.nodes.get(index);
        let node = node.ok_or_else(|| no_node(index as u64, self.nodes.len()))?;
        Ok(At {
            graph: self,
            index,
            node,
        })
    }

    /// All of its nodes.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// How many nodes, elements of nodes and bytes of their texts there are: what a walk over all of it passes once.
    pub fn size(&self) -> u64 {
        let sizes = self.nodes.iter().map(|node| {
            let text = node.text.as_ref().map_or(0, String::len);
            (1 + node.elements.len() + text) as u64
        });
        sizes.sum()
    }
}

fn no_node(index: u64, count: usize) -> Error {
    Error::wrong(format!("node {index} of a graph of {count} nodes"))
}

/// A place that there is in a graph of so many nodes.
fn place(index: u64, count: usize) -> Result<usize, Error> {
    let place = usize::try_from(index).ok().filter(|&place| place < count);
    place.ok_or_else(|| no_node(index, count))
}

/// A node in its graph.
#[derive(Clone, Copy, Debug)]
pub struct At<'a> {
    graph: &'a Graph,
    /// Its place.
    pub index: usize,
    /// The node.
    pub node: &'a Node,
}

impl<'a> At<'a> {
    /// The name of its type.
    pub fn type_key(self) -> &'a str {
        &self.node.type_key
    }

    /// Is it the one that is nothing?
    pub fn is_nothing(self) -> bool {
        matches!(self.type_key(), "" | "None")
    }

    /// Is it an array?
    pub fn is_array(self) -> bool {
        self.node.is_array()
    }

    /// Its text, where it is one.
    pub fn text(self) -> Option<&'a str> {
        self.node.text.as_deref()
    }

    fn wrong(self, what: &str) -> Error {
        let Self { index, node, .. } = self;
        Error::wrong(format!("node {index} ({}) {what}", node.type_key))
    }

    /// An attribute.
    ///
    /// # Errors
    /// It has none of this name.
    pub fn attribute(self, name: &str) -> Result<&'a Value, Error> {
        let value = self.node.attributes.get(name);
        value.ok_or_else(|| self.wrong(&format!("has no {name:?}")))
    }

    /// An attribute that is text.
    ///
    /// # Errors
    /// It has none of this name, or it is no text.
    pub fn word(self, name: &str) -> Result<&'a str, Error> {
        let word = self.attribute(name)?.as_str();
        word.ok_or_else(|| self.wrong(&format!("has something else as {name:?} than text")))
    }

    /// An attribute that is a number, in the spelling of either version.
    fn number<T: FromStr>(self, name: &str) -> Result<T, Error> {
        let number = match self.attribute(name)? {
            Value::String(text) => text.parse().ok(),
            Value::Number(number) => number.to_string().parse().ok(),
            _ => None,
        };
        number.ok_or_else(|| self.wrong(&format!("has no such number as {name:?} should be")))
    }

    /// An attribute that is a whole number.
    ///
    /// # Errors
    /// It has none of this name, or it is no whole number.
    pub fn whole(self, name: &str) -> Result<i64, Error> {
        self.number(name)
    }

    /// The node whose place an attribute is; the one that is nothing where it is `null`.
    ///
    /// # Errors
    /// It has none of this name, or there is no such node.
    pub fn follow(self, name: &str) -> Result<Option<At<'a>>, Error> {
        match self.attribute(name)? {
            Value::Null => return Ok(None),
            Value::String(text) if text == "null" => return Ok(None),
            _ => {}
        }
        let index = self.number(name)?;
        let count = self.graph.nodes.len();
        let at = self.graph.at(place(index, count)?)?;
        Ok((!at.is_nothing()).then_some(at))
    }

    /// The node whose place an attribute is, which has to be something.
    ///
    /// # Errors
    /// It has none of this name, there is no such node, or it is nothing.
    pub fn follow_to(self, name: &str) -> Result<At<'a>, Error> {
        let at = self.follow(name)?;
        at.ok_or_else(|| self.wrong(&format!("has nothing as {name:?}")))
    }

    /// The elements of an array; of anything else, none.
    pub fn elements(self) -> impl DoubleEndedIterator<Item = At<'a>> + ExactSizeIterator {
        let elements: &[usize] = if self.is_array() {
            &self.node.elements
        } else {
            &[]
        };
        let graph = self.graph;
        elements.iter().map(move |&index| At {
            graph,
            index,
            // It was looked at when the graph was read.
            node: graph.nodes.get(index).unwrap_or(self.node),
        })
    }

    /// The elements of the array whose place an attribute is; none where that is nothing.
    ///
    /// # Errors
    /// It has none of this name, or it is no array.
    pub fn list(self, name: &str) -> Result<Vec<At<'a>>, Error> {
        match self.follow(name)? {
            None => Ok(Vec::new()),
            Some(array) if array.is_array() => Ok(array.elements().collect()),
            Some(_) => Err(self.wrong(&format!("has no array as {name:?}"))),
        }
    }

    /// Keys and values of a map that has nodes as keys; of anything else, none.
    pub fn pairs(self) -> impl ExactSizeIterator<Item = (At<'a>, At<'a>)> {
        let is_one = self.node.is_map() && self.node.keys.is_empty();
        let elements: &[usize] = if is_one { &self.node.elements } else { &[] };
        let graph = self.graph;
        let at = move |index: usize| At {
            graph,
            index,
            // It was looked at when the graph was read.
            node: graph.nodes.get(index).unwrap_or(self.node),
        };
        let (pairs, _) = elements.as_chunks();
        pairs.iter().map(move |&[key, value]| (at(key), at(value)))
    }

    /// Keys and values of a map that has texts as keys; of anything else, none.
    pub fn entries(self) -> Vec<(&'a str, At<'a>)> {
        let elements = &self.node.elements;
        if !self.node.is_map() {
            return Vec::new();
        }
        let at = |index: &usize| self.graph.at(*index).ok();
        if self.node.keys.is_empty() {
            let (pairs, _) = elements.as_chunks();
            let pairs = pairs.iter();
            let pairs = pairs.filter_map(|[key, value]| Some((at(key)?.text()?, at(value)?)));
            pairs.collect()
        } else {
            let keys = self.node.keys.iter().map(String::as_str);
            let entries = keys.zip(elements);
            let entries = entries.filter_map(|(key, value)| Some((key, at(value)?)));
            entries.collect()
        }
    }

    /// What a map has under a text.
    pub fn entry(self, key: &str) -> Option<At<'a>> {
        let mut entries = self.entries().into_iter();
        entries.find_map(|(name, value)| (name == key).then_some(value))
    }
}

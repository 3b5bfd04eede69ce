//! A graph, and places in it.

use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::error::Error;
use super::raw::{RawGraph, RawNode};

/// Types of nodes that are lists of nodes.
const ARRAYS: [&str; 3] = ["Array", "ffi.Array", "ffi.List"];

/// Types of nodes that are keys and values.
const MAPS: [&str; 3] = ["Map", "ffi.Map", "ffi.Dict"];

/// Types of nodes that are text.
const TEXTS: [&str; 3] = ["runtime.String", "ffi.String", "ffi.SmallStr"];

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

/// A node. What it means says its type, which is not looked up anywhere.
#[derive(Clone, Debug, PartialEq)]
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
    keys: Vec<String>,
    /// Places of the elements of an array, of the values of a map with `keys`, else of the keys and values of
    /// a map by turns.
    elements: Vec<usize>,
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
        let nodes = raw.nodes.into_iter().enumerate();
        let nodes = nodes.map(|(index, node)| {
            Node::read(node, count).map_err(|error| Error::wrong(format!("node {index}: {error}")))
        });
        Ok(Self {
            nodes: nodes.collect::<Result<_, _>>()?,
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

impl Node {
    fn read(raw: RawNode, count: usize) -> Result<Self, Error> {
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
        let is_map = MAPS.contains(&node.type_key.as_str());
        match raw.data {
            Value::Null => {}
            Value::Array(data) if is_map || ARRAYS.contains(&node.type_key.as_str()) => {
                let element = |element: &Value| {
                    let index = element.as_u64();
                    let index = index.ok_or_else(|| Error::wrong("an element that is no place"))?;
                    place(index, count)
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
        ARRAYS.contains(&self.type_key())
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
        let is_one = MAPS.contains(&self.type_key()) && self.node.keys.is_empty();
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
        if !MAPS.contains(&self.type_key()) {
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

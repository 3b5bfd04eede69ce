//! Compilation target of a task.

use std::collections::BTreeMap;

use super::text;
use crate::tvm_json::{Error, NodeRef, StepBudget, TvmGraph};

/// Target.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// Kind: `llvm`, `cuda`.
    pub kind: String,
    /// Keys that select schedules.
    pub keys: Vec<String>,
    /// Tag; empty if there is none.
    pub tag: String,
    /// Attributes by name.
    pub attributes: BTreeMap<String, TargetValue>,
    /// Target of the host, if separate.
    pub host: Option<Box<Target>>,
    /// TVM version that wrote it.
    pub tvm_version: Option<String>,
}

/// Value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum TargetValue {
    /// Boolean.
    Flag(bool),
    /// Integer.
    Whole(i64),
    /// Text.
    Text(String),
    /// List of other values.
    List(Vec<TargetValue>),
}

impl Target {
    /// Reads the target of a graph. Its host has no host of its own.
    pub(super) fn read(graph: &TvmGraph) -> Result<Self, Error> {
        let (node, budget) = (graph.root()?, &mut StepBudget::for_graph(graph));
        let version = graph.tvm_version.as_deref();
        let mut target = Self::read_without_host(node, version, budget)?;
        if node.node.attributes.contains_key("host")
            && let Some(host) = node.follow("host")?
        {
            let host = Self::read_without_host(host, version, budget)?;
            target.host = Some(Box::new(host));
        }
        Ok(target)
    }

    fn read_without_host(
        node: NodeRef<'_>,
        tvm_version: Option<&str>,
        budget: &mut StepBudget,
    ) -> Result<Self, Error> {
        let kind = node.follow_required("kind")?.follow_required("name")?;
        let tag = match node.follow("tag")? {
            Some(tag) => text::read_text(tag, budget)?,
            None => String::new(),
        };
        let attributes = match node.follow("attrs")? {
            Some(attributes) => attributes.entries(),
            None => Vec::new(),
        };
        let attributes = attributes.into_iter().map(|(name, value)| {
            let value = TargetValue::read(value, budget)?;
            Ok((name.to_owned(), value))
        });
        let attributes = attributes.collect::<Result<_, Error>>()?;
        Ok(Self {
            kind: text::read_text(kind, budget)?,
            keys: text::read_texts(node.follow_list("keys")?, budget)?,
            tag,
            attributes,
            host: None,
            tvm_version: tvm_version.map(str::to_owned),
        })
    }

    /// Formats the target like TVM 0.8, and so like log records: attributes sorted by name, and a trailing space if
    /// there are none.
    pub fn text(&self) -> String {
        let mut text = self.kind.clone();
        if !self.keys.is_empty() {
            text.push_str(" -keys=");
            text.push_str(&self.keys.join(","));
        }
        let attributes = self.attributes.iter();
        let attributes = attributes.map(|(name, value)| format!("-{name}={}", value.text()));
        let attributes: Vec<String> = attributes.collect();
        text.push(' ');
        text.push_str(&attributes.join(" "));
        text
    }
}

impl TargetValue {
    fn read(node: NodeRef<'_>, budget: &mut StepBudget) -> Result<Self, Error> {
        if !node.is_array() {
            return Self::read_one(node, budget);
        }
        let elements = node.elements();
        let elements = elements.map(|element| Self::read_one(element, budget));
        elements.collect::<Result<_, _>>().map(Self::List)
    }

    fn read_one(node: NodeRef<'_>, budget: &mut StepBudget) -> Result<Self, Error> {
        budget.take(1)?;
        if node.type_key() == "IntImm" {
            let number = node.integer_attribute("value")?;
            return Ok(match node.text_attribute("dtype")? {
                "bool" => Self::Flag(number != 0),
                _ => Self::Whole(number),
            });
        }
        text::read_text(node, budget).map(Self::Text)
    }

    /// Formats the value like TVM 0.8.
    pub fn text(&self) -> String {
        match self {
            Self::Flag(flag) => u8::from(*flag).to_string(),
            Self::Whole(number) => number.to_string(),
            Self::Text(text) => text.clone(),
            Self::List(values) => {
                let texts: Vec<String> = values.iter().map(Self::text).collect();
                texts.join(",")
            }
        }
    }
}

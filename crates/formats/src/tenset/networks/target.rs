//! What a task is compiled for.

use std::collections::BTreeMap;

use super::text;
use crate::tvm_json::{At, Budget, Error, Graph};

/// A target.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// Its kind: `llvm`, `cuda`.
    pub kind: String,
    /// What schedules are chosen by.
    pub keys: Vec<String>,
    /// Its tag, empty where it has none.
    pub tag: String,
    /// Its attributes by name.
    pub attributes: BTreeMap<String, TargetValue>,
    /// The target of the host, where it has one of its own.
    pub host: Option<Box<Target>>,
    /// The version of TVM that wrote it.
    pub tvm_version: Option<String>,
}

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum TargetValue {
    /// A truth.
    Flag(bool),
    /// A whole number.
    Whole(i64),
    /// Text.
    Text(String),
    /// A list of the others.
    List(Vec<TargetValue>),
}

impl Target {
    /// Reads the target that a graph is of. A host of its own has none.
    pub(super) fn read(graph: &Graph) -> Result<Self, Error> {
        let (at, budget) = (graph.root()?, &mut Budget::of(graph));
        let version = graph.tvm_version.as_deref();
        let mut target = Self::without_host(at, version, budget)?;
        if at.node.attributes.contains_key("host")
            && let Some(host) = at.follow("host")?
        {
            let host = Self::without_host(host, version, budget)?;
            target.host = Some(Box::new(host));
        }
        Ok(target)
    }

    fn without_host(
        at: At<'_>,
        tvm_version: Option<&str>,
        budget: &mut Budget,
    ) -> Result<Self, Error> {
        let kind = at.follow_to("kind")?.follow_to("name")?;
        let tag = match at.follow("tag")? {
            Some(tag) => text::one(tag, budget)?,
            None => String::new(),
        };
        let attributes = match at.follow("attrs")? {
            Some(attributes) => attributes.entries(),
            None => Vec::new(),
        };
        let attributes = attributes.into_iter().map(|(name, at)| {
            let value = TargetValue::read(at, budget)?;
            Ok((name.to_owned(), value))
        });
        let attributes = attributes.collect::<Result<_, Error>>()?;
        Ok(Self {
            kind: text::one(kind, budget)?,
            keys: text::all(at.list("keys")?, budget)?,
            tag,
            attributes,
            host: None,
            tvm_version: tvm_version.map(str::to_owned),
        })
    }

    /// The target as TVM 0.8 spells it, and so as records of logs have it: attributes in the order of their
    /// names, and a space at the end where there are none.
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
    fn read(at: At<'_>, budget: &mut Budget) -> Result<Self, Error> {
        if !at.is_array() {
            return Self::read_one(at, budget);
        }
        let elements = at.elements();
        let elements = elements.map(|element| Self::read_one(element, budget));
        elements.collect::<Result<_, _>>().map(Self::List)
    }

    fn read_one(at: At<'_>, budget: &mut Budget) -> Result<Self, Error> {
        budget.take(1)?;
        if at.type_key() == "IntImm" {
            let number = at.whole("value")?;
            return Ok(match at.word("dtype")? {
                "bool" => Self::Flag(number != 0),
                _ => Self::Whole(number),
            });
        }
        text::one(at, budget).map(Self::Text)
    }

    /// The value as TVM 0.8 spells it.
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

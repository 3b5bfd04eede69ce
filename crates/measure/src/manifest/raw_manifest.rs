//! Serde types of a manifest: its keys and their types, before names are resolved and sizes computed.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};

use super::super::trial::{Dtype, Language, Metric, Role, Settings, Value};
use crate::error::{Error, Result};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TypedManifest {
    pub(super) program: TypedProgram,
    #[serde(default, rename = "workload")]
    pub(super) workloads: Vec<TypedWorkload>,
    #[serde(default, rename = "arg")]
    pub(super) arguments: Vec<TypedArgument>,
    #[serde(default)]
    pub(super) space: TypedSpace,
    pub(super) launch: Option<TypedLaunch>,
    pub(super) check: Option<TypedCheck>,
    #[serde(default, rename = "measure")]
    pub(super) settings: Settings,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TypedProgram {
    pub(super) name: String,
    pub(super) language: Language,
    pub(super) source: Option<String>,
    pub(super) files: Option<Vec<String>>,
    pub(super) entry: String,
    pub(super) flags: Option<Vec<String>>,
    #[serde(default)]
    pub(super) tags: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TypedWorkload {
    #[serde(default)]
    pub(super) params: BTreeMap<String, Sizes>,
    pub(super) flops: Option<Formula>,
    pub(super) bytes: Option<Formula>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected an integer or a list of integers")]
pub(super) enum Sizes {
    One(i64),
    Many(Vec<i64>),
}

/// An expression or a number.
#[derive(Clone, Deserialize)]
#[serde(untagged, expecting = "expected an integer or an expression in quotes")]
pub(super) enum Formula {
    Number(i64),
    Text(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TypedArgument {
    pub(super) name: String,
    pub(super) kind: ArgumentKind,
    pub(super) dtype: Dtype,
    pub(super) shape: Option<Vec<Formula>>,
    pub(super) role: Option<Role>,
    pub(super) init: Option<String>,
    pub(super) value: Option<ScalarValue>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ArgumentKind {
    Buffer,
    Scalar,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a number or an expression in quotes")]
pub(super) enum ScalarValue {
    Number(Value),
    Text(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TypedLaunch {
    pub(super) grid: Vec<Formula>,
    pub(super) block: Vec<Formula>,
    pub(super) shared_bytes: Option<Formula>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TypedCheck {
    pub(super) reference: TypedReference,
    pub(super) rtol: Option<f64>,
    pub(super) atol: Option<f64>,
    pub(super) metric: Option<Metric>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TypedReference {
    pub(super) source: String,
    pub(super) entry: String,
    pub(super) language: Option<Language>,
    pub(super) flags: Option<Vec<String>>,
}

/// Any name except `constraints` is a knob.
#[derive(Default)]
pub(super) struct TypedSpace {
    pub(super) knobs: BTreeMap<String, Choices>,
    pub(super) constraints: Vec<String>,
}

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "expected a list of integers, `{ pow2 = [low, high] }` or `{ range = [start, end, step] }`"
)]
pub(super) enum Choices {
    Listed(Vec<i64>),
    Powers(Powers),
    Range(Range),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Powers {
    pub(super) pow2: [i64; 2],
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Range {
    pub(super) range: [i64; 3],
}

impl<'de> Deserialize<'de> for TypedSpace {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(SpaceVisitor)
    }
}

struct SpaceVisitor;

impl<'de> Visitor<'de> for SpaceVisitor {
    type Value = TypedSpace;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table of knobs")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<TypedSpace, A::Error> {
        let mut space = TypedSpace::default();
        while let Some(name) = map.next_key::<String>()? {
            if name == "constraints" {
                space.constraints = map.next_value()?;
            } else {
                let repeated = format!("knob `{name}` twice");
                if space.knobs.insert(name, map.next_value()?).is_some() {
                    return Err(serde::de::Error::custom(repeated));
                }
            }
        }
        Ok(space)
    }
}

/// Parses `text` as JSON if the extension of `name` says so, else as TOML.
pub(super) fn parse(text: &str, name: &str) -> Result<TypedManifest> {
    let is_json = name
        .rsplit_once('.')
        .is_some_and(|(_, ending)| ending.eq_ignore_ascii_case("json"));
    if is_json {
        serde_json::from_str(text).map_err(|error| {
            let reason = error.to_string();
            // The message ends with the location, which the error already contains.
            let location = format!(" at line {} column {}", error.line(), error.column());
            let reason = reason.strip_suffix(&location).unwrap_or(&reason);
            manifest_error(name, Some(error.line()), reason)
        })
    } else {
        toml::from_str(text).map_err(|error| {
            let line = error.span().map(|span| line_at(text, span.start));
            manifest_error(name, line, error.message())
        })
    }
}

/// Line number, from 1, of the byte at `offset`.
fn line_at(text: &str, offset: usize) -> usize {
    1 + text
        .bytes()
        .take(offset)
        .filter(|byte| *byte == b'\n')
        .count()
}

fn manifest_error(name: &str, line: Option<usize>, reason: &str) -> Error {
    Error::Source {
        location: match line {
            Some(line) => format!("{name}:{line}"),
            None => name.to_owned(),
        },
        reason: reason.trim_end().replace('\n', " "),
    }
}

//! A graph as it is spelled, in either spelling.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

/// A graph: one of `root` and `root_index` is there.
#[derive(Deserialize)]
pub(super) struct RawGraph {
    pub(super) root: Option<u64>,
    pub(super) root_index: Option<u64>,
    pub(super) nodes: Vec<RawNode>,
    #[serde(default)]
    pub(super) b64ndarrays: Vec<String>,
    #[serde(default)]
    pub(super) attrs: BTreeMap<String, Value>,
    #[serde(default)]
    pub(super) metadata: BTreeMap<String, Value>,
}

/// A node: one of `type_key` and `type` is there.
#[derive(Deserialize)]
pub(super) struct RawNode {
    pub(super) type_key: Option<String>,
    #[serde(rename = "type")]
    pub(super) type_: Option<String>,
    pub(super) repr_str: Option<String>,
    pub(super) repr_b64: Option<String>,
    #[serde(default)]
    pub(super) attrs: Map<String, Value>,
    #[serde(default)]
    pub(super) keys: Vec<String>,
    #[serde(default)]
    pub(super) data: Value,
}

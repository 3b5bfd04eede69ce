//! `node_feature`: one of a node's 140 features by name; `node_features`: all of them.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Int64Array, Int64Builder, ListBuilder};
use arrow::datatypes::DataType;
use datafusion::common::cast::{as_binary_view_array, as_string_view_array};
use datafusion::common::{Result, exec_datafusion_err};
use tsql_codecs::graph::unpack_features;
use tsql_codecs::hlo::{FEATURE_COUNT, FEATURES, feature_index};

use super::function_docs::FunctionDocs;
use super::scalar::{Scalar, argument};

/// `node_feature`: one feature by name.
pub(super) fn node_feature_udf() -> Scalar {
    let about = FunctionDocs::new(
        "node_feature",
        "One of the 140 features of a node, by name",
        "SELECT node_feature(features, 'shape_dimensions_0') FROM nodes LIMIT 3",
    )
    .argument("features", DataType::BinaryView, FEATURES_DOC)
    .argument("name", DataType::Utf8View, "name of the feature")
    .source(SOURCE);
    Scalar::new(&about, DataType::Int64, feature_by_name)
}

/// `node_features`: all features in order.
pub(super) fn node_features_udf() -> Scalar {
    let about = FunctionDocs::new(
        "node_features",
        "All 140 features of a node as a list",
        "SELECT node_features(features) FROM nodes LIMIT 3",
    )
    .argument("features", DataType::BinaryView, FEATURES_DOC)
    .source(SOURCE);
    let list = DataType::new_list(DataType::Int64, true);
    Scalar::new(&about, list, lists)
}

pub(super) const FEATURES_DOC: &str = "packed features, as in `nodes.features`";

const SOURCE: &str = "TpuGraphs (arXiv 2308.13490)";

pub(super) fn decode_features(features: &[u8]) -> Result<[i64; FEATURE_COUNT]> {
    unpack_features(features).ok_or_else(|| exec_datafusion_err!("node_types: damaged features"))
}

fn feature_by_name(args: &[ArrayRef]) -> Result<ArrayRef> {
    let features = as_binary_view_array(argument(args, 0)?)?;
    let names = as_string_view_array(argument(args, 1)?)?;
    let mut last = ("", 0);
    let one = |(features, name): (Option<&[u8]>, _)| {
        let (Some(features), Some(name)) = (features, name) else {
            return Ok(None);
        };
        if last.0 != name {
            last = (
                name,
                feature_index(name).ok_or_else(|| unknown_feature(name))?,
            );
        }
        Ok(decode_features(features)?.get(last.1).copied())
    };
    let values: Result<Int64Array> = features.iter().zip(names.iter()).map(one).collect();
    Ok(Arc::new(values?))
}

fn unknown_feature(name: &str) -> datafusion::common::DataFusionError {
    let close = FEATURES.iter().filter(|feature| feature.contains(name));
    let close: Vec<&str> = close.copied().take(5).collect();
    let known = if close.is_empty() {
        "there are is_root, shape_dimensions_0, window_size_0, layout_minor_to_major_0, ..."
            .to_owned()
    } else {
        format!("there are {}", close.join(", "))
    };
    exec_datafusion_err!("node_feature: no feature `{name}`\nhint: {known}")
}

fn lists(args: &[ArrayRef]) -> Result<ArrayRef> {
    let features = as_binary_view_array(argument(args, 0)?)?;
    let mut lists = ListBuilder::new(Int64Builder::with_capacity(features.len() * FEATURE_COUNT));
    for features in features.iter() {
        match features {
            Some(features) => {
                lists.values().append_slice(&decode_features(features)?);
                lists.append(true);
            }
            None => lists.append(false),
        }
    }
    Ok(Arc::new(lists.finish()))
}

//! Keys that identify a graph, a configuration or an environment across stores.

use std::sync::Arc;

use arrow::array::{
    Array as _, ArrayRef, BinaryViewArray, BinaryViewBuilder, StringViewArray, StringViewBuilder,
};
use arrow::datatypes::DataType;
use datafusion::common::cast::{as_binary_view_array, as_int64_array, as_string_view_array};
use datafusion::common::{Result, exec_err};
use tsql_codecs::identity::{Key, environment_key, graph_key};
use tsql_codecs::steps::StepsHasher;

use super::function_docs::FunctionDocs;
use super::scalar::{Scalar, argument};

const SOURCE: &str = "tsql: `identity` of the crate `tensorsql-codecs`";

/// Fields of an environment in the order of its key. New fields come last.
const ENVIRONMENT_FIELDS: [(&str, &str); 12] = [
    ("dataset", "dataset of the records"),
    ("target", "target of the compiler"),
    ("hardware_params", "numbers, separated by commas"),
    ("target_host", "target of the host code"),
    ("layout_rewrite_option", "number of the option"),
    ("task_input_names", "names, one per line"),
    ("log_version", "log version"),
    ("tvm_version", "version of TVM that wrote the line"),
    ("writer", "JSON style of the line"),
    ("machine", "JSON"),
    ("settings", "JSON"),
    ("program", "JSON"),
];

pub(super) fn graph_key_udf() -> Scalar {
    let about = FunctionDocs::new(
        "graph_key",
        "Key of a graph, equal in all stores: XXH3-128 of its dataset and its workload key, as 32 hexadecimal digits",
        "SELECT graph_key(dataset, workload_key) FROM graphs LIMIT 3",
    )
    .argument("dataset", DataType::Utf8View, "`graphs.dataset`")
    .argument("workload_key", DataType::Utf8View, "`graphs.workload_key`")
    .source(SOURCE);
    Scalar::new(&about, DataType::Utf8View, |args| {
        let datasets = as_string_view_array(argument(args, 0)?)?;
        let keys = as_string_view_array(argument(args, 1)?)?;
        let pairs = datasets.iter().zip(keys.iter());
        Ok(key_texts(
            pairs.map(|(dataset, key)| Some(graph_key(dataset?, key?))),
        ))
    })
}

pub(super) fn environment_key_udf() -> Scalar {
    let mut about = FunctionDocs::new(
        "environment_key",
        "Key of an environment, equal in all stores: XXH3-128 of its known fields, as 32 hexadecimal digits. NULL \
         means unknown, and does not change the key",
        "SELECT environment_key('tenset', 'llvm', NULL, NULL, NULL, NULL, 'v0.6', NULL, 'tvm', NULL, NULL, NULL), \
         environment_key FROM environments LIMIT 3",
    );
    for (name, meaning) in ENVIRONMENT_FIELDS {
        about = about.argument(name, DataType::Utf8View, meaning);
    }
    Scalar::new(&about.source(SOURCE), DataType::Utf8View, |args| {
        let columns = args.iter().map(|column| as_string_view_array(column));
        let columns: Vec<&StringViewArray> = columns.collect::<Result<_>>()?;
        let rows = columns.first().map_or(0, |column| column.len());
        Ok(key_texts((0..rows).map(|row| {
            let known = columns.iter();
            let known = known.map(|column| column.is_valid(row).then(|| column.value(row)));
            Some(environment_key(known))
        })))
    })
}

pub(super) fn config_key_udf() -> Scalar {
    let about = FunctionDocs::new(
        "config_key",
        "Key of a configuration, equal in all stores: XXH3-128 of its graph and its steps (and of program and build, \
         if known), as 32 hexadecimal digits. It depends neither on `config_id` nor on the packing of the sketch",
        "SELECT config_key(graph_id, sketch, params, program, build) FROM stored.configurations LIMIT 3",
    )
    .argument("graph_id", DataType::Int64, "`configurations.graph_id`")
    .argument("sketch", DataType::Utf8View, "`stored.configurations.sketch`")
    .argument("params", DataType::BinaryView, "packed numbers")
    .argument("program", DataType::Utf8View, "`configurations.program`")
    .argument("build", DataType::Utf8View, "`configurations.build`")
    .source(SOURCE);
    Scalar::new(&about, DataType::Utf8View, |args| {
        let keys = config_keys(args)?;
        Ok(key_texts(keys.into_iter()))
    })
}

/// Keys of configurations with these columns: those of `config_key`.
fn config_keys(columns: &[ArrayRef]) -> Result<Vec<Option<Key>>> {
    let graphs = as_int64_array(argument(columns, 0)?)?;
    let sketches = as_string_view_array(argument(columns, 1)?)?;
    let params = as_binary_view_array(argument(columns, 2)?)?;
    let programs = as_string_view_array(argument(columns, 3)?)?;
    let builds = as_string_view_array(argument(columns, 4)?)?;
    let mut hasher = StepsHasher::default();
    let mut keys = Vec::with_capacity(graphs.len());
    let kernels = programs.iter().zip(builds.iter());
    let steps = sketches.iter().zip(params.iter());
    for ((graph, (sketch, params)), (program, build)) in graphs.iter().zip(steps).zip(kernels) {
        let (Some(graph), Some(sketch)) = (graph, sketch) else {
            keys.push(None);
            continue;
        };
        let Some(steps) = hasher.hash(sketch, params) else {
            return exec_err!("configurations: parameters do not fit their sketch");
        };
        keys.push(Some(steps.for_kernel(program, build).key(graph)));
    }
    Ok(keys)
}

pub(super) fn key_bytes_udf() -> Scalar {
    let about = FunctionDocs::new(
        "key_bytes",
        "The 16 bytes of a key, which take half the space of its text. NULL for a text that is not a key",
        "SELECT key_bytes(graph_key) FROM graphs LIMIT 3",
    )
    .argument("key", DataType::Utf8View, "32 hexadecimal digits")
    .source("tsql");
    Scalar::new(&about, DataType::BinaryView, |args| {
        let texts = as_string_view_array(argument(args, 0)?)?;
        let mut bytes = BinaryViewBuilder::with_capacity(texts.len());
        for text in texts {
            bytes.append_option(text.and_then(Key::parse).map(Key::to_bytes));
        }
        Ok(Arc::new(bytes.finish()))
    })
}

pub(super) fn key_text_udf() -> Scalar {
    let about = FunctionDocs::new(
        "key_text",
        "Text of a key of 16 bytes: 32 hexadecimal digits. NULL for other lengths",
        "SELECT key_text(key_bytes(graph_key)) = graph_key FROM graphs LIMIT 3",
    )
    .argument("key", DataType::BinaryView, "16 bytes")
    .source("tsql");
    Scalar::new(&about, DataType::Utf8View, |args| {
        let bytes: &BinaryViewArray = as_binary_view_array(argument(args, 0)?)?;
        let keys = bytes.iter();
        Ok(key_texts(
            keys.map(|bytes| bytes?.try_into().ok().map(Key::from_bytes)),
        ))
    })
}

fn key_texts(keys: impl Iterator<Item = Option<Key>>) -> ArrayRef {
    let mut texts = StringViewBuilder::new();
    for key in keys {
        texts.append_option(key.map(|key| key.to_string()));
    }
    Arc::new(texts.finish())
}

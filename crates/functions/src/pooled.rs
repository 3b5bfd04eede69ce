//! `node_features_sum`, `_mean` and `_max`: node features pooled over a graph.

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use datafusion::common::cast::as_binary_view_array;
use datafusion::common::{Result, exec_datafusion_err};
use tsql_codecs::graph::unpack_features;
use tsql_codecs::hlo::{FEATURE_COUNT, FEATURES};

use super::aggregate::Aggregate;
use super::elements::ElementNames;
use super::function_docs::FunctionDocs;
use super::scalar::argument;
use super::vectors::{Fold, Vector, VectorAggregate};

pub(super) fn all() -> [Aggregate; 3] {
    let one = |name, description, example, fold| {
        let about = FunctionDocs::new(name, description, example)
            .argument(
                "features",
                DataType::BinaryView,
                "packed features of a node, as in `nodes.features`",
            )
            .with_elements(|| ElementNames::unconditional(FEATURES))
            .source("tiles/models.py:286-303 of TpuGraphs (arXiv 2308.13490): the sum");
        let gathered = VectorAggregate {
            width: FEATURE_COUNT,
            fold,
            take: add_features,
        };
        Aggregate::new(&about, gathered)
    };
    [
        one(
            "node_features_sum",
            "Sum of each of the 140 features over the nodes of a graph, as a list of fixed size. NULL if no node has \
             features",
            "SELECT graph_id, node_features_sum(features) FROM nodes GROUP BY graph_id",
            Fold::Sum,
        ),
        one(
            "node_features_mean",
            "Mean of each of the 140 features over the nodes of a graph, as a list of fixed size. NULL if no node has \
             features",
            "SELECT graph_id, node_features_mean(features) FROM nodes GROUP BY graph_id",
            Fold::Mean,
        ),
        one(
            "node_features_max",
            "Maximum of each of the 140 features over the nodes of a graph, as a list of fixed size. NULL if no node \
             has features",
            "SELECT graph_id, node_features_max(features) FROM nodes GROUP BY graph_id",
            Fold::Max,
        ),
    ]
}

#[expect(clippy::cast_precision_loss, reason = "the file stores floats")]
fn add_features(vector: &mut Vector, columns: &[ArrayRef]) -> Result<()> {
    for packed in as_binary_view_array(argument(columns, 0)?)?
        .iter()
        .flatten()
    {
        let features = unpack_features(packed);
        let features =
            features.ok_or_else(|| exec_datafusion_err!("node_types: damaged features"))?;
        vector.add_whole_row(features.iter().map(|&feature| feature as f64));
    }
    Ok(())
}

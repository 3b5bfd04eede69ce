//! `macro_speedup_score`: the formula of the GraphNet paper.

use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, Float64Array};
use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::common::cast::as_float64_array;
use tsql_metrics::speedup;

use super::function_docs::FunctionDocs;
use super::scalar::{Scalar, argument};

pub(super) fn function() -> Scalar {
    let about = FunctionDocs::new(
        "macro_speedup_score",
        "alpha^lambda * beta^(lambda eta p) * penalty^(1 - lambda): S(t) if the penalty is b, ES(t) if it is gamma",
        "SELECT macro_speedup_score(1.4, 0.9, 0.95, 0.2, 0.0, 0.1)",
    )
        .argument(
            "alpha",
            DataType::Float64,
            "geometric mean of the speedups of correct samples",
        )
        .argument("beta", DataType::Float64, "geometric mean of the speedups below 1")
        .argument("lambda", DataType::Float64, "fraction of correct samples")
        .argument("eta", DataType::Float64, "fraction of slowdowns among them")
        .argument("p", DataType::Float64, "exponent that is added to slowdowns")
        .argument("penalty", DataType::Float64, "penalty of a failure")
        .source("GraphNet publication, appendices B and C");
    Scalar::new(&about, DataType::Float64, speedup_scores)
}

fn speedup_scores(args: &[ArrayRef]) -> Result<ArrayRef> {
    let column = |place| as_float64_array(argument(args, place)?);
    let [alphas, betas, lambdas] = [column(0)?, column(1)?, column(2)?];
    let [etas, ps, penalties] = [column(3)?, column(4)?, column(5)?];
    let score = |row: usize| {
        let at = |column: &Float64Array| column.is_valid(row).then(|| column.value(row));
        Some(speedup::macro_speedup_score(
            at(alphas)?,
            at(betas)?,
            at(lambdas)?,
            at(etas)?,
            at(ps)?,
            at(penalties)?,
        ))
    };
    let scores: Float64Array = (0..alphas.len()).map(score).collect();
    Ok(Arc::new(scores))
}
